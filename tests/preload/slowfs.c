/* SPDX-License-Identifier: MIT */
/*
 * slowfs FOLDER MICROSECONDS MOUNTPOINT: what is in FOLDER, from a server that answers each
 * read after so long, many at a time.  Reading the file `counts` in it gives the reads since
 * the last time, in all and those that a program's first thread was waiting for or had set
 * off, and resets them.
 */
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int folder;
static struct timespec delay;
static atomic_ulong reads, of_first_threads;

static const char *name_of(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static bool is_counts(const char *path)
{
	return !strcmp(path, "/counts");
}

static int slow_getattr(const char *path, struct stat *st, struct fuse_file_info *info)
{
	(void)info;
	if (is_counts(path)) {
		*st = (struct stat){ .st_mode = S_IFREG | 0444, .st_nlink = 1, .st_size = 64 };
		return 0;
	}
	return fstatat(folder, name_of(path), st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int slow_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset,
			struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
	int fd = openat(folder, name_of(path), O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	(void)offset;
	(void)info;
	(void)flags;
	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		fill(buf, entry->d_name, NULL, 0, 0);
	closedir(dir);
	return 0;
}

static int slow_open(const char *path, struct fuse_file_info *info)
{
	int fd = is_counts(path) ? 0 : openat(folder, name_of(path), info->flags);

	info->direct_io = is_counts(path);
	info->keep_cache = 1;
	info->fh = (uint64_t)fd;
	return fd < 0 ? -errno : 0;
}

static int slow_release(const char *path, struct fuse_file_info *info)
{
	if (!is_counts(path))
		close((int)info->fh);
	return 0;
}

static int tell_counts(char *to, size_t n, off_t offset)
{
	return offset ? 0 :
			snprintf(to, n, "%lu %lu\n", atomic_exchange(&reads, 0),
				 atomic_exchange(&of_first_threads, 0));
}

/* The number of a first thread is that of its process. */
static bool is_first_thread(pid_t thread)
{
	char line[256], path[64];
	int group = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/status", thread);
	in = fopen(path, "re");
	while (in && fgets(line, sizeof(line), in) && sscanf(line, "Tgid: %d", &group) != 1)
		;
	if (in)
		fclose(in);
	return group == thread;
}

static int slow_read(const char *path, char *to, size_t n, off_t offset,
		     struct fuse_file_info *info)
{
	ssize_t got;

	if (is_counts(path))
		return tell_counts(to, n, offset);
	atomic_fetch_add(&reads, 1);
	if (is_first_thread(fuse_get_context()->pid))
		atomic_fetch_add(&of_first_threads, 1);
	nanosleep(&delay, NULL);
	got = pread((int)info->fh, to, n, offset);
	return got < 0 ? -errno : (int)got;
}

/* Nothing changes behind its back, so that what has been read stays in the page cache. */
static void *slow_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
	(void)connection;
	config->kernel_cache = 1;
	config->attr_timeout = config->entry_timeout = 3600;
	return NULL;
}

static const struct fuse_operations operations = {
	.init = slow_init,
	.getattr = slow_getattr,
	.readdir = slow_readdir,
	.open = slow_open,
	.release = slow_release,
	.read = slow_read,
};

int main(int argc, char **argv)
{
	char *args[] = { argv[0], argv[3], "-f", "-o", "allow_other,max_idle_threads=16", NULL };
	long us;

	if (argc != 4)
		return 2;
	folder = open(argv[1], O_RDONLY | O_DIRECTORY);
	if (folder < 0)
		return 2;
	us = strtol(argv[2], NULL, 10);
	delay = (struct timespec){ us / 1000000, us % 1000000 * 1000 };
	return fuse_main(5, args, &operations, NULL);
}

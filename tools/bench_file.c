/* SPDX-License-Identifier: MIT */
/* The file that is read: made, evicted, proven cold, removed. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#define MIB (1ull << 20)

static uint64_t available_memory(void)
{
	FILE *in = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];

	while (in && fgets(line, sizeof(line), in)) {
		if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
			break;
	}
	if (in)
		fclose(in);
	return kib << 10;
}

/* Free bytes in a directory that lies on a disk, 0 where nothing can be measured. */
static uint64_t room_in(const char *dir)
{
	struct statfs fs;

	if (!dir || access(dir, W_OK | X_OK) < 0 || statfs(dir, &fs) < 0)
		return 0;
	if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		return 0;
	return (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
}

static const char *find_dir(uint64_t need)
{
	const char *dirs[] = { getenv("TMPDIR"), "/var/tmp", "." };

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (room_in(dirs[i]) > need)
			return dirs[i];
	}
	return NULL;
}

static void no_room(const char *dir)
{
	struct stat st;

	if (!dir)
		wn_say("no directory on a disk with enough room: name another with --dir");
	else if (stat(dir, &st) < 0)
		wn_say("%s: %s", dir, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		wn_say("%s is not a directory", dir);
	else if (access(dir, W_OK | X_OK) < 0)
		wn_say("%s cannot be written to: name another with --dir", dir);
	else
		wn_say("%s is in memory, or full: name another with --dir", dir);
}

/* One copy of the file cached and one in the destination leave half of memory alone. */
static uint64_t sensible_size(uint64_t room, bool quick)
{
	uint64_t size = quick ? 1024 * MIB : 4096 * MIB;
	uint64_t memory = available_memory() / 4;

	if (memory && size > memory)
		size = memory;
	if (size > room / 2)
		size = room / 2;
	return size & ~(64 * MIB - 1);
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Bytes that no file system can compress and no device can share. */
static int fill(int fd, uint64_t size, uint64_t seed)
{
	enum { CHUNK = 4 << 20 };
	uint64_t *chunk = malloc(CHUNK), state = seed;
	int err = chunk ? 0 : -ENOMEM;

	for (uint64_t done = 0; done < size && !err;) {
		uint64_t length = size - done < CHUNK ? size - done : CHUNK;
		ssize_t put;

		for (size_t i = 0; i < CHUNK / sizeof(*chunk); i++)
			chunk[i] = next_random(&state);
		put = write(fd, chunk, length);
		if (bench_stop)
			err = -EINTR;
		else if (put != (ssize_t)length)
			err = put < 0 ? -errno : -ENOSPC;
		done += length;
	}
	free(chunk);
	if (!err && fsync(fd) < 0)
		err = -errno;
	return err;
}

/* Written under another name first: a file of the right name and size is complete. */
static int create(const char *path, uint64_t size, unsigned number)
{
	char part[PATH_MAX + 8];
	int fd, err;

	snprintf(part, sizeof(part), "%s.part", path);
	unlink(part);
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	err = fill(fd, size, size + number);
	close(fd);
	if (!err && rename(part, path) < 0)
		err = -errno;
	if (err)
		unlink(part);
	return err;
}

static bool usable(const char *path, uint64_t size)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       (uint64_t)st.st_size == size;
}

int bench_plan(struct bench *b, const char *dir, uint64_t size, bool quick)
{
	uint64_t room;

	if (!dir)
		dir = find_dir(size ? size + 64 * MIB : 512 * MIB);
	room = room_in(dir);
	if (!room) {
		no_room(dir);
		return -ENOSPC;
	}
	if (bench_lock(dir) < 0)
		return -EINTR;
	room = room_in(dir);
	b->size = size ? size : sensible_size(room, quick);
	if (snprintf(b->dir, sizeof(b->dir), "%s", dir) >= (int)sizeof(b->dir))
		return -ENAMETOOLONG;
	return 0;
}

bool bench_file_room(const struct bench_file *files, unsigned count, const char *dir)
{
	uint64_t need = 0;

	for (unsigned i = 0; i < count; i++)
		need += usable(files[i].path, files[i].size) ? 0 : files[i].size;
	return !need || room_in(dir) >= need + 16 * MIB;
}

int bench_file_make(const struct bench_file *f)
{
	return usable(f->path, f->size) ? 0 : create(f->path, f->size, f->number);
}

int bench_file_take(struct bench_file *f, const char *path)
{
	struct stat st;

	if (!realpath(path, f->path) || stat(f->path, &st) < 0) {
		wn_say("%s: %s", path, strerror(errno));
		return -errno;
	}
	if (!S_ISREG(st.st_mode) || st.st_size == 0) {
		wn_say("%s is not a regular file with something in it", path);
		return -EINVAL;
	}
	f->size = (uint64_t)st.st_size;
	f->temporary = false;
	return 0;
}

void bench_file_drop(struct bench_file *f, bool keep)
{
	if (f->temporary && !keep)
		unlink(f->path);
	f->temporary = false;
}

/*
 * How many pages are cached, by mincore and not by cachestat, which looks in the wrong
 * place on overlayfs.  Both tell the truth only to who owns or may write the file;
 * mincore then calls everything cached, and the run is refused, as it must be.
 */
static int64_t resident_pages(int fd, uint64_t size)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t step = 1024 * MIB;
	unsigned char *vec = malloc(step / page);
	int64_t found = 0;

	for (uint64_t at = 0; vec && at < size && found >= 0; at += step) {
		uint64_t length = size - at < step ? size - at : step;
		void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, (off_t)at);

		if (map == MAP_FAILED || mincore(map, length, vec) < 0) {
			found = -errno;
		} else {
			for (uint64_t i = 0; i < (length + page - 1) / page; i++)
				found += vec[i] & 1;
		}
		if (map != MAP_FAILED)
			munmap(map, length);
	}
	if (!vec)
		return -ENOMEM;
	free(vec);
	return found;
}

static bool is_cold(int fd, uint64_t size)
{
	int64_t pages = resident_pages(fd, size);

	return pages >= 0 &&
	       (uint64_t)pages * 1000 * (uint64_t)sysconf(_SC_PAGESIZE) < size;
}

static int make_cold(const char *path, int fd, uint64_t size, const char **why)
{
	/* Twice and more: pages that a processor still holds in a batch stay once. */
	for (int try = 0; try < 5; try++) {
		struct timespec pause = { .tv_nsec = 20000000 };

		if (try == 0)
			fsync(fd);
		else
			nanosleep(&pause, NULL);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		if (is_cold(fd, size))
			return 0;
	}
	*why = "refuses to report a run whose file was not cold";
	if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
		*why = "refuses to report a run whose file was not cold: only who owns "
		       "it, or may write it, can see what of it is cached";
	return -EBUSY;
}

static int make_warm(int fd, uint64_t size, const char **why)
{
	enum { CHUNK = 1 << 20 };
	char *chunk = malloc(CHUNK);
	int64_t pages;

	while (chunk && read(fd, chunk, CHUNK) > 0)
		;
	free(chunk);
	pages = resident_pages(fd, size);
	if (pages >= 0 &&
	    (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) >= size / 1000 * 999)
		return 0;
	*why = "the file does not stay in memory";
	return -ENOMEM;
}

int bench_file_prepare(const struct bench_file *f, enum bench_state state,
		       const char **why)
{
	int fd = open(f->path, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0) {
		*why = "the file cannot be opened";
		return -errno;
	}
	if (state == STATE_COLD)
		err = make_cold(f->path, fd, f->size, why);
	else
		err = make_warm(fd, f->size, why);
	close(fd);
	return err;
}

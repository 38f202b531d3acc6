/* SPDX-License-Identifier: MIT */
/* How the helper comes by a descriptor of its own for a file that the program mapped. */
#include <errno.h>
#include <fcntl.h>

#include "base/arch.h"
#include "base/file_io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "base/text.h"
#include "engine.h"

/* A FIFO or a device that took the file's place must not hold us up or notice us. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* Reading ahead is no access; whoever may not have it so has what the program itself has. */
int wn_open_quietly(const char *path)
{
	int fd = wn_sys->open(path, OPEN_FLAGS | O_NOATIME);

	return fd == -EPERM ? wn_sys->open(path, OPEN_FLAGS) : fd;
}

static int open_checked(const char *path, const struct wn_file *f)
{
	struct stat st;
	int fd = wn_open_quietly(path);

	if (fd < 0)
		return fd;
	if (!wn_sys->fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_dev == wn_load(&f->dev) &&
	    st.st_ino == wn_load(&f->ino))
		return fd;
	wn_sys->close(fd);
	return -ESTALE;
}

/* Through the program's own descriptor, of any thread that is still there. */
int wn_open_descriptor(const struct wn_file *f, uint32_t thread)
{
	char path[64];
	struct wn_text t = wn_text_in(path, sizeof(path));
	int number = wn_load(&f->fd);

	if (number < 0)
		return -EBADF;
	/* When the first thread has ended, /proc/self/fd is empty; this one's is not. */
	wn_text_add(&t, "/proc/self/task/");
	wn_text_number(&t, thread);
	wn_text_add(&t, "/fd/");
	wn_text_number(&t, (uint64_t)number);
	return open_checked(path, f);
}

/*
 * Reads the line of /proc/self/maps that holds an address, and gives the path in it.  The
 * file is read in pieces, since it can be long; lines are ordered by address.
 */
struct maps_reader {
	int fd;
	size_t used, at;
	char buf[4096];
};

static int next_char(struct maps_reader *r)
{
	if (r->at == r->used) {
		ssize_t got = wn_sys->read(r->fd, r->buf, sizeof(r->buf));

		if (got <= 0)
			return -1;
		r->used = (size_t)got;
		r->at = 0;
	}
	return (unsigned char)r->buf[r->at++];
}

static bool next_line(struct maps_reader *r, struct wn_text *line)
{
	int c = next_char(r);

	line->used = 0;
	for (; c >= 0 && c != '\n'; c = next_char(r))
		if (line->used + 1 < line->size)
			line->buf[line->used++] = (char)c;
	line->buf[line->used] = '\0';
	return c >= 0;
}

/* "start-end perms offset dev inode   /path": the path, or NULL. */
static const char *path_at(const char *line, uint64_t addr, bool *behind)
{
	uint64_t start, end;

	*behind = false;
	if (!wn_digits(&line, 16, &start) || *line++ != '-' || !wn_digits(&line, 16, &end))
		return NULL;
	*behind = start > addr;
	if (addr < start || addr >= end)
		return NULL;
	while (*line && *line != '/')
		line++;
	return *line ? line : NULL;
}

static int open_mapped_path(const struct wn_file *f, uint64_t addr)
{
	/* A path that does not fit is cut, and then is not found or is another file. */
	char text[1024];
	struct maps_reader r = { .fd = wn_sys->open("/proc/self/maps", O_RDONLY | O_CLOEXEC) };
	struct wn_text line = wn_text_in(text, sizeof(text));
	const char *path = NULL;
	bool behind = false;

	if (r.fd < 0)
		return r.fd;
	while (!path && !behind && next_line(&r, &line))
		path = path_at(text, addr, &behind);
	wn_sys->close(r.fd);
	return path ? open_checked(path, f) : -ENOENT;
}

int wn_find_file(const struct wn_track *t, uint16_t file, uint32_t thread)
{
	const struct wn_file *f = &t->files.slot[file];
	int fd = wn_open_descriptor(f, thread);
	struct wn_map m;

	/* The program closed it after mmap(): the mapping still tells the path. */
	if (fd < 0 && wn_map_find_offset(t, file, WN_ANY_OFFSET, &m))
		fd = open_mapped_path(f, m.start);
	return fd;
}

static bool names_fuse(int folder, const char *name)
{
	char target[16];
	long n = wn_raw(SYS_readlinkat, folder, name, target, sizeof(target) - 1);

	if (n < 0)
		return false;
	target[n] = '\0';
	return wn_equal(target, "/dev/fuse");
}

bool wn_serves_fuse(uint32_t thread)
{
	_Alignas(8) char buf[2048];
	struct wn_text t = wn_text_in(buf, sizeof(buf));
	bool found = false;
	int folder;

	wn_text_add(&t, "/proc/self/task/");
	wn_text_number(&t, thread);
	wn_text_add(&t, "/fd");
	folder = wn_sys->open(buf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* When it cannot be known, it is safer to believe so. */
	if (folder < 0)
		return true;
	while (!found) {
		long n = wn_raw(SYS_getdents64, folder, buf, sizeof(buf));

		if (n <= 0)
			break;
		for (long at = 0; at < n && !found;) {
			const struct wn_entry *e = (const struct wn_entry *)(void *)(buf + at);

			found = names_fuse(folder, e->name);
			at += e->length;
		}
	}
	wn_sys->close(folder);
	return found;
}

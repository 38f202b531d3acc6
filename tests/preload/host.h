/* SPDX-License-Identifier: MIT */
/*
 * host.h - for the programs that the preload tests run, with and without the library.
 * They know nothing of it.  They print the same whatever the timing, so that two runs can
 * be compared, and exit with 1 and a line on stderr when they were betrayed.
 *
 * Test files are made of 64-bit words that tell their own place: word_at(offset).
 */
#ifndef WN_TEST_HOST_H
#define WN_TEST_HOST_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define UNUSED __attribute__((unused))

/* The exported names, whatever the compiler thinks of copies. */
static UNUSED void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static UNUSED void *(*volatile move)(void *, const void *, size_t) = memmove;

__attribute__((format(printf, 1, 2), noreturn)) static UNUSED void die(const char *what, ...)
{
	int e = errno;
	va_list ap;

	va_start(ap, what);
	vfprintf(stderr, what, ap);
	va_end(ap);
	fprintf(stderr, " (errno %d, %s)\n", e, strerror(e));
	exit(1);
}

#define MUST(x)                                                    \
	do {                                                       \
		if (!(x))                                          \
			die("%s:%d: %s", __FILE__, __LINE__, #x);  \
	} while (0)

static UNUSED uint64_t word_at(uint64_t offset)
{
	uint64_t z = offset + 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Is what lies at p the content of a test file at this offset?  Both multiples of 8. */
static UNUSED bool right(const void *p, uint64_t offset, size_t n)
{
	const uint64_t *word = p;

	for (size_t i = 0; i + 8 <= n; i += 8)
		if (word[i / 8] != word_at(offset + i))
			return false;
	return true;
}

struct view {
	char *at;
	size_t size;
	int fd;
};

static UNUSED struct view view_of(const char *path, int prot, int flags)
{
	struct view v;
	struct stat st;

	v.fd = open(path, (prot & PROT_WRITE) && (flags & MAP_SHARED) ? O_RDWR : O_RDONLY);
	MUST(v.fd >= 0 && fstat(v.fd, &st) == 0);
	v.size = (size_t)st.st_size;
	v.at = mmap(NULL, v.size, prot, flags, v.fd, 0);
	MUST(v.at != MAP_FAILED);
	return v;
}

static UNUSED char *anon(size_t n)
{
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED);
	return p;
}

/* Copies [from, to) out of the view in pieces and checks every word. */
static UNUSED void read_all(const struct view *v, size_t from, size_t to, size_t piece)
{
	char *buf = anon(piece);

	for (size_t at = from; at < to; at += piece) {
		size_t n = to - at < piece ? to - at : piece;

		MUST(copy(buf, v->at + at, n) == buf);
		MUST(right(buf, at, n));
	}
	MUST(munmap(buf, piece) == 0);
}

/* Out of the page cache, as far as nobody has it mapped. */
static UNUSED void chill(const char *path)
{
	int fd = open(path, O_RDONLY);

	MUST(fd >= 0);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

static UNUSED int entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	MUST(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static UNUSED int tasks(void)
{
	return entries("/proc/self/task");
}

/* The id of the library's helper thread, 0 while there is none. */
static UNUSED int helper(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int found = 0;

	if (!d)
		return 0;
	while (!found && (e = readdir(d))) {
		char path[300], name[32] = "";
		int fd;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		fd = open(path, O_RDONLY);
		if (fd >= 0) {
			if (read(fd, name, sizeof(name) - 1) > 0 && !strcmp(name, "willneed\n"))
				found = atoi(e->d_name);
			close(fd);
		}
	}
	closedir(d);
	return found;
}

/* Whether the test is run preloaded, by what the caller said: there must be a helper. */
static UNUSED bool preloaded(void)
{
	const char *p = getenv("LD_PRELOAD");

	return p && strstr(p, "willneed");
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * advice threads FILE: eight threads ask for the whole file, in pieces that overlap, and
 *	read it.
 * advice again FILE: what was dropped, cut or rewritten since is asked for again; what
 *	readahead() brings must come.
 */
#include "host.h"

#define KIB ((size_t)1024)
#define STEP (192 * KIB)
#define REACH (256 * KIB)

static const char *path;

static void *scan(void *arg)
{
	int fd = open(path, O_RDONLY);
	off_t size = lseek(fd, 0, SEEK_END);
	char *buf = anon(REACH);

	for (off_t at = 0; at < size; at += STEP) {
		ssize_t got;

		errno = 77;
		MUST(readahead(fd, at, REACH) == 0);
		MUST(errno == 77);
		got = pread(fd, buf, STEP, at);
		MUST(got > 0 && right(buf, (size_t)at, (size_t)got));
	}
	close(fd);
	return arg;
}

static void threads(void)
{
	pthread_t thread[8];

	for (int i = 0; i < 8; i++)
		MUST(pthread_create(&thread[i], NULL, scan, NULL) == 0);
	for (int i = 0; i < 8; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
}

static bool resident(int fd, size_t at)
{
	unsigned char there;
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, (off_t)at);

	MUST(page != MAP_FAILED);
	MUST(mincore(page, 4096, &there) == 0);
	MUST(munmap(page, 4096) == 0);
	return there & 1;
}

static void arrives(int fd, size_t at)
{
	for (int i = 0; !resident(fd, at); i++) {
		MUST(i < 500);
		usleep(10000);
	}
}

static void again(void)
{
	uint64_t word = word_at(48 * MIB);
	int fd = open(path, O_RDWR);

	MUST(readahead(fd, 0, 64 * KIB) == 0);
	arrives(fd, 0);
	MUST(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
	MUST(!resident(fd, 0));
	MUST(readahead(fd, 0, 64 * KIB) == 0);
	arrives(fd, 0);
	/* Dropped behind our back, but the file was written to. */
	MUST(pwrite(fd, &word, sizeof(word), 48 * MIB) == sizeof(word));
	MUST(fsync(fd) == 0);
	MUST(syscall(SYS_fadvise64, fd, 0L, 0L, POSIX_FADV_DONTNEED) == 0);
	MUST(!resident(fd, 0));
	MUST(readahead(fd, 0, 64 * KIB) == 0);
	arrives(fd, 0);
	/* More than the kernel takes in one call: the last page comes too. */
	MUST(posix_fadvise(fd, 16 * MIB, 24 * MIB, POSIX_FADV_WILLNEED) == 0);
	arrives(fd, 40 * MIB - 4096);
}

int main(int argc, char **argv)
{
	MUST(argc == 3);
	path = argv[2];
	chill(path);
	if (!strcmp(argv[1], "threads"))
		threads();
	else
		again();
	return 0;
}

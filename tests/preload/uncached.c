/* SPDX-License-Identifier: MIT */
/*
 * uncached MODE FILE: reads with RWF_DONTCACHE, every word compared.
 *	matrix	flags, offsets and kinds of descriptors, as a table
 *	stream	the whole file in pieces of 4 KiB to 128 KiB: little stays cached
 *	kept	what was cached before stays
 *	mapped	of a file that the program has mapped nothing is dropped
 *	shared	one reader behind another: the second keeps its pages
 *	written	a writer changes and extends the file meanwhile
 *	cut	the file is cut and punched meanwhile
 *	threads	four threads, a quarter each, with descriptors of their own
 *	parted	the same, and what is cached already is left there
 *	quarters	the same on one descriptor: little is cached, no byte is read twice
 *	eighths	the same by eight threads
 *	turns	four threads on one descriptor, each takes the next piece
 *	joined	one thread, and another one when the first has come far
 *	header	the first 64 KiB, then the second half: one reader
 *	wide	quarters, eighths, turns and joined, and how much is cached at most is printed
 *	write	pwritev2 with the flag
 *	rewrite	all of it, what is written is on the disk now and then; 1 MiB was cached before
 *	create	the same through a descriptor that can only write; nothing was there before
 *	once	ordinary reads, 1 MiB, of the whole file: nothing much is left of it
 *	warm	the same of a file that is cached
 *	again	the same three times: the third time all is there
 *	follow	two ordinary readers, one 10 MiB behind: no byte is read twice
 *	tail	two ordinary readers of a file that grows: no byte is read twice
 *	others	as somebody who may only read the file
 */
#include <sys/uio.h>

#include "host.h"

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80
#endif
#define KIB ((size_t)1024)

static const char *path;
static size_t size;

static ssize_t get(int fd, void *to, size_t n, size_t at, int flags)
{
	struct iovec iov = { .iov_base = to, .iov_len = n };

	return preadv2(fd, &iov, 1, (off_t)at, flags);
}

/* Pages of [at, at + n) that are cached. */
static size_t cached(int fd, size_t at, size_t n)
{
	uint64_t range[2] = { at, n }, out[5] = { 0 };

	MUST(syscall(451, fd, range, out, 0) == 0);
	return out[0];
}

static size_t read_range(int fd, size_t from, size_t to, size_t piece)
{
	char *buf = anon(piece);
	size_t most = 0;

	for (size_t at = from; at < to;) {
		ssize_t got;

		errno = 77;
		got = get(fd, buf, piece, at, RWF_DONTCACHE);
		MUST(errno == 77);
		MUST(got > 0 && right(buf, at, (size_t)got));
		at += (size_t)got;
		if (at % (256 * KIB) == 0 && cached(fd, 0, 0) > most)
			most = cached(fd, 0, 0);
	}
	munmap(buf, piece);
	return most * 4 * KIB;
}

static void stream(int fd)
{
	for (size_t piece = 4 * KIB; piece <= 128 * KIB; piece *= 2) {
		chill(path);
		MUST(read_range(fd, 0, size, piece) <= 32 * MIB);
		MUST(cached(fd, 0, 0) * 4 * KIB <= 2 * MIB);
	}
}

static void kept(int fd)
{
	char *buf = anon(MIB);

	MUST(get(fd, buf, MIB, 20 * MIB, 0) == (ssize_t)MIB);
	MUST(get(fd, buf, 4 * KIB, 50 * MIB, 0) == 4 * (ssize_t)KIB);
	read_range(fd, 0, size, 16 * KIB);
	MUST(cached(fd, 20 * MIB, MIB) == 256);
	MUST(cached(fd, 50 * MIB, 4 * KIB) == 1);
	MUST(cached(fd, 0, 0) * 4 * KIB <= 40 * MIB);
}

static void mapped(int fd)
{
	struct view v = view_of(path, PROT_READ, MAP_SHARED);

	read_range(fd, 0, size, 16 * KIB);
	if (preloaded())
		MUST(cached(fd, 0, 0) >= size / 4 / KIB - 512);
	munmap(v.at, v.size);
}

static void shared(int fd)
{
	int other = open(path, O_RDONLY);
	char *buf = anon(MIB);

	for (size_t at = 0; at < size; at += MIB) {
		for (size_t i = 0; i < MIB; i += 16 * KIB)
			MUST(get(fd, buf, 16 * KIB, at + i, RWF_DONTCACHE) > 0);
		if (at >= 10 * MIB)
			MUST(get(other, buf, MIB, at - 10 * MIB, 0) == (ssize_t)MIB);
	}
	/* Once it was noticed, the pages of the other reader stay. */
	if (preloaded())
		MUST(cached(fd, 48 * MIB, 16 * MIB) == 4096);
}

static void written(int fd)
{
	int out = open(path, O_WRONLY);
	size_t end = size;
	char *buf = anon(64 * KIB);

	for (size_t at = 0; at < size; at += 64 * KIB) {
		uint64_t word = word_at(at + 8);

		/* The same bytes again, ahead and behind; and more at the end. */
		MUST(pwrite(out, &word, 8, (off_t)at + 8) == 8);
		if (at % (4 * MIB) == 0) {
			word = word_at(end);
			MUST(pwrite(out, &word, 8, (off_t)end) == 8);
			end += 8;
		}
		MUST(get(fd, buf, 64 * KIB, at, RWF_DONTCACHE) == (ssize_t)(64 * KIB));
		MUST(right(buf, at, 64 * KIB));
	}
	MUST(get(fd, buf, 64 * KIB, size, RWF_DONTCACHE) == (ssize_t)(end - size));
	MUST(right(buf, size, end - size));
	MUST(get(fd, buf, 64 * KIB, end, RWF_DONTCACHE) == 0);
	MUST(ftruncate(out, (off_t)size) == 0);
}

static void cut(int fd)
{
	int out = open(path, O_WRONLY);
	char *buf = anon(64 * KIB), *zero = anon(64 * KIB);

	for (size_t at = 0; at < 48 * MIB; at += 64 * KIB) {
		if (at == 16 * MIB)
			MUST(fallocate(out, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				       32 * MIB, 4 * MIB) == 0);
		if (at == 40 * MIB)
			MUST(ftruncate(out, 44 * MIB) == 0);
		if (at >= 44 * MIB) {
			MUST(get(fd, buf, 64 * KIB, at, RWF_DONTCACHE) == 0);
			continue;
		}
		MUST(get(fd, buf, 64 * KIB, at, RWF_DONTCACHE) == (ssize_t)(64 * KIB));
		if (at >= 32 * MIB && at < 36 * MIB)
			MUST(memcmp(buf, zero, 64 * KIB) == 0);
		else
			MUST(right(buf, at, 64 * KIB));
	}
}

static void others(int fd)
{
	char *buf = anon(4 * KIB);

	for (size_t at = 0; at < size; at += 4 * KIB) {
		MUST(get(fd, buf, 4 * KIB, at, RWF_DONTCACHE) == (ssize_t)(4 * KIB));
		MUST(right(buf, at, 4 * KIB));
	}
}

/* Of one descriptor for all; -1: each thread has its own. */
static int common = -1;
static size_t taken, most_of_all, readers = 4, each = 16 * KIB;

static void note_most(size_t most)
{
	size_t before = __atomic_load_n(&most_of_all, __ATOMIC_RELAXED);

	while (most > before &&
	       !__atomic_compare_exchange_n(&most_of_all, &before, most, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void *part(void *arg)
{
	size_t i = (size_t)arg;
	int fd = common < 0 ? open(path, O_RDONLY) : common;

	note_most(read_range(fd, i * (size / readers), (i + 1) * (size / readers), each));
	if (common < 0)
		close(fd);
	return NULL;
}

static void *turn(void *arg)
{
	char *buf = anon(each);
	size_t at;

	(void)arg;
	while ((at = __atomic_fetch_add(&taken, each, __ATOMIC_RELAXED)) < size) {
		MUST(get(common, buf, each, at, RWF_DONTCACHE) == (ssize_t)each);
		MUST(right(buf, at, each));
		if (at % MIB == 0)
			note_most(cached(common, 0, 0) * 4 * KIB);
	}
	munmap(buf, each);
	return NULL;
}

static void threads(void *(*work)(void *))
{
	pthread_t thread[8];

	for (size_t i = 0; i < readers; i++)
		MUST(pthread_create(&thread[i], NULL, work, (void *)i) == 0);
	for (size_t i = 0; i < readers; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
}

static void bounded(int fd, void *(*work)(void *))
{
	common = fd;
	taken = most_of_all = 0;
	threads(work);
	/* How far threads drift apart on a busy machine is not for a test to judge. */
	MUST(most_of_all <= size / 2);
	MUST(cached(fd, 0, 0) * 4 * KIB <= 8 * MIB);
}

/* Bytes that this process has had read from a device. */
static size_t device_bytes(void)
{
	char line[128];
	size_t n = 0;
	FILE *io = fopen("/proc/self/io", "r");

	MUST(io);
	while (fgets(line, sizeof(line), io))
		sscanf(line, "read_bytes: %zu", &n);
	fclose(io);
	return n;
}

/* So many readers, each with a part of the file. */
static void apart(int fd, size_t n)
{
	size_t before = device_bytes();

	common = fd;
	readers = n;
	most_of_all = 0;
	threads(part);
	before = device_bytes() - before;
	printf("%zu readers of %zu KiB: %zu MiB cached at most, %zu left, %zu of %zu read\n", n,
	       each / KIB, most_of_all / MIB, cached(fd, 0, 0) / 256, before / MIB, size / MIB);
	if (preloaded() && most_of_all > 32 * MIB)
		die("%zu MiB are cached", most_of_all / MIB);
	if (preloaded() && before > size + size / 200)
		die("%zu MiB are read", before / MIB);
	if (preloaded() && cached(fd, 0, 0) * 4 * KIB > 2 * MIB)
		die("%zu MiB are left", cached(fd, 0, 0) / 256);
}

static void ordinary(int fd, size_t at)
{
	static char buf[MIB];

	MUST(get(fd, buf, MIB, at, 0) == (ssize_t)MIB);
	MUST(right(buf, at, MIB));
}

static void *late(void *arg)
{
	(void)arg;
	note_most(read_range(common, 0, size / 2, each));
	return NULL;
}

/* The first has been left to the kernel when the second comes. */
static void joined(int fd)
{
	size_t far = size / 4 * 3;
	pthread_t second;

	common = fd;
	most_of_all = 0;
	note_most(read_range(fd, size / 2, far, each));
	MUST(pthread_create(&second, NULL, late, NULL) == 0);
	note_most(read_range(fd, far, size, each));
	MUST(pthread_join(second, NULL) == 0);
	printf("joined: %zu MiB cached at most\n", most_of_all / MIB);
	if (preloaded() && most_of_all > 32 * MIB)
		die("%zu MiB are cached", most_of_all / MIB);
}

static void wide(int fd)
{
	for (each = 4 * KIB; each <= 128 * KIB; each *= 2) {
		for (size_t n = 2; n <= 8; n *= 2) {
			chill(path);
			apart(fd, n);
		}
		chill(path);
		readers = 4;
		taken = most_of_all = 0;
		threads(turn);
		printf("turns: %zu MiB, %zu left\n", most_of_all / MIB, cached(fd, 0, 0) / 256);
		chill(path);
		joined(fd);
	}
}

static void header(int fd)
{
	read_range(fd, 0, 64 * KIB, 4 * KIB);
	MUST(read_range(fd, size / 2, size, 16 * KIB) <= 48 * MIB);
}

static void once(int fd)
{
	for (size_t at = 0; at < size; at += MIB)
		ordinary(fd, at);
}

static void again(int fd)
{
	size_t before;

	once(fd);
	MUST(cached(fd, 0, 0) * 4 * KIB <= 16 * MIB);
	once(fd);
	before = device_bytes();
	once(fd);
	MUST(device_bytes() - before <= MIB);
}

static void follow(int fd)
{
	int other = open(path, O_RDONLY);
	size_t before = device_bytes();

	for (size_t at = 0; at < size + 10 * MIB; at += MIB) {
		if (at < size)
			ordinary(fd, at);
		if (at >= 10 * MIB)
			ordinary(other, at - 10 * MIB);
	}
	if (device_bytes() - before > size + MIB)
		die("%zu bytes read from the device, of %zu", device_bytes() - before, size);
}

static void tail(int fd)
{
	int other = open(path, O_RDONLY), out = open(path, O_WRONLY | O_APPEND);
	size_t before = device_bytes(), end = size;
	uint64_t word[8192];

	for (size_t at = 0; at < 2 * size; at += MIB) {
		for (; end < at + 2 * MIB + size / 2; end += sizeof(word)) {
			for (size_t i = 0; i < 8192; i++)
				word[i] = word_at(end + 8 * i);
			MUST(write(out, word, sizeof(word)) == sizeof(word));
		}
		ordinary(fd, at);
		if (at >= 10 * MIB)
			ordinary(other, at - 10 * MIB);
	}
	if (device_bytes() - before > size + MIB)
		die("%zu bytes read from the device, of %zu", device_bytes() - before, size);
	MUST(ftruncate(out, (off_t)size) == 0);
}

static void put(void)
{
	int fd = open(path, O_RDWR);
	uint64_t word[512];
	struct iovec iov = { .iov_base = word, .iov_len = sizeof(word) };

	for (size_t i = 0; i < 512; i++)
		word[i] = word_at(MIB + 8 * i);
	errno = 77;
	MUST(pwritev2(fd, &iov, 1, MIB, RWF_DONTCACHE) == sizeof(word));
	MUST(errno == 77);
	memset(word, 0, sizeof(word));
	MUST(get(fd, word, sizeof(word), MIB, 0) == sizeof(word));
	MUST(right(word, MIB, sizeof(word)));
}

static void write_all(int flags)
{
	int fd = open(path, flags, 0644);
	uint64_t word[8192];
	struct iovec iov = { .iov_base = word, .iov_len = sizeof(word) };

	MUST(fd >= 0);
	for (size_t at = 0; at < size; at += sizeof(word)) {
		for (size_t i = 0; i < 8192; i++)
			word[i] = word_at(at + 8 * i);
		errno = 77;
		MUST(pwritev2(fd, &iov, 1, (off_t)at, RWF_DONTCACHE) == sizeof(word));
		MUST(errno == 77);
		if (at % (8 * MIB) == 8 * MIB - sizeof(word))
			MUST(fdatasync(fd) == 0);
	}
	MUST(close(fd) == 0);
}

static void rewrite(int fd)
{
	char *buf = anon(MIB);

	/* Without readahead. */
	MUST(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0);
	MUST(get(fd, buf, MIB, 20 * MIB, 0) == (ssize_t)MIB);
	write_all(O_RDWR);
}

/* The flag alone is the library's: what is unsupported works, so it is left out of this. */
static void matrix(int fd)
{
	static const int flags[] = { 0, 1, 8, 0x10, 8 | RWF_DONTCACHE, 1 | RWF_DONTCACHE,
				     0x20000000, 0x10 | RWF_DONTCACHE };
	int pipes[2], none = -1, write_only = open(path, O_WRONLY);
	static _Alignas(4096) char buf[8192];

	MUST(pipe(pipes) == 0 && write(pipes[1], buf, 8192) == 8192);
	const int fds[] = { fd, none, 9999, write_only, pipes[0], pipes[1],
			    open("/tmp", O_RDONLY), open("/proc/self/comm", O_RDONLY),
			    open(path, O_RDONLY | O_DIRECT), open(path, O_PATH) };
	const size_t at[] = { 0, 4096, size - 10, size, (size_t)-1, (size_t)-2 };

	for (size_t f = 0; f < sizeof(fds) / sizeof(fds[0]); f++)
		for (size_t g = 0; g < sizeof(flags) / sizeof(flags[0]); g++)
			for (size_t a = 0; a < sizeof(at) / sizeof(at[0]); a++) {
				ssize_t r;

				/* Whether it is cached by then is a matter of timing. */
				if (fds[f] == fd && (flags[g] & 8))
					continue;
				errno = 77;
				r = get(fds[f], buf, 16, at[a], flags[g]);
				printf("%zu %#x %zd: %zd, errno %d\n", f, (unsigned)flags[g],
				       (ssize_t)at[a], r, errno);
			}
	for (size_t f = 0; f < 4; f++) {
		errno = 77;
		printf("%zd ", get(fds[f], (void *)8, 16, 4096, RWF_DONTCACHE));
		printf("%zd ", preadv2(fds[f], NULL, 0, 0, RWF_DONTCACHE));
		printf("%zd ", preadv2(fds[f], NULL, 1, 0, RWF_DONTCACHE));
		printf("%zd ", preadv2(fds[f], NULL, -1, 0, RWF_DONTCACHE));
		printf("errno %d, at %ld\n", errno, (long)lseek(fds[f], 0, SEEK_CUR));
	}
	MUST(get(fd, buf, 100, size - 50, RWF_DONTCACHE) == 50);
	lseek(fd, 4096, SEEK_SET);
	MUST(get(fd, buf, 4096, (size_t)-1, RWF_DONTCACHE) == 4096);
	MUST(right(buf, 4096, 4096) && lseek(fd, 0, SEEK_CUR) == 8192);
}

int main(int argc, char **argv)
{
	const char *mode = argc == 3 ? argv[1] : "";
	struct stat st;
	int fd;

	MUST(argc == 3);
	path = argv[2];
	fd = open(path, O_RDONLY);
	MUST(fd >= 0 && fstat(fd, &st) == 0);
	size = (size_t)st.st_size;
	/* Who may only read it cannot see whether it is cold. */
	if (strcmp(mode, "others") && strcmp(mode, "parted"))
		chill(path);
	if (!strcmp(mode, "matrix"))
		matrix(fd);
	else if (!strcmp(mode, "stream"))
		stream(fd);
	else if (!strcmp(mode, "kept"))
		kept(fd);
	else if (!strcmp(mode, "mapped"))
		mapped(fd);
	else if (!strcmp(mode, "shared"))
		shared(fd);
	else if (!strcmp(mode, "written"))
		written(fd);
	else if (!strcmp(mode, "cut"))
		cut(fd);
	else if (!strcmp(mode, "threads") || !strcmp(mode, "parted"))
		threads(part);
	else if (!strcmp(mode, "quarters"))
		apart(fd, 4);
	else if (!strcmp(mode, "eighths"))
		apart(fd, 8);
	else if (!strcmp(mode, "header"))
		header(fd);
	else if (!strcmp(mode, "joined"))
		joined(fd);
	else if (!strcmp(mode, "turns"))
		bounded(fd, turn);
	else if (!strcmp(mode, "wide"))
		wide(fd);
	else if (!strcmp(mode, "write"))
		put();
	else if (!strcmp(mode, "rewrite"))
		rewrite(fd);
	else if (!strcmp(mode, "create"))
		write_all(O_WRONLY | O_TRUNC);
	else if (!strcmp(mode, "once"))
		once(fd);
	else if (!strcmp(mode, "warm")) {
		/* A mapping brings it in: a pass of reads would be dropped behind. */
		volatile char *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

		MUST(map != MAP_FAILED);
		for (size_t at = 0; at < size; at += 4 * KIB)
			(void)map[at];
		MUST(munmap((void *)map, size) == 0);
		once(fd);
	} else if (!strcmp(mode, "again"))
		again(fd);
	else if (!strcmp(mode, "follow"))
		follow(fd);
	else if (!strcmp(mode, "tail"))
		tail(fd);
	else if (!strcmp(mode, "others"))
		others(fd);
	else
		return 2;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* maps KIND [FILE]: single questions about mappings; see maps.sh. */
#include <sys/resource.h>

#include "host.h"

static const char *path;

static void plain(void)
{
	struct view v = view_of(path, PROT_READ, MAP_PRIVATE);

	read_all(&v, 0, v.size, 2 * MIB);
}

static void private(void)
{
	struct view v = view_of(path, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	char *buf = anon(8 * MIB);

	read_all(&v, 0, v.size / 4, 4 * MIB);
	for (size_t at = 0; at < v.size; at += MIB)
		v.at[at] = 'x';
	for (int pass = 0; pass < 3; pass++) {
		for (size_t at = 0; at < v.size; at += 8 * MIB) {
			copy(buf, v.at + at, 8 * MIB);
			for (size_t i = 0; i < 8; i++) {
				MUST(buf[i * MIB] == 'x');
				MUST(right(buf + i * MIB + 8, at + i * MIB + 8, MIB - 8));
			}
		}
		posix_fadvise(v.fd, 0, 0, POSIX_FADV_DONTNEED);
	}
}

/* Through libc itself, and by raw calls: nobody tells the library. */
static void unseen(void)
{
	struct view v = view_of(path, PROT_READ, MAP_PRIVATE);
	char *buf = anon(4 * MIB), *again;
	FILE *f;

	read_all(&v, 0, 16 * MIB, 4 * MIB);
	MUST(syscall(SYS_munmap, v.at, v.size) == 0);
	again = mmap(v.at, v.size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	MUST(again == v.at);
	again[MIB] = 'y';
	copy(buf, again, 4 * MIB);
	MUST(buf[0] == 0 && buf[MIB] == 'y');
	MUST(syscall(SYS_munmap, again, v.size) == 0);
	f = fopen(path, "rm");
	MUST(f && getc(f) != EOF && fclose(f) == 0);
	again = mmap(v.at, v.size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	MUST(again == v.at);
	for (size_t at = 0; at < v.size; at += 4 * MIB) {
		copy(buf, again + at, 4 * MIB);
		MUST(buf[0] == 0 && buf[4 * MIB - 1] == 0);
	}
	v = view_of(path, PROT_READ, MAP_PRIVATE);
	read_all(&v, 16 * MIB, v.size, 4 * MIB);
}

static long resident_kib(void)
{
	long size, rss = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	MUST(f && fscanf(f, "%ld %ld", &size, &rss) == 2);
	fclose(f);
	return rss * 4;
}

static void larger(void)
{
	size_t huge = (size_t)64 << 30;
	int fd = open(path, O_RDWR | O_CREAT, 0644);
	char buf[65536];
	long before;
	char *p;

	MUST(fd >= 0 && ftruncate(fd, 2 * (off_t)MIB) == 0);
	p = mmap(NULL, huge, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	MUST(p != MAP_FAILED);
	before = resident_kib();
	for (size_t at = 0; at < 2 * MIB; at += sizeof(buf)) {
		copy(buf, p + at, sizeof(buf));
		MUST(buf[0] == 0 && buf[65535] == 0);
	}
	printf("grew by more than 8 MiB: %d\n", resident_kib() - before > 8192);
	MUST(munmap(p, huge) == 0);
}

static void many(void)
{
	enum { MANY = 3000 };
	static char *at[MANY];
	char *buf = anon(MIB);
	int fd = open(path, O_RDONLY);

	MUST(fd >= 0);
	for (int i = 0; i < MANY; i++) {
		at[i] = mmap(NULL, 2 * MIB, PROT_READ, MAP_PRIVATE, fd,
			     (off_t)((size_t)i % 10 * MIB));
		MUST(at[i] != MAP_FAILED);
	}
	for (int i = 0; i < MANY; i += 7) {
		copy(buf, at[i], MIB);
		MUST(right(buf, (size_t)i % 10 * MIB, MIB));
	}
	for (int i = 0; i < MANY; i += 2)
		MUST(munmap(at[i], 2 * MIB) == 0);
	for (int i = 1; i < MANY; i += 14) {
		copy(buf, at[i] + MIB, MIB);
		MUST(right(buf, (size_t)i % 10 * MIB + MIB, MIB));
	}
	puts("all right");
}

static void *mapper(void *unused)
{
	char *buf = anon(4 * MIB);
	(void)unused;

	for (int i = 0; i < 120; i++) {
		struct view v = view_of(path, PROT_READ, MAP_PRIVATE);
		size_t at = (size_t)i % 15 * 4 * MIB;

		copy(buf, v.at + at, 4 * MIB);
		MUST(right(buf, at, MIB) && right(buf + 3 * MIB, at + 3 * MIB, MIB));
		MUST(munmap(v.at, v.size / 2) == 0);
		copy(buf, v.at + v.size / 2, 4 * MIB);
		MUST(right(buf, v.size / 2, MIB));
		if (i % 30 == 0)
			posix_fadvise(v.fd, 0, 0, POSIX_FADV_DONTNEED);
		close(v.fd);
		MUST(munmap(v.at + v.size / 2, v.size / 2) == 0);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		MUST(pthread_create(&t[i], NULL, mapper, NULL) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void seal(void)
{
	int fd = memfd_create("t", MFD_ALLOW_SEALING);
	char *buf = anon(64 * MIB), *p;

	MUST(fd >= 0 && ftruncate(fd, 64 * (off_t)MIB) == 0);
	p = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(p != MAP_FAILED);
	copy(p, buf, 64 * MIB);
	copy(buf, p, 64 * MIB);
	MUST(munmap(p, 64 * MIB) == 0);
	printf("sealed: %d\n", fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK));
}

static void others(void)
{
	char *buf = anon(4 * MIB), *p;
	int fd = open("/dev/zero", O_RDWR);

	p = mmap(NULL, 4 * MIB, PROT_READ, MAP_PRIVATE, fd, 0);
	MUST(p != MAP_FAILED);
	buf[5] = 1;
	copy(buf, p, 4 * MIB);
	printf("/dev/zero: %d\n", buf[5]);
	p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(p != MAP_FAILED);
	p[MIB] = 9;
	copy(buf, p, 4 * MIB);
	printf("shared memory: %d\n", buf[MIB]);
	p = mmap(NULL, 4 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (p != MAP_FAILED)
		copy(buf, p, 4 * MIB);
	p = mmap(NULL, 4 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	MUST(p != MAP_FAILED);
}

/* Another descriptor writes, so that the file is copied to the upper layer. */
static void copyup(void)
{
	struct view v = view_of(path, PROT_READ, MAP_PRIVATE);
	uint64_t more = word_at(v.size);
	int fd;

	read_all(&v, 0, 8 * MIB, 4 * MIB);
	fd = open(path, O_WRONLY | O_APPEND);
	MUST(fd >= 0 && write(fd, &more, 8) == 8);
	read_all(&v, 8 * MIB, 16 * MIB, 4 * MIB);
	close(fd);
	read_all(&v, 16 * MIB, v.size, 4 * MIB);
	v = view_of(path, PROT_READ, MAP_PRIVATE);
	read_all(&v, 0, v.size & ~(size_t)7, 4 * MIB);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{ "plain", plain },   { "private", private }, { "unseen", unseen },
		{ "larger", larger }, { "many", many },	      { "threads", threads },
		{ "seal", seal },     { "others", others },   { "copyup", copyup },
	};

	MUST(argc >= 2);
	path = argv[2];
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name))
			continue;
		kinds[i].run();
		return 0;
	}
	return 2;
}

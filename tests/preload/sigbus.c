/* SPDX-License-Identifier: MIT */
/*
 * sigbus shrunk|jumps|moving FILE: copies that end in SIGBUS, which the program expects
 * and leaves by siglongjmp.  FILE is its own, and is changed.
 */
#include <setjmp.h>

#include "host.h"

#define SIZE (48 * MIB)

static struct view v;
static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t ready;
static volatile int foreign;

static void on_bus(int sig, siginfo_t *si, void *context)
{
	(void)context;
	if (!ready || (char *)si->si_addr < v.at || (char *)si->si_addr >= v.at + SIZE) {
		foreign = 1;
		signal(sig, SIG_DFL);
		return;
	}
	siglongjmp(back, 1);
}

/* 1 when the copy ended in SIGBUS. */
static int try_copy(char *dst, size_t from, size_t n)
{
	if (sigsetjmp(back, 1)) {
		ready = 0;
		return 1;
	}
	ready = 1;
	copy(dst, v.at + from, n);
	ready = 0;
	return 0;
}

static void make(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0644);
	struct sigaction sa = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };

	MUST(fd >= 0 && ftruncate(fd, (off_t)SIZE) == 0);
	MUST(posix_fallocate(fd, 0, (off_t)SIZE) == 0);
	sigemptyset(&sa.sa_mask);
	sigaction(SIGBUS, &sa, NULL);
	chill(path);
	v = view_of(path, PROT_READ, MAP_SHARED);
}

static void shrunk(const char *path)
{
	char *buf = anon(SIZE);

	make(path);
	printf("whole: %d\n", try_copy(buf, 0, SIZE));
	MUST(truncate(path, (off_t)(SIZE / 2)) == 0);
	printf("behind the end: %d\n", try_copy(buf, SIZE / 2, MIB));
	printf("across the end: %d\n", try_copy(buf, SIZE / 2 - MIB, 2 * MIB));
	printf("in front of it: %d\n", try_copy(buf, 0, SIZE / 2));
	MUST(truncate(path, 0) == 0);
	printf("empty: %d\n", try_copy(buf, 0, SIZE));
	MUST(truncate(path, (off_t)SIZE) == 0);
	printf("whole again: %d\n", try_copy(buf, 0, SIZE));
}

/* The last part of the mapping is gone; each thread jumps out of copies of it. */
static void *jump(void *unused)
{
	char *buf = anon(4 * MIB);
	(void)unused;

	for (int i = 0; i < 5000; i++) {
		size_t n = (size_t)(i % 8 + 1) * 65536;

		MUST(try_copy(buf, SIZE - MIB, n) == 1);
		if (i % 64 == 0)
			MUST(try_copy(buf, (size_t)i % 20 * MIB, 4 * MIB) == 0);
	}
	return NULL;
}

static void jumps(const char *path)
{
	char *buf = anon(MIB);
	pthread_t t[4];

	make(path);
	MUST(truncate(path, (off_t)(SIZE - 2 * MIB)) == 0);
	for (int i = 0; i < 4; i++)
		MUST(pthread_create(&t[i], NULL, jump, NULL) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	/* And it still works. */
	chill(path);
	for (size_t at = 0; at < SIZE - 2 * MIB; at += MIB)
		MUST(try_copy(buf, at, MIB) == 0);
}

static volatile int over;

static void *cutter(void *path)
{
	int fd = open(path, O_RDWR);

	for (int i = 0; i < 60; i++) {
		MUST(ftruncate(fd, i % 2 ? (off_t)(SIZE / 3) : 0) == 0);
		usleep(2000);
		MUST(ftruncate(fd, (off_t)SIZE) == 0);
		usleep(2000);
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)MIB,
			  (off_t)(SIZE / 2));
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		usleep(2000);
	}
	over = 1;
	close(fd);
	return NULL;
}

static void *follower(void *unused)
{
	char *buf = anon(8 * MIB);
	size_t at = 0;
	(void)unused;

	while (!over) {
		try_copy(buf, at, 8 * MIB);
		at = (at + 8 * MIB) % SIZE;
	}
	return NULL;
}

static void moving(char *path)
{
	char *buf = anon(8 * MIB);
	pthread_t t[3];

	make(path);
	for (size_t at = 0; at < SIZE; at += 8 * MIB)
		MUST(try_copy(buf, at, 8 * MIB) == 0);
	MUST(pthread_create(&t[0], NULL, cutter, path) == 0);
	for (int i = 1; i < 3; i++)
		MUST(pthread_create(&t[i], NULL, follower, NULL) == 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	MUST(argc == 3);
	if (!strcmp(argv[1], "shrunk"))
		shrunk(argv[2]);
	else if (!strcmp(argv[1], "jumps"))
		jumps(argv[2]);
	else
		moving(argv[2]);
	MUST(!foreign);
	return 0;
}

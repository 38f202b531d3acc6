/* SPDX-License-Identifier: MIT */
/* senses idle|small|sigbus FILE: what watching leaves behind, and what it keeps out of. */
#include <setjmp.h>

#include "host.h"

static sigjmp_buf back;

static void load_down(const struct view *v, size_t from, size_t to)
{
	for (size_t at = from; at > to; at -= 4096)
		(void)((volatile char *)v->at)[at - 4096];
}

/* After a walk that was led nothing of ours is left, once it has been quiet for long enough. */
static void idle(const char *path)
{
	struct view v = view_of(path, PROT_READ, MAP_PRIVATE);
	int before = entries("/proc/self/fd");

	load_down(&v, v.size, 0);
	for (int tries = 0; tries < 1000 && tasks() > 1; tries++)
		usleep(10000);
	MUST(tasks() == 1);
	MUST(entries("/proc/self/fd") == before);
	/* And the next one is led, too. */
	MUST(munmap(v.at, v.size) == 0);
	chill(path);
	v.at = mmap(NULL, v.size, PROT_READ, MAP_PRIVATE, v.fd, 0);
	MUST(v.at != MAP_FAILED);
	load_down(&v, v.size, 0);
	for (int tries = 0; tries < 1000 && tasks() > 1; tries++)
		usleep(10000);
	MUST(tasks() == 1);
}

/* Ten thousand mappings that are too small to be watched, each read and unmapped. */
static void small(const char *path)
{
	int fd = open(path, O_RDONLY);

	MUST(fd >= 0);
	for (int n = 0; n < 10000; n++) {
		size_t length = (size_t)(1 + n % 64) * 65536;
		char *at = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, (n % 16) * 65536);

		MUST(at != MAP_FAILED);
		(void)*(volatile char *)(at + length - 4096);
		(void)*(volatile char *)at;
		MUST(munmap(at, length) == 0);
	}
	MUST(tasks() == 1);
}

static void take(int number, siginfo_t *info, void *context)
{
	(void)context;
	MUST(number == SIGBUS && info->si_code == BUS_ADRERR);
	siglongjmp(back, 1);
}

/* Loads past the end of a file that has been truncated: each is the program's own affair. */
static void sigbus(const char *path)
{
	const struct sigaction action = { .sa_sigaction = take, .sa_flags = SA_SIGINFO };
	struct view v = view_of(path, PROT_READ, MAP_PRIVATE);
	volatile size_t at;
	volatile unsigned taken = 0;

	MUST(sigaction(SIGBUS, &action, NULL) == 0);
	load_down(&v, v.size, v.size / 2);
	MUST(truncate(path, (off_t)v.size / 4) == 0);
	for (at = v.size / 2; at > 0; at -= 4096) {
		if (sigsetjmp(back, 1))
			taken++;
		else
			(void)((volatile char *)v.at)[at - 4096];
	}
	printf("%u times SIGBUS\n", taken);
	MUST(taken == v.size / 4 / 4096);
}

int main(int argc, char **argv)
{
	MUST(argc == 3);
	if (!strcmp(argv[1], "idle"))
		idle(argv[2]);
	else if (!strcmp(argv[1], "small"))
		small(argv[2]);
	else
		sigbus(argv[2]);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * faults threads|signals|children|truncate FILE: reads it backward by plain loads.
 * faults later FILE: pages here and there first, for a second; tells the walk's faults.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "host.h"

static struct view v;

static void load_down(size_t from, size_t to)
{
	for (size_t at = from; at > to; at -= 4096)
		(void)((volatile char *)v.at)[at - 4096];
}

static void *worker(void *arg)
{
	size_t n = (size_t)arg;
	size_t share = v.size / 64;

	load_down((n + 1) * share, n * share);
	return NULL;
}

static void threads(void)
{
	pthread_t id[8];

	load_down(v.size, v.size / 2);
	for (size_t round = 0; round < 8; round++) {
		for (size_t i = 0; i < 8; i++)
			MUST(!pthread_create(&id[i], NULL, worker, (void *)(round * 8 + i)));
		for (size_t i = 0; i < 8; i++)
			MUST(!pthread_join(id[i], NULL));
	}
}

/* Blocked in every thread of ours, so that they stay pending until we take them. */
static void signals(void)
{
	sigset_t set;
	siginfo_t info;

	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	sigaddset(&set, SIGUSR1);
	MUST(!sigprocmask(SIG_BLOCK, &set, NULL));
	for (size_t n = 16; n > 0; n--) {
		MUST(!sigqueue(getpid(), SIGURG, (union sigval){ .sival_int = (int)n }));
		load_down(n * (v.size / 16), (n - 1) * (v.size / 16));
		MUST(sigwaitinfo(&set, &info) == SIGURG && info.si_value.sival_int == (int)n);
	}
}

static void children(void)
{
	int before = entries("/proc/self/fd");
	int status;
	pid_t child;

	load_down(v.size, v.size / 2);
	MUST(entries("/proc/self/fd") == before);
	child = fork();
	MUST(child >= 0);
	if (!child) {
		MUST(entries("/proc/self/fd") == before && tasks() == 1);
		load_down(v.size / 2, v.size / 4);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child && !status);
	load_down(v.size / 2, 0);
}

static void later(void)
{
	struct rusage before, after;
	size_t page = 1;

	for (int i = 0; i < 1000; i++) {
		page = page * 6364136223846793005u + 1442695040888963407u;
		(void)((volatile char *)v.at)[(page >> 20) % (v.size / 4 * 3) & ~4095u];
		usleep(1000);
	}
	MUST(!madvise(v.at, v.size, MADV_SEQUENTIAL) && !getrusage(RUSAGE_SELF, &before));
	load_down(v.size, v.size / 4 * 3);
	MUST(!getrusage(RUSAGE_SELF, &after));
	printf("%ld\n", after.ru_majflt - before.ru_majflt);
}

static void cut(const char *path)
{
	load_down(v.size, v.size / 2);
	MUST(!truncate(path, (off_t)v.size / 4));
	load_down(v.size / 4, 0);
}

int main(int argc, char **argv)
{
	MUST(argc == 3);
	v = view_of(argv[2], PROT_READ, MAP_PRIVATE);
	if (!strcmp(argv[1], "threads"))
		threads();
	else if (!strcmp(argv[1], "signals"))
		signals();
	else if (!strcmp(argv[1], "children"))
		children();
	else if (!strcmp(argv[1], "later"))
		later();
	else
		cut(argv[2]);
	return 0;
}

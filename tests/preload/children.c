/* SPDX-License-Identifier: MIT */
/* children KIND FILE: every way to have a child, while threads read cold. */
#include <sched.h>
#include <spawn.h>

#include "host.h"

extern char **environ;

static struct view v;
static volatile int over;

static void *reader(void *arg)
{
	size_t at = (size_t)(uintptr_t)arg % 16 * 4 * MIB;
	char *buf = anon(2 * MIB);

	for (int i = 0; !over; i++) {
		copy(buf, v.at + at, 2 * MIB);
		MUST(right(buf, at, 65536));
		at = (at + 2 * MIB) % v.size;
		if (i % 200 == 0)
			posix_fadvise(v.fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	return NULL;
}

static void start_readers(pthread_t *t, int n)
{
	for (int i = 0; i < n; i++)
		MUST(pthread_create(&t[i], NULL, reader, (void *)(uintptr_t)(i * 5)) == 0);
}

static void stop_readers(pthread_t *t, int n)
{
	over = 1;
	for (int i = 0; i < n; i++)
		MUST(pthread_join(t[i], NULL) == 0);
}

/* What a child does: it copies through what it inherited, and through what is new. */
static int in_child(size_t seed)
{
	size_t at = seed % 31 * 2 * MIB;
	struct view own;

	read_all(&v, at, at + 2 * MIB, MIB);
	own.fd = open(getenv("BIG"), O_RDONLY);
	own.at = mmap(NULL, v.size, PROT_READ, MAP_PRIVATE, own.fd, 0);
	if (own.at == MAP_FAILED)
		return 2;
	read_all(&own, at, at + 2 * MIB, 2 * MIB);
	munmap(own.at, v.size);
	return 0;
}

static void reap(pid_t pid)
{
	int status;

	MUST(pid > 0);
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(status == 0);
}

static void forks(int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid) {
			alarm(20);
			_exit(in_child((size_t)i));
		}
		reap(pid);
	}
}

static void just_fork(void)
{
	read_all(&v, 0, 16 * MIB, 4 * MIB);
	forks(100);
	read_all(&v, 16 * MIB, v.size, 4 * MIB);
}

static void busy(void)
{
	pthread_t t[4];

	read_all(&v, 0, 16 * MIB, 4 * MIB);
	start_readers(t, 4);
	forks(150);
	stop_readers(t, 4);
}

/* No handler of pthread_atfork() runs then. */
static void raw_clone(void)
{
	pthread_t t[2];

	read_all(&v, 0, 16 * MIB, 4 * MIB);
	start_readers(t, 2);
	for (int i = 0; i < 60; i++) {
		pid_t pid = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);

		if (!pid) {
			alarm(20);
			_exit(in_child((size_t)i));
		}
		reap(pid);
	}
	stop_readers(t, 2);
}

static void vforks(void)
{
	static char buf[MIB];
	pthread_t t[2];

	read_all(&v, 0, 16 * MIB, 4 * MIB);
	start_readers(t, 2);
	for (int i = 0; i < 150; i++) {
		size_t at = (size_t)(i % 60) * MIB;
		pid_t pid = vfork();

		if (!pid) {
			/* Not allowed by the letter, but done. */
			copy(buf, v.at + at, MIB);
			execl("/bin/true", "true", NULL);
			_exit(9);
		}
		reap(pid);
		MUST(right(buf, at, MIB));
	}
	stop_readers(t, 2);
	read_all(&v, 0, v.size, 4 * MIB);
}

static void spawn(void)
{
	char *argv[] = { "true", NULL };
	posix_spawn_file_actions_t fa;
	pthread_t t[2];
	pid_t pid;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 5, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, 5, 6);
	posix_spawn_file_actions_addclose(&fa, 5);
	read_all(&v, 0, 16 * MIB, 4 * MIB);
	start_readers(t, 2);
	for (int i = 0; i < 150; i++) {
		MUST(posix_spawn(&pid, "/bin/true", &fa, NULL, argv, environ) == 0);
		reap(pid);
		if (i % 30 == 0)
			MUST(system("exit 0") == 0);
	}
	stop_readers(t, 2);
}

/* A child reads cold itself, and has children that do. */
static void nested(void)
{
	pid_t pid;

	read_all(&v, 0, 8 * MIB, 4 * MIB);
	pid = fork();
	if (!pid) {
		alarm(30);
		posix_fadvise(v.fd, 0, 0, POSIX_FADV_DONTNEED);
		read_all(&v, 8 * MIB, 40 * MIB, 4 * MIB);
		for (int i = 0; i < 10; i++) {
			pid = fork();
			if (!pid) {
				alarm(20);
				posix_fadvise(v.fd, 0, 0, POSIX_FADV_DONTNEED);
				_exit(in_child((size_t)i));
			}
			reap(pid);
		}
		_exit(0);
	}
	read_all(&v, 40 * MIB, v.size, 4 * MIB);
	reap(pid);
}

/* The child is alone at first: no thread comes with it. */
static void inherit(void)
{
	int open_now = entries("/proc/self/fd");
	pid_t pid;

	read_all(&v, 0, 32 * MIB, 4 * MIB);
	pid = fork();
	if (!pid) {
		MUST(tasks() == 1);
		MUST(entries("/proc/self/fd") == open_now);
		MUST(munmap(v.at, v.size) == 0);
		MUST(tasks() == 1);
		_exit(0);
	}
	reap(pid);
	read_all(&v, 32 * MIB, v.size, 4 * MIB);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{ "fork", just_fork }, { "busy", busy },     { "clone", raw_clone },
		{ "vfork", vforks },   { "spawn", spawn },   { "nested", nested },
		{ "inherit", inherit },
	};

	MUST(argc == 3);
	setenv("BIG", argv[2], 1);
	chill(argv[2]);
	v = view_of(argv[2], PROT_READ, MAP_PRIVATE);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name))
			continue;
		kinds[i].run();
		return 0;
	}
	return 2;
}

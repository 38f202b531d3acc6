/* SPDX-License-Identifier: MIT */
/* process KIND FILE: single questions to a process that has a helper, or cannot have one. */
#include <grp.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#include "host.h"

static struct view v;

static void plain(void)
{
	read_all(&v, 0, v.size, 4 * MIB);
	puts("read");
}

/* Reads cold until the helper is there; then there must be one.  For once: it is read. */
static int begin(void)
{
	int tid = 0;

	for (size_t at = 0; at < v.size / 2 && !tid; at += 4 * MIB) {
		read_all(&v, at, at + 4 * MIB, 4 * MIB);
		/* It has its name a moment after it has begun. */
		for (int i = 0; i < 5 && !tid; i++) {
			tid = helper();
			usleep(tid || !preloaded() ? 0 : 1000);
		}
	}
	MUST(tid || !preloaded());
	return tid;
}

static void go_on(void)
{
	read_all(&v, v.size / 2, v.size, 4 * MIB);
}

/* The value of a line of /proc/self/task/TID/status. */
static void status_of(int tid, const char *key, char *value, size_t size)
{
	char name[64], line[256];
	FILE *f;

	*value = '\0';
	snprintf(name, sizeof(name), "/proc/self/task/%d/status", tid);
	f = fopen(name, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			snprintf(value, size, "%s", line + strlen(key));
	if (f)
		fclose(f);
}

static void mask(void)
{
	struct timespec second = { 1, 0 };
	char blocked[64];
	sigset_t set;
	int tid;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	tid = begin();
	if (tid) {
		status_of(tid, "SigBlk:", blocked, sizeof(blocked));
		/* All but KILL and STOP; the two that libc keeps for itself may be open. */
		MUST((strtoull(blocked, NULL, 16) | 0x180000000) == 0xfffffffffffbfeff);
	}
	for (int i = 0; i < 2000; i++) {
		MUST(kill(getpid(), SIGUSR1) == 0);
		MUST(sigtimedwait(&set, NULL, &second) == SIGUSR1);
	}
	go_on();
}

static void ordinary(void)
{
	struct sched_param p = { .sched_priority = 10 };
	cpu_set_t one, all;
	int tid;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	(void)sched_setscheduler(0, SCHED_FIFO, &p);
	MUST(sched_setaffinity(0, sizeof(one), &one) == 0);
	/* On one processor, the helper runs only when we sleep. */
	for (size_t at = 0; at < v.size / 2; at += 4 * MIB) {
		read_all(&v, at, at + 4 * MIB, 4 * MIB);
		usleep(1000);
	}
	tid = helper();
	if (tid)
		MUST(sched_getscheduler(tid) == SCHED_OTHER);
	go_on();
}

static void idle(void)
{
	begin();
	/* The default is two seconds. */
	for (int i = 0; i < 80 && helper(); i++)
		usleep(100000);
	MUST(!helper() && tasks() == 1);
	/* And comes back. */
	posix_fadvise(v.fd, 0, 0, POSIX_FADV_DONTNEED);
	go_on();
}

static void *ends_the_process(void *unused)
{
	(void)unused;
	usleep(50000);
	go_on();
	return NULL;
}

/* The program ends with its last thread: the helper is none of its. */
static void busyexit(void)
{
	pthread_t t;

	begin();
	MUST(pthread_create(&t, NULL, ends_the_process, NULL) == 0);
	pthread_exit(NULL);
}

static void *raw_end(void *unused)
{
	(void)unused;
	go_on();
	syscall(SYS_exit, 0L);
	return NULL;
}

static void raw_exit(void)
{
	pthread_t t;

	begin();
	MUST(pthread_create(&t, NULL, raw_end, NULL) == 0);
	usleep(100000);
	/* The last of ours: all that keeps the process is a helper, and it ends when idle. */
	go_on();
	if (preloaded() && getenv("WILLNEED_STATS")) {
		/* Nobody would print the counters. */
		exit(0);
	}
	syscall(SYS_exit, 0L);
}

static void *watch_uids(void *unused)
{
	(void)unused;
	pause();
	return NULL;
}

static void all_are(const char *key, const char *expected)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;

	MUST(d);
	while ((e = readdir(d))) {
		char value[64];
		int tid = atoi(e->d_name);

		if (!tid)
			continue;
		status_of(tid, key, value, sizeof(value));
		/* A thread that has ended meanwhile has none. */
		if (*value && strcmp(value, expected))
			die("thread %d: %s%s", tid, key, value);
	}
	closedir(d);
}

static void set_uid(void)
{
	pthread_t t;

	MUST(pthread_create(&t, NULL, watch_uids, NULL) == 0);
	begin();
	MUST(setgroups(0, NULL) == 0);
	MUST(setresgid(65534, 65534, 65534) == 0);
	all_are("Gid:", "\t65534\t65534\t65534\t65534\n");
	read_all(&v, v.size / 2, v.size * 3 / 4, 4 * MIB);
	MUST(setresuid(65534, 65534, 65534) == 0);
	all_are("Uid:", "\t65534\t65534\t65534\t65534\n");
	go_on();
	all_are("Uid:", "\t65534\t65534\t65534\t65534\n");
}

static void unshares(void)
{
	begin();
	MUST(unshare(CLONE_NEWUSER) == 0);
	MUST(tasks() == 1);
	read_all(&v, v.size / 2, v.size * 3 / 4, 4 * MIB);
	MUST(syscall(SYS_unshare, CLONE_NEWUTS) == 0);
	read_all(&v, v.size / 2, v.size, 4 * MIB);
	MUST(unshare(CLONE_NEWNS) == 0);
	MUST(tasks() == 1);
}

/* A child stops the helper alone, by ptrace; we must not wait for it. */
static void stopped(void)
{
	int tid = begin(), ready[2], done[2], status;
	pid_t pid;
	char c = 0;

	MUST(pipe(ready) == 0 && pipe(done) == 0);
	/* fork() would end the helper first. */
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		close(done[1]);
		if (tid && (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0 ||
			    ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0 ||
			    waitpid(tid, &status, __WALL) != tid))
			_exit(3);
		if (write(ready[1], &c, 1) != 1 || read(done[0], &c, 1) != 1)
			_exit(4);
		if (tid)
			ptrace(PTRACE_DETACH, tid, 0, 0);
		_exit(0);
	}
	close(ready[1]);
	MUST(read(ready[0], &c, 1) == 1);
	for (int pass = 0; pass < 3; pass++) {
		posix_fadvise(v.fd, 0, 0, POSIX_FADV_DONTNEED);
		read_all(&v, 0, v.size, 4 * MIB);
	}
	MUST(munmap(v.at, v.size) == 0);
	MUST(write(done[1], &c, 1) == 1);
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
}

static void change_root(void)
{
	char empty[] = "/tmp/willneed-empty.XXXXXX";

	MUST(mkdtemp(empty) && chdir(empty) == 0 && rmdir(empty) == 0);
	MUST(chroot(".") == 0);
	MUST(access("/proc/self", F_OK) == -1);
	read_all(&v, 0, v.size, 4 * MIB);
}

static void locked(void)
{
	int r = mlockall(MCL_FUTURE);
	struct view again;

	if (r < 0) {
		printf("mlockall: %s\n", strerror(errno));
		return;
	}
	again.size = 2 * MIB;
	again.at = mmap(NULL, again.size, PROT_READ, MAP_PRIVATE, v.fd, 0);
	printf("mapped: %d\n", again.at != MAP_FAILED);
	munlockall();
	plain();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{ "plain", plain },	  { "mask", mask },	    { "ordinary", ordinary },
		{ "idle", idle },	  { "busyexit", busyexit }, { "raw_exit", raw_exit },
		{ "setuid", set_uid },	  { "unshare", unshares },  { "stopped", stopped },
		{ "chroot", change_root }, { "locked", locked },
	};

	MUST(argc == 3);
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

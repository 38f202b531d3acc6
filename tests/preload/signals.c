/* SPDX-License-Identifier: MIT */
/* signals handler|thread|cancel FILE: copies in narrow places. */
#include <limits.h>
#include <sys/time.h>

#include "host.h"

static struct view v;
static char *interrupted, *by_handler;
static volatile int caught;

static void on_alarm(int sig)
{
	size_t at = (size_t)caught % 60 * MIB;

	(void)sig;
	copy(by_handler, v.at + at, MIB);
	if (!right(by_handler, at, MIB))
		_exit(9);
	caught++;
}

/* A handler copies on the smallest stack there is, while the program does the same. */
static void handler(void)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_ONSTACK | SA_RESTART };
	/* A fault that a signal interrupts is not counted as one: not too often, then. */
	struct itimerval soon = { { 0, 2000 }, { 0, 50000 } }, never = { 0 };
	size_t small = (size_t)sysconf(_SC_MINSIGSTKSZ);
	stack_t ss = { .ss_size = small, .ss_sp = anon(small) };

	MUST(sigaltstack(&ss, NULL) == 0);
	MUST(sigaction(SIGALRM, &sa, NULL) == 0);
	setitimer(ITIMER_REAL, &soon, NULL);
	for (int pass = 0; pass < 6; pass++)
		for (size_t at = 0; at < v.size; at += 4 * MIB) {
			copy(interrupted, v.at + at, 4 * MIB);
			MUST(right(interrupted, at, 4 * MIB));
		}
	setitimer(ITIMER_REAL, &never, NULL);
	MUST(caught > 10);
}

static void *narrow(void *unused)
{
	(void)unused;
	for (size_t at = 0; at < v.size; at += 4 * MIB) {
		copy(interrupted, v.at + at, 4 * MIB);
		MUST(right(interrupted, at, 4 * MIB));
	}
	return NULL;
}

static void thread(void)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	MUST(pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN) == 0);
	MUST(pthread_create(&t, &attr, narrow, NULL) == 0);
	MUST(pthread_join(t, NULL) == 0);
}

static void *endless(void *unused)
{
	char *buf = anon(4 * MIB);
	(void)unused;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (size_t at = 0;; at = (at + 4 * MIB) % v.size)
		copy(buf, v.at + at, 4 * MIB);
	return NULL;
}

static void cancel(void)
{
	narrow(NULL);
	for (int i = 0; i < 100; i++) {
		pthread_t t;
		void *end;

		MUST(pthread_create(&t, NULL, endless, NULL) == 0);
		usleep(1000 + i * 20);
		MUST(pthread_cancel(t) == 0);
		MUST(pthread_join(t, &end) == 0 && end == PTHREAD_CANCELED);
		if (i % 10 == 0)
			posix_fadvise(v.fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	narrow(NULL);
}

int main(int argc, char **argv)
{
	MUST(argc == 3);
	interrupted = anon(4 * MIB);
	by_handler = anon(MIB);
	v = view_of(argv[2], PROT_READ, MAP_PRIVATE);
	if (!strcmp(argv[1], "handler"))
		handler();
	else if (!strcmp(argv[1], "thread"))
		thread();
	else
		cancel();
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* A program is started, bare or preloaded, and what it leaves is gathered. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* With this, x86 copies of any size take the vector loops; elsewhere it is ignored. */
#define VECTOR_TUNABLE "glibc.cpu.x86_rep_movsb_threshold=0x40000000"

volatile sig_atomic_t bench_stop;
static volatile sig_atomic_t child_pid;

static void on_signal(int sig)
{
	bench_stop = sig;
	if (child_pid > 0)
		kill((pid_t)child_pid, SIGTERM);
}

void bench_catch_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action = { .sa_handler = on_signal };

	/* No SA_RESTART: whatever waits is to notice. */
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &action, NULL);
	/* Output that nobody reads must not keep us from putting things back. */
	signal(SIGPIPE, SIG_IGN);
}

double bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void add_tunable(void)
{
	const char *old = getenv("GLIBC_TUNABLES");
	char text[4096];

	snprintf(text, sizeof(text), "%s%s" VECTOR_TUNABLE, old ? old : "",
		 old ? ":" : "");
	setenv("GLIBC_TUNABLES", text, 1);
}

/* In the child, between fork and exec. */
static void set_environment(const struct bench *b, const struct bench_case *c,
			    enum bench_variant variant)
{
	const char *library = variant == VARIANT_WILLNEED ? b->library : NULL;
	char *preload = wn_preload_join(library, getenv("LD_PRELOAD"));

	if (!preload)
		_exit(WN_EXIT_NOTFOUND);
	if (*preload)
		setenv("LD_PRELOAD", preload, 1);
	else
		unsetenv("LD_PRELOAD");
	if (variant == VARIANT_WILLNEED)
		setenv("WILLNEED_STATS", b->stats_path, 1);
	else
		unsetenv("WILLNEED_STATS");
	if (c->copies == COPIES_VECTOR)
		add_tunable();
}

static pid_t start(const struct bench *b, const struct bench_case *c,
		   enum bench_variant variant, char *const *argv, int *out)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		dup2(ends[1], STDOUT_FILENO);
		set_environment(b, c, variant);
		if (bench_group_join(&b->group) < 0) {
			wn_say("cannot join the cgroup: %s", strerror(errno));
			_exit(WN_EXIT_NOTFOUND);
		}
		execvp(argv[0], argv);
		wn_say("%s: %s", argv[0], strerror(errno));
		_exit(WN_EXIT_NOTFOUND);
	}
	if (pid < 0)
		pid = -errno;
	close(ends[1]);
	*out = ends[0];
	if (pid < 0)
		close(ends[0]);
	return pid;
}

/* Until the end of its output; what is cached meanwhile is looked at now and then. */
static void drain(int fd, struct bench_harvest *h, struct bench_cached *cached)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char chunk[4096];
	ssize_t got = 1;

	h->hash = 0xcbf29ce484222325u;
	while (got > 0 || (got < 0 && errno == EINTR)) {
		if (poll(&ready, 1, bench_cached_sample(cached)) <= 0)
			continue;
		got = read(fd, chunk, sizeof(chunk));
		for (ssize_t i = 0; i < got; i++) {
			h->hash = (h->hash ^ (unsigned char)chunk[i]) * 0x100000001b3u;
			if (h->length < BENCH_OUTPUT_MAX - 1)
				h->text[h->length++] = chunk[i];
		}
	}
	h->text[h->length] = '\0';
}

int bench_child_run(const struct bench *b, const struct bench_case *c,
		    enum bench_variant variant, char *const *argv,
		    struct bench_harvest *h)
{
	struct bench_cached cached;
	double begin = bench_now();
	int out = -1;
	pid_t pid;

	memset(h, 0, sizeof(*h));
	bench_cached_begin(&cached, b, c);
	pid = start(b, c, variant, argv, &out);
	if (pid < 0) {
		bench_cached_end(&cached);
		return pid;
	}
	child_pid = pid;
	/* A signal that came before we knew the child has not reached it. */
	if (bench_stop)
		kill(pid, SIGTERM);
	drain(out, h, &cached);
	close(out);
	while (wait4(pid, &h->status, 0, &h->usage) < 0 && errno == EINTR)
		;
	child_pid = 0;
	h->wall = bench_now() - begin;
	h->cached = bench_cached_end(&cached);
	return bench_stop ? -EINTR : 0;
}

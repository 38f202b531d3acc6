/* SPDX-License-Identifier: MIT */
/* One program, run once, bare or preloaded, with everything that can be counted of it. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ARGS_MAX = 64, OUTPUT_MAX = 64 << 10 };

/* With this, x86 copies of any size take the vector loops; elsewhere it is ignored. */
#define VECTOR_TUNABLE "glibc.cpu.x86_rep_movsb_threshold=0x40000000"

volatile sig_atomic_t bench_stop;
static volatile sig_atomic_t child_pid;

/* What a finished child left. */
struct harvest {
	char text[OUTPUT_MAX]; /* of its output, the beginning */
	size_t length;
	uint64_t hash; /* of all of its output */
	double wall;
	int status;
	struct rusage usage;
};

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

static double now(void)
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

static void drain(int fd, struct harvest *h)
{
	char chunk[4096];
	ssize_t got;

	h->hash = 0xcbf29ce484222325u;
	while ((got = read(fd, chunk, sizeof(chunk))) > 0 ||
	       (got < 0 && errno == EINTR)) {
		for (ssize_t i = 0; i < got; i++) {
			h->hash = (h->hash ^ (unsigned char)chunk[i]) * 0x100000001b3u;
			if (h->length < OUTPUT_MAX - 1)
				h->text[h->length++] = chunk[i];
		}
	}
	h->text[h->length] = '\0';
}

static int run_child(const struct bench *b, const struct bench_case *c,
		     enum bench_variant variant, char *const *argv, struct harvest *h)
{
	double begin = now();
	int out = -1;
	pid_t pid;

	memset(h, 0, sizeof(*h));
	pid = start(b, c, variant, argv, &out);
	if (pid < 0)
		return pid;
	child_pid = pid;
	/* A signal that came before we knew the child has not reached it. */
	if (bench_stop)
		kill(pid, SIGTERM);
	drain(out, h);
	close(out);
	while (wait4(pid, &h->status, 0, &h->usage) < 0 && errno == EINTR)
		;
	child_pid = 0;
	h->wall = now() - begin;
	return bench_stop ? -EINTR : 0;
}

static double seconds(const struct timeval *tv)
{
	return (double)tv->tv_sec + (double)tv->tv_usec / 1e6;
}

/* A command of the user is seen from outside, with its children. */
static void read_command(const struct harvest *h, struct bench_run *run)
{
	run->metrics[METRIC_WALL] = h->wall;
	run->metrics[METRIC_UTIME] = seconds(&h->usage.ru_utime);
	run->metrics[METRIC_STIME] = seconds(&h->usage.ru_stime);
	run->metrics[METRIC_MAJFLT] = (double)h->usage.ru_majflt;
	run->metrics[METRIC_MINFLT] = (double)h->usage.ru_minflt;
	run->metrics[METRIC_READ_BYTES] = (double)h->usage.ru_inblock * 512;
	snprintf(run->checksum, sizeof(run->checksum), "%016llx",
		 (unsigned long long)h->hash);
}

static int read_workload(const struct harvest *h, struct bench_run *run)
{
	static const char *const names[METRICS] = {
#define WN_METRIC(id, name, shown, scale, digits) name,
#include "metrics.def"
	};
	json_t *object = json_loads(h->text, 0, NULL);
	const char *sum = json_string_value(json_object_get(object, "checksum"));

	if (!sum) {
		json_decref(object);
		return -EPROTO;
	}
	snprintf(run->checksum, sizeof(run->checksum), "%s", sum);
	for (unsigned m = 0; m < METRICS; m++) {
		const json_t *value = json_object_get(object, names[m]);

		if (json_is_number(value))
			run->metrics[m] = json_number_value(value);
	}
	json_decref(object);
	return 0;
}

/* "willneed: NAME VALUE" lines; several processes may each have left their own. */
static void read_counters(const char *path, struct bench_run *run)
{
	static const char *const names[COUNTERS] = {
#define WILLNEED_COUNTER(name, help) #name,
#include "willneed-counters.h"
#undef WILLNEED_COUNTER
	};
	FILE *in = fopen(path, "re");
	char line[256], name[64];
	double value;

	while (in && fgets(line, sizeof(line), in)) {
		if (sscanf(line, "willneed: %63s %lf", name, &value) != 2)
			continue;
		for (unsigned c = 0; c < COUNTERS; c++) {
			if (strcmp(name, names[c]))
				continue;
			run->counters[c] =
				(isnan(run->counters[c]) ? 0 : run->counters[c]) + value;
		}
	}
	if (in)
		fclose(in);
}

/* The words of text, and what follows them; text is cut up. */
static void make_argv(const struct bench *b, char *text, char **argv)
{
	unsigned n = 0;
	char *word;

	argv[n++] = (char *)(uintptr_t)b->workload;
	while ((word = strsep(&text, " ")) && n < ARGS_MAX - 4) {
		if (*word)
			argv[n++] = word;
	}
	if (b->verify) {
		argv[n++] = (char *)(uintptr_t)"--verify";
		argv[n++] = (char *)(uintptr_t)"1";
	}
	argv[n++] = (char *)(uintptr_t)b->files[0].path;
	argv[n] = NULL;
}

static int prepare_files(const struct bench *b, enum bench_state state, char *why,
			 size_t why_size)
{
	for (unsigned i = 0; i < b->nfiles; i++) {
		const char *reason = "";
		int err = bench_file_prepare(&b->files[i], state, &reason);

		if (err) {
			snprintf(why, why_size, "%s", reason);
			return err;
		}
	}
	return 0;
}

/* Why a child counts as failed, or NULL. */
static const char *bad_end(const struct harvest *h, char *text, size_t size)
{
	if (WIFSIGNALED(h->status))
		snprintf(text, size, "it was killed by signal %d", WTERMSIG(h->status));
	else if (WEXITSTATUS(h->status))
		snprintf(text, size, "it ended with status %d", WEXITSTATUS(h->status));
	else
		return NULL;
	return text;
}

int bench_run_once(const struct bench *b, const struct bench_case *c,
		   enum bench_variant variant, struct bench_run *run, char *why,
		   size_t why_size)
{
	double reads0 = 0, bytes0 = 0, reads1, bytes1;
	char words[1024], *argv[ARGS_MAX], end[64];
	static struct harvest h;
	bool counted;
	int err;

	for (unsigned m = 0; m < METRICS; m++)
		run->metrics[m] = NAN;
	for (unsigned i = 0; i < COUNTERS; i++)
		run->counters[i] = NAN;
	err = prepare_files(b, c->state, why, why_size);
	if (err)
		return err;
	snprintf(words, sizeof(words), "%s",
		 variant == VARIANT_LIMIT ? c->limit : (c->pattern ? c->pattern : ""));
	make_argv(b, words, argv);
	unlink(b->stats_path);
	counted = bench_device_count(&b->device, &reads0, &bytes0);
	err = run_child(b, c, variant,
			c->command && variant != VARIANT_LIMIT ? c->command : argv, &h);
	if (err) {
		snprintf(why, why_size, "%s", strerror(-err));
		return err;
	}
	if (counted && bench_device_count(&b->device, &reads1, &bytes1)) {
		run->metrics[METRIC_DEVICE_READS] = reads1 - reads0;
		run->metrics[METRIC_DEVICE_BYTES] = bytes1 - bytes0;
	}
	if (bad_end(&h, end, sizeof(end))) {
		snprintf(why, why_size, "%s, %s", bench_variant_names[variant], end);
		return -ECHILD;
	}
	if (c->command && variant != VARIANT_LIMIT) {
		read_command(&h, run);
	} else if (read_workload(&h, run) < 0) {
		snprintf(why, why_size, "willneed-workload printed something else");
		return -EPROTO;
	}
	if (variant == VARIANT_WILLNEED)
		read_counters(b->stats_path, run);
	return 0;
}

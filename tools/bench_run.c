/* SPDX-License-Identifier: MIT */
/* One run: what is made of what a program printed, and of what others counted of it. */
#include "bench.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS_MAX = 64 };

static double seconds(const struct timeval *tv)
{
	return (double)tv->tv_sec + (double)tv->tv_usec / 1e6;
}

/* A command of the user is seen from outside, with its children. */
static void read_command(const struct bench_harvest *h, struct bench_run *run)
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

static int read_workload(const struct bench_harvest *h, struct bench_run *run)
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

/*
 * "willneed: NAME VALUE" lines; several processes may each have left their own.  Of what
 * is 0 there is none, but without the library there is no file.
 */
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

	for (unsigned c = 0; in && c < COUNTERS; c++)
		run->counters[c] = 0;
	while (in && fgets(line, sizeof(line), in)) {
		if (sscanf(line, "willneed: %63s %lf", name, &value) != 2)
			continue;
		for (unsigned c = 0; c < COUNTERS; c++) {
			if (!strcmp(name, names[c]))
				run->counters[c] += value;
		}
	}
	if (in)
		fclose(in);
}

/* The words of text, and what follows them; text is cut up. */
static void make_argv(const struct bench *b, char *text, char **argv)
{
	static char files[16];
	unsigned n = 0;
	char *word;

	argv[n++] = (char *)(uintptr_t)b->workload;
	while ((word = strsep(&text, " ")) && n < ARGS_MAX - 6) {
		if (*word)
			argv[n++] = word;
	}
	if (b->site->nfiles > 1) {
		snprintf(files, sizeof(files), "%u", b->site->nfiles);
		argv[n++] = (char *)(uintptr_t)"--files";
		argv[n++] = files;
	}
	if (b->verify) {
		argv[n++] = (char *)(uintptr_t)"--verify";
		argv[n++] = (char *)(uintptr_t)"1";
	}
	argv[n++] = (char *)(uintptr_t)b->site->files[0].path;
	argv[n] = NULL;
}

static int prepare_files(const struct bench *b, enum bench_state state, char *why,
			 size_t why_size)
{
	for (unsigned i = 0; i < b->site->nfiles; i++) {
		const char *reason = "";
		int err = bench_file_prepare(&b->site->files[i], state, &reason);

		if (err) {
			snprintf(why, why_size, "%s", reason);
			return err;
		}
	}
	return 0;
}

/* Why a child counts as failed, or NULL. */
static const char *bad_end(const struct bench_harvest *h, char *text, size_t size)
{
	if (WIFSIGNALED(h->status))
		snprintf(text, size, "it was killed by signal %d", WTERMSIG(h->status));
	else if (WEXITSTATUS(h->status))
		snprintf(text, size, "it ended with status %d", WEXITSTATUS(h->status));
	else
		return NULL;
	return text;
}

/* The program, and what the device and the cgroup counted meanwhile. */
static int run_counted(const struct bench *b, const struct bench_case *c,
		       enum bench_variant variant, char *const *argv,
		       struct bench_harvest *h, struct bench_run *run)
{
	const struct bench_device *d = &b->site->device;
	double reads0 = 0, bytes0 = 0, reads1, bytes1;
	bool counted = bench_device_count(d, &reads0, &bytes0);
	int err = bench_child_run(b, c, variant, argv, h);

	if (err)
		return err;
	if (counted && bench_device_count(d, &reads1, &bytes1)) {
		run->metrics[METRIC_DEVICE_READS] = reads1 - reads0;
		run->metrics[METRIC_DEVICE_BYTES] = bytes1 - bytes0;
	}
	run->metrics[METRIC_CACHED] = h->cached;
	run->metrics[METRIC_REFAULTS] = bench_group_refaults(&b->group);
	return 0;
}

/* What the program itself tells. */
static int read_harvest(const struct bench *b, const struct bench_case *c,
			enum bench_variant variant, const struct bench_harvest *h,
			struct bench_run *run, char *why, size_t why_size)
{
	char end[64];

	if (bad_end(h, end, sizeof(end))) {
		snprintf(why, why_size, "%s, %s", bench_variant_names[variant], end);
		return -ECHILD;
	}
	if (c->command && variant != VARIANT_LIMIT) {
		read_command(h, run);
	} else if (read_workload(h, run) < 0) {
		snprintf(why, why_size, "willneed-workload printed something else");
		return -EPROTO;
	}
	if (variant == VARIANT_WILLNEED) {
		read_counters(b->stats_path, run);
		run->metrics[METRIC_ASKED] = run->counters[COUNTER_asked_bytes];
	}
	return 0;
}

int bench_run_once(struct bench *b, const struct bench_case *c,
		   const struct bench_place *p, enum bench_variant variant,
		   struct bench_run *run, char *why, size_t why_size)
{
	const char *pattern = variant == VARIANT_LIMIT ? c->limit : c->pattern;
	bool own = c->command && variant != VARIANT_LIMIT;
	char words[1024], *argv[ARGS_MAX];
	static struct bench_harvest h;
	int err;

	for (unsigned m = 0; m < METRICS; m++)
		run->metrics[m] = NAN;
	for (unsigned i = 0; i < COUNTERS; i++)
		run->counters[i] = NAN;
	err = prepare_files(b, c->state, why, why_size);
	if (!err)
		err = bench_group_make(&b->group, p, &b->site->device, why, why_size);
	if (err)
		return err;
	snprintf(words, sizeof(words), "%s", pattern ? pattern : "");
	make_argv(b, words, argv);
	unlink(b->stats_path);
	err = run_counted(b, c, variant, own ? c->command : argv, &h, run);
	bench_group_drop(&b->group);
	if (err) {
		snprintf(why, why_size, "%s", strerror(-err));
		return err;
	}
	return read_harvest(b, c, variant, &h, run, why, why_size);
}

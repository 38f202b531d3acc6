/* SPDX-License-Identifier: MIT */
/* willneed bench: the order in which things are measured. */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- Measuring ---------------------------------------------------------------- */

static void progress(const char *name, unsigned at, unsigned of, const char *what,
		     unsigned run, unsigned runs)
{
	static const char *last;

	if (isatty(STDERR_FILENO)) {
		fprintf(stderr, "\r\033[K[%u/%u] %s: %s, run %u of %u", at, of, name,
			what, run, runs);
	} else if (name != last) {
		fprintf(stderr, "[%u/%u] %s\n", at, of, name);
		last = name;
	}
}

static void progress_end(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* All variants once; they take turns, so that a slow minute hits each of them. */
static int run_round(const struct bench *b, struct bench_outcome *o, unsigned round,
		     unsigned runs, unsigned at, unsigned of)
{
	unsigned variants = o->c->limit ? VARIANTS : VARIANTS - 1;

	for (unsigned v = 0; v < VARIANTS; v++) {
		for (unsigned m = 0; m < METRICS; m++)
			o->run[v][round].metrics[m] = NAN;
		for (unsigned c = 0; c < COUNTERS; c++)
			o->run[v][round].counters[c] = NAN;
	}
	for (unsigned i = 0; i < variants; i++) {
		unsigned v = (i + round) % variants;
		int err;

		progress(o->c->name, at, of, bench_variant_names[v], round + 1, runs);
		err = bench_run_once(b, o->c, v, &o->run[v][round], o->failed,
				     sizeof(o->failed));
		if (err)
			return err;
	}
	return 0;
}

static bool same_data(struct bench_outcome *o, unsigned round)
{
	const char *bare = o->run[VARIANT_BARE][0].checksum;
	/* What a command prints is no sum of the bytes that the limit reads. */
	unsigned variants = o->c->limit && !o->c->command ? VARIANTS : VARIANTS - 1;

	for (unsigned v = 0; v < variants; v++) {
		const char *sum = o->run[v][round].checksum;

		if (strcmp(sum, bare)) {
			snprintf(o->failed, sizeof(o->failed),
				 "the data differ: bare has read %s, %s %s", bare,
				 bench_variant_names[v], sum);
			return false;
		}
	}
	return true;
}

static struct bench_outcome *measure(struct bench *b, const struct bench_case *c,
				     unsigned runs, unsigned at, unsigned of)
{
	struct bench_outcome *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->c = c;
	o->read_ahead_kb = bench_device_read_ahead(&b->device);
	o->reporting = bench_device_stop_reporting(&b->device);
	while (o->runs < runs && !bench_stop) {
		if (run_round(b, o, o->runs, runs, at, of) < 0 || !same_data(o, o->runs))
			break;
		o->runs++;
	}
	if (!o->failed[0] && bench_device_read_ahead(&b->device) != o->read_ahead_kb)
		snprintf(o->failed, sizeof(o->failed),
			 "the device's read-ahead size was changed while this ran");
	if (bench_device_stop_reporting(&b->device) == REPORTING_ACTIVE)
		o->reporting = REPORTING_ACTIVE;
	bench_medians(o);
	return o;
}

/* -- Preparing ---------------------------------------------------------------- */

/* The workload program: beside this one in a build tree, else installed. */
static int find_workload(char path[PATH_MAX])
{
	static const char *const places[] = { ".", "..", WN_PKGLIBEXECDIR, NULL };

	if (wn_companion_find("willneed-workload", places, path) == 0)
		return 0;
	wn_say("cannot find willneed-workload: build or install it");
	return -ENOENT;
}

static unsigned select_cases(const struct bench_args *args, struct bench_case *user,
			     const struct bench_case **selected)
{
	unsigned n = 0;

	if (args->command) {
		*user = (struct bench_case){
			.name = "command", .group = "command", .copies = COPIES_OWN,
			.limit = args->nfiles == 1 ? "pread --piece 1M" : NULL,
			.command = args->command,
		};
		selected[n++] = user;
		return n;
	}
	for (size_t i = 0; i < bench_case_count; i++) {
		const struct bench_case *c = &bench_cases[i];

		if (args->only && !bench_case_named(c, args->only))
			continue;
		if (args->quick && c->length != LENGTH_QUICK &&
		    !(args->only && strcasestr(args->only, c->name)))
			continue;
		selected[n++] = c;
	}
	return n;
}

static int prepare_command(struct bench *b, const struct bench_args *args)
{
	char program[PATH_MAX];
	const char *why;

	if (!args->nfiles) {
		wn_say("name the files that the command reads with --file");
		return -EINVAL;
	}
	if (wn_program_find(args->command[0], program) < 0) {
		wn_say("%s: cannot be run", args->command[0]);
		return -ENOENT;
	}
	why = wn_program_refusal(program);
	if (why) {
		wn_say("%s cannot be measured: %s", program, why);
		return -EINVAL;
	}
	for (; b->nfiles < args->nfiles; b->nfiles++) {
		int err = bench_file_take(&b->files[b->nfiles], args->files[b->nfiles]);

		if (err)
			return err;
	}
	return 0;
}

/* The files in the page cache, and a copy of what they hold. */
static uint64_t memory_needed(const struct bench *b)
{
	uint64_t size = 0;

	for (unsigned i = 0; i < b->nfiles; i++)
		size += 2 * b->files[i].size;
	return size;
}

static int prepare(struct bench *b, const struct bench_args *args)
{
	const char *tmp = getenv("TMPDIR");
	int fd, err;

	if (wn_preload_find(NULL, b->library) < 0 || find_workload(b->workload) < 0)
		return -ENOENT;
	snprintf(b->stats_path, sizeof(b->stats_path), "%s/willneed-stats.XXXXXX",
		 tmp ? tmp : "/tmp");
	fd = mkstemp(b->stats_path);
	if (fd < 0) {
		wn_say("cannot write to %s: %s", tmp ? tmp : "/tmp", strerror(errno));
		return -EACCES;
	}
	close(fd);
	b->nfiles = args->command ? 0 : 1;
	err = args->command ?
		      prepare_command(b, args) :
		      bench_file_plan(&b->files[0], args->dir, args->size, args->quick);
	bench_device_find(&b->device, b->files[0].path);
	if (!err && args->read_aheads)
		err = bench_device_check(&b->device);
	if (err)
		return err;
	if (!args->command && isatty(STDERR_FILENO))
		fputs("making the file", stderr);
	if (bench_device_stop_reporting(&b->device) == REPORTING_OFF)
		bench_device_fetch_memory(&b->device, memory_needed(b));
	return args->command ? 0 : bench_file_make(&b->files[0]);
}

/* -- Leading ------------------------------------------------------------------ */

/* Everything at each read-ahead size. */
static int measure_all(struct bench *b, const struct bench_args *args,
		       const struct bench_case *const *selected, unsigned count,
		       struct bench_outcome **outcomes, size_t *done)
{
	unsigned rounds = args->read_aheads ? args->read_aheads : 1;
	int err = 0;

	for (unsigned r = 0; r < rounds && !err && !bench_stop; r++) {
		for (unsigned i = 0; i < count && !err && !bench_stop; i++) {
			struct bench_outcome *o;

			/* For each case: somebody else may have set it meanwhile. */
			if (args->read_aheads)
				err = bench_device_set_read_ahead(&b->device,
								  args->read_ahead[r]);
			if (err)
				break;
			o = measure(b, selected[i], args->runs, r * count + i + 1,
				    rounds * count);
			if (o)
				outcomes[(*done)++] = o;
			else
				err = -ENOMEM;
		}
	}
	progress_end();
	return err;
}

static int report(const struct bench *b, const struct bench_args *args,
		  struct bench_outcome **outcomes, size_t done)
{
	int status = 0;

	if (args->json)
		bench_report_json(b, outcomes, done);
	else
		bench_report(b, outcomes, done);
	for (size_t i = 0; i < done; i++) {
		if (outcomes[i]->failed[0])
			status = WN_EXIT_FAILED;
		free(outcomes[i]);
	}
	return status;
}

int cmd_bench(int argc, char **argv)
{
	static struct bench_outcome *outcomes[CASES_MAX * READ_AHEADS_MAX];
	const struct bench_case *selected[CASES_MAX];
	struct bench_args args = { 0 };
	static struct bench b;
	struct bench_case user;
	int status = WN_EXIT_USAGE;
	unsigned count;
	size_t done = 0;

	bench_args_parse(&args, argc, argv);
	count = select_cases(&args, &user, selected);
	if (!count) {
		wn_say("no case is named %s (--list shows them)", args.only);
		return WN_EXIT_USAGE;
	}
	b.verify = args.verify;
	bench_catch_signals();
	if (prepare(&b, &args) == 0 &&
	    measure_all(&b, &args, selected, count, outcomes, &done) == 0 && !bench_stop)
		status = 0;
	/* Before anything is printed: nobody may be there to read it. */
	bench_device_restore(&b.device);
	if (!status)
		status = report(&b, &args, outcomes, done);
	unlink(b.stats_path);
	for (unsigned i = 0; i < b.nfiles; i++)
		bench_file_drop(&b.files[i], args.keep);
	if (bench_stop)
		wn_say("stopped; everything is as it was");
	return bench_stop ? 128 + bench_stop : status;
}

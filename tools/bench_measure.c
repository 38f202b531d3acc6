/* SPDX-License-Identifier: MIT */
/* A case in its place, and the rounds of its runs. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* All variants once; they take turns, so that a slow minute hits each of them. */
static int run_round(struct bench *b, struct bench_outcome *o, unsigned round,
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
		err = bench_run_once(b, o->c, &o->place, v, &o->run[v][round],
				     o->failed, sizeof(o->failed));
		if (err)
			return err;
	}
	return 0;
}

static bool same_data(const struct bench *b, struct bench_outcome *o, unsigned round)
{
	const char *bare = o->run[VARIANT_BARE][0].checksum;
	/* What a command prints is no sum of the bytes that the limit reads. */
	unsigned variants = o->c->limit && !o->c->command ? VARIANTS : VARIANTS - 1;

	if (o->c->command && b->ignore_output)
		return true;
	for (unsigned v = 0; v < variants; v++) {
		const char *sum = o->run[v][round].checksum;

		if (!strcmp(sum, bare))
			continue;
		if (o->c->command)
			snprintf(o->failed, sizeof(o->failed),
				 "the output differs: %s, run %u, printed other bytes than "
				 "bare, run 1 (--ignore-output allows that)",
				 bench_variant_names[v], round + 1);
		else
			snprintf(o->failed, sizeof(o->failed),
				 "the data differ: bare has read %s, %s %s", bare,
				 bench_variant_names[v], sum);
		return false;
	}
	return true;
}

static void run_rounds(struct bench *b, struct bench_outcome *o, unsigned runs, unsigned at,
		       unsigned of)
{
	struct bench_device *d = &b->site->device;

	o->file = b->site->files[0];
	o->read_ahead_kb = bench_device_read_ahead(d);
	o->reporting = bench_reporting_stop(&b->reporting);
	while (o->runs < runs && !bench_stop) {
		/* Again: another bench may have ended, and set it back. */
		if (bench_reporting_stop(&b->reporting) == REPORTING_ACTIVE)
			o->reporting = REPORTING_ACTIVE;
		if (run_round(b, o, o->runs, runs, at, of) < 0 || !same_data(b, o, o->runs))
			break;
		o->runs++;
	}
	if (!o->failed[0] && bench_device_read_ahead(d) != o->read_ahead_kb)
		snprintf(o->failed, sizeof(o->failed),
			 "the device's read-ahead size was changed while this ran");
	if (bench_reporting_stop(&b->reporting) == REPORTING_ACTIVE)
		o->reporting = REPORTING_ACTIVE;
	bench_medians(o);
}

/* What the user has asked for must be had. */
static bool asked_for(const struct bench_args *args)
{
	const struct bench_place *p = &args->place;

	return p->fs || p->max_sectors_kb || p->memory || p->memory_percent ||
	       args->throttle || args->read_aheads;
}

struct bench_outcome *bench_measure(struct bench *b, const struct bench_args *args,
				    const struct bench_case *c, long read_ahead_kb,
				    unsigned at, unsigned of)
{
	struct bench_outcome *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->c = c;
	o->read_ahead_kb = -1;
	o->place = bench_place_of(args, c, read_ahead_kb);
	b->site = bench_site_get(b, &o->place, o->failed, sizeof(o->failed));
	if (b->site &&
	    bench_place_set(b, &o->place, o->failed, sizeof(o->failed)) == 0)
		run_rounds(b, o, args->runs, at, of);
	else
		o->skipped = !asked_for(args);
	if (b->site)
		bench_place_leave(b);
	return o;
}

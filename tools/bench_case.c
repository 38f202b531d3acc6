/* SPDX-License-Identifier: MIT */
/* The cases, their bars, and the arithmetic on what was measured. */
#include "bench.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
#define BAR(metric, factor, of, plus) { METRIC_##metric, factor, OF_##of, plus, 0, 0 }
#define BAR_AT(from, to, metric, factor, of, plus)				\
	{ METRIC_##metric, factor, OF_##of, plus, from, to }
#define WN_CASE(name, group, length, state, copies, pattern, limit, ...)	\
	{ name, group, LENGTH_##length, STATE_##state, COPIES_##copies,		\
	  pattern, limit, { __VA_ARGS__ }, PLACE_AS_IT_IS, NULL },
#define WN_CASE_ON(place, name, group, length, state, copies, pattern, limit, ...) \
	{ name, group, LENGTH_##length, STATE_##state, COPIES_##copies,		\
	  pattern, limit, { __VA_ARGS__ }, PLACE_##place, NULL },
/* clang-format on */
const struct bench_case bench_cases[] = {
#include "cases.def"
};

const struct bench_place bench_places[] = {
#define WN_PLACE(id, ...) [PLACE_##id] = { __VA_ARGS__ },
#include "places.def"
};

const size_t bench_case_count = sizeof(bench_cases) / sizeof(bench_cases[0]);
_Static_assert(sizeof(bench_cases) / sizeof(bench_cases[0]) <= CASES_MAX, "CASES_MAX");

static const struct {
	const char *name;
	double scale;
} metric_table[METRICS] = {
#define WN_METRIC(id, name, shown, scale, digits) { name, scale },
#include "metrics.def"
};

bool bench_case_named(const struct bench_case *c, const char *list)
{
	while (*list) {
		size_t length = strcspn(list, ",");

		if ((strlen(c->name) == length && !strncasecmp(c->name, list, length)) ||
		    (strlen(c->group) == length && !strncasecmp(c->group, list, length)))
			return true;
		list += length;
		list += strspn(list, ",");
	}
	return false;
}

const char *bench_group_words(const struct bench_case *c)
{
	static const struct {
		const char *name, *words;
	} groups[] = {
#define WN_GROUP(name, words) { name, words },
#include "groups.def"
	};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (!strcmp(groups[i].name, c->group))
			return groups[i].words;
	}
	return NULL;
}

double bench_bar_bound(const struct bench_outcome *o, const struct bench_bar *bar)
{
	double of;

	switch (bar->of) {
	case OF_LIMIT:
		of = o->median[VARIANT_LIMIT].metrics[bar->metric];
		break;
	case OF_BARE:
		of = o->median[VARIANT_BARE].metrics[bar->metric];
		break;
	case OF_THREADS:
		of = o->median[VARIANT_WILLNEED].metrics[METRIC_THREADS];
		break;
	case OF_BYTES:
		of = o->median[VARIANT_WILLNEED].metrics[METRIC_BYTES];
		break;
	case OF_ONE:
		of = 1;
		break;
	default:
		of = NAN;
	}
	return bar->factor * of + bar->plus;
}

static long usable_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		return CPU_COUNT(&set);
	return sysconf(_SC_NPROCESSORS_ONLN);
}

/* Why less system time than bare cannot be asked for, or NULL. */
static const char *no_system_time_to_save(const struct bench_outcome *o)
{
	const double *bare = o->median[VARIANT_BARE].metrics;

	if (bare[METRIC_STIME] < 0.1)
		return "bare used less than 0.1 s of it";
	/* The helper then takes its time from the very threads that it works for. */
	if (bare[METRIC_THREADS] > (double)(usable_cpus() - 1))
		return "no processor is free beside the threads";
	return NULL;
}

/*
 * Why the device's own count is not that of the program, or NULL: it has read more than
 * the program made it read, beyond what file systems read on their own.
 */
static const char *others_read(const struct bench_outcome *o)
{
	for (unsigned v = VARIANT_BARE; v <= VARIANT_WILLNEED; v++) {
		const double *m = o->median[v].metrics;

		if (m[METRIC_DEVICE_BYTES] > 1.02 * m[METRIC_READ_BYTES] + (1 << 20))
			return "others have read from the device meanwhile";
	}
	return NULL;
}

/* Some bars are about a narrow or a wide readahead of the kernel's own. */
static bool bar_applies(const struct bench_outcome *o, const struct bench_bar *bar)
{
	if (bar->from_kb && o->read_ahead_kb < bar->from_kb)
		return false;
	return !bar->to_kb || (o->read_ahead_kb >= 0 && o->read_ahead_kb <= bar->to_kb);
}

enum bench_verdict bench_bar_judge(const struct bench_outcome *o,
				   const struct bench_bar *bar, const char **why)
{
	double value = o->median[VARIANT_WILLNEED].metrics[bar->metric];
	double bound = bench_bar_bound(o, bar);

	*why = NULL;
	if (!bar_applies(o, bar) || isnan(value) || isnan(bound))
		return VERDICT_UNKNOWN;
	if (bar->metric == METRIC_STIME && bar->of == OF_BARE)
		*why = no_system_time_to_save(o);
	if (bar->metric == METRIC_DEVICE_READS || bar->metric == METRIC_DEVICE_BYTES)
		*why = others_read(o);
	if (*why)
		return VERDICT_MOOT;
	return value <= bound ? VERDICT_OK : VERDICT_OVER;
}

void bench_bar_words(const struct bench_bar *bar, char *text, size_t size)
{
	static const char *const of[] = {
		[OF_NOTHING] = "",
		[OF_LIMIT] = "x limit",
		[OF_BARE] = "x bare",
		[OF_THREADS] = "a thread",
		[OF_BYTES] = "x bytes asked for",
		[OF_ONE] = "",
	};
	double scale = metric_table[bar->metric].scale;
	const char *unit = scale < 1 ? " MiB" : "";
	FILE *out = fmemopen(text, size, "w");

	if (!out)
		return;
	fprintf(out, "%s <= ", metric_table[bar->metric].name);
	if (bar->of == OF_ONE)
		fprintf(out, "%.4g%s", bar->factor * scale, unit);
	else
		fprintf(out, "%.4g %s", bar->factor, of[bar->of]);
	if (bar->plus != 0)
		fprintf(out, " + %.4g%s", bar->plus * scale, unit);
	if (bar->to_kb)
		fprintf(out, " up to read_ahead_kb %ld", bar->to_kb);
	else if (bar->from_kb)
		fprintf(out, " from read_ahead_kb %ld", bar->from_kb);
	fclose(out);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *values, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (isnan(values[i]))
			return NAN;
	}
	if (!count)
		return NAN;
	qsort(values, count, sizeof(*values), compare);
	return count % 2 ? values[count / 2] :
			   (values[count / 2 - 1] + values[count / 2]) / 2;
}

void bench_medians(struct bench_outcome *o)
{
	double values[RUNS_MAX];

	for (unsigned v = 0; v < VARIANTS; v++) {
		for (unsigned m = 0; m < METRICS; m++) {
			for (unsigned i = 0; i < o->runs; i++)
				values[i] = o->run[v][i].metrics[m];
			o->median[v].metrics[m] = bench_median(values, o->runs);
		}
		for (unsigned c = 0; c < COUNTERS; c++) {
			for (unsigned i = 0; i < o->runs; i++)
				values[i] = o->run[v][i].counters[c];
			o->median[v].counters[c] = bench_median(values, o->runs);
		}
	}
}

/* The library counts without locks, so that a part may be ahead of its whole. */
static double ratio(double part, double whole)
{
	double share = whole > 0 ? part / whole : NAN;

	if (share < 0)
		return 0;
	return share > 1 ? 1 : share;
}

double bench_coverage(const struct bench_outcome *o)
{
	const double *c = o->median[VARIANT_WILLNEED].counters;

	return ratio(c[COUNTER_covered_bytes], c[COUNTER_demand_bytes]);
}

double bench_accuracy(const struct bench_outcome *o)
{
	const double *c = o->median[VARIANT_WILLNEED].counters;

	return ratio(c[COUNTER_asked_bytes] - c[COUNTER_unused_bytes],
		     c[COUNTER_asked_bytes]);
}

double bench_timeliness(const struct bench_outcome *o)
{
	const double *c = o->median[VARIANT_WILLNEED].counters;

	return ratio(c[COUNTER_covered_bytes] - c[COUNTER_late_bytes],
		     c[COUNTER_covered_bytes]);
}

/* SPDX-License-Identifier: MIT */
/* The results of willneed bench as an array of objects, one for each case. */
#include "bench.h"

#include <jansson.h>
#include <math.h>

static const char *const metric_names[METRICS] = {
#define WN_METRIC(id, name, shown, scale, digits) name,
#include "metrics.def"
};

static const char *const counter_names[COUNTERS] = {
#define WILLNEED_COUNTER(name, help) #name,
#include "willneed-counters.h"
#undef WILLNEED_COUNTER
};

static void set(json_t *object, const char *name, json_t *value)
{
	json_object_set_new(object, name, value);
}

static json_t *number(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

/* { "median": ..., "runs": [ ... ] } for each metric that is known. */
static json_t *variant_object(const struct bench_outcome *o, unsigned v)
{
	json_t *object = json_object();

	for (unsigned m = 0; m < METRICS; m++) {
		json_t *metric, *runs;

		if (isnan(o->median[v].metrics[m]))
			continue;
		metric = json_object();
		runs = json_array();
		for (unsigned i = 0; i < o->runs; i++)
			json_array_append_new(runs, number(o->run[v][i].metrics[m]));
		set(metric, "median", number(o->median[v].metrics[m]));
		set(metric, "runs", runs);
		set(object, metric_names[m], metric);
	}
	return object;
}

static json_t *counters_object(const struct bench_outcome *o)
{
	json_t *object = json_object();

	for (unsigned c = 0; c < COUNTERS; c++)
		set(object, counter_names[c],
		    number(o->median[VARIANT_WILLNEED].counters[c]));
	return object;
}

static json_t *bars_array(const struct bench_outcome *o)
{
	json_t *array = json_array();

	for (const struct bench_bar *bar = o->c->bars; bar->of != OF_NOTHING; bar++) {
		double value = o->median[VARIANT_WILLNEED].metrics[bar->metric];
		double bound = bench_bar_bound(o, bar);
		json_t *object = json_object();
		enum bench_verdict verdict;
		const char *why;
		char words[128];

		bench_bar_words(bar, words, sizeof(words));
		set(object, "rule", json_string(words));
		set(object, "value", number(value));
		set(object, "bound", number(bound));
		verdict = bench_bar_judge(o, bar, &why);
		set(object, "ok",
		    verdict == VERDICT_OK || verdict == VERDICT_OVER ?
			    json_boolean(verdict == VERDICT_OK) :
			    json_null());
		if (why)
			set(object, "why", json_string(why));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *limit(uint64_t value)
{
	return value ? json_integer((json_int_t)value) : json_null();
}

/* null: no limit, or as it is. */
static json_t *place_object(const struct bench_place *p)
{
	json_t *object = json_object();

	set(object, "files", json_integer(p->files ? p->files : 1));
	set(object, "loop", p->fs ? json_string(p->fs) : json_null());
	set(object, "max_sectors_kb", limit((uint64_t)p->max_sectors_kb));
	set(object, "reads_per_second", limit(p->iops));
	set(object, "bytes_per_second", limit(p->rate));
	set(object, "memory", limit(p->memory));
	return object;
}

static json_t *case_object(const struct bench_outcome *o)
{
	json_t *object = json_object(), *variants;

	set(object, "case", json_string(o->c->name));
	set(object, "group", json_string(o->c->group));
	if (o->file.size) {
		set(object, "file", json_string(o->file.path));
		set(object, "size", json_integer((json_int_t)o->file.size));
	}
	set(object, "place", place_object(&o->place));
	set(object, "read_ahead_kb",
	    o->read_ahead_kb < 0 ? json_null() : json_integer(o->read_ahead_kb));
	set(object, "page_reporting",
	    o->reporting == REPORTING_NONE ?
		    json_null() :
		    json_string(o->reporting == REPORTING_OFF ? "off" : "active"));
	set(object, "failed",
	    o->failed[0] && !o->skipped ? json_string(o->failed) : json_null());
	if (o->skipped)
		set(object, "skipped", json_string(o->failed));
	if (o->failed[0])
		return object;
	variants = json_object();
	for (unsigned v = 0; v < VARIANTS; v++) {
		if (v != VARIANT_LIMIT || o->c->limit)
			set(variants, bench_variant_names[v], variant_object(o, v));
	}
	set(object, "variants", variants);
	set(object, "counters", counters_object(o));
	set(object, "coverage", number(bench_coverage(o)));
	set(object, "accuracy", number(bench_accuracy(o)));
	set(object, "timeliness", number(bench_timeliness(o)));
	set(object, "bars", bars_array(o));
	return object;
}

int bench_report_json(struct bench_outcome *const *outcomes, size_t count)
{
	json_t *array = json_array();
	int err;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, case_object(outcomes[i]));
	err = json_dumpf(array, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(array);
	return err;
}

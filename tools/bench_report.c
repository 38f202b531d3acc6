/* SPDX-License-Identifier: MIT */
/* The table of willneed bench. */
#include "bench.h"

#include <math.h>
#include <string.h>

const char *const bench_variant_names[VARIANTS] = {
	[VARIANT_BARE] = "bare",
	[VARIANT_WILLNEED] = "willneed",
	[VARIANT_LIMIT] = "limit",
};

struct column {
	const char *shown;
	double scale;
	int digits;
};

static const struct column columns[METRICS] = {
#define WN_METRIC(id, name, shown, scale, digits) { shown, scale, digits },
#include "metrics.def"
};

enum { NAME_WIDTH = 17, VARIANT_WIDTH = 9, VALUE_WIDTH = 10 };

/* A column of which nobody knows a value is left out. */
static bool column_used(struct bench_outcome *const *outcomes, size_t count, unsigned m)
{
	for (size_t i = 0; columns[m].shown && i < count; i++) {
		for (unsigned v = 0; v < VARIANTS; v++) {
			if (!isnan(outcomes[i]->median[v].metrics[m]))
				return true;
		}
	}
	return false;
}

static void print_row(const struct bench_outcome *o, unsigned v, const bool *used)
{
	printf("%-*s%-*s", NAME_WIDTH, v == 0 ? o->c->name : "", VARIANT_WIDTH,
	       bench_variant_names[v]);
	for (unsigned m = 0; m < METRICS; m++) {
		double value = o->median[v].metrics[m];

		if (!used[m])
			continue;
		if (isnan(value))
			printf("%*s", VALUE_WIDTH, "-");
		else
			printf("%*.*f", VALUE_WIDTH, columns[m].digits,
			       value * columns[m].scale);
	}
	putchar('\n');
}

static void print_share(const char *what, double share)
{
	if (!isnan(share))
		printf(", %s %.1f %%", what, share * 100);
}

/* How much it asked for, where that is so little that shares of it tell nothing. */
static bool left_alone(const struct bench_outcome *o, double *asked, double *bytes)
{
	const double *m = o->median[VARIANT_WILLNEED].metrics;

	*asked = m[METRIC_ASKED] / (1 << 20);
	*bytes = m[METRIC_BYTES] / (1 << 20);
	return *asked < *bytes / 20;
}

static void print_summary(const struct bench_outcome *o)
{
	double bare = o->median[VARIANT_BARE].metrics[METRIC_WALL];
	double ours = o->median[VARIANT_WILLNEED].metrics[METRIC_WALL];
	double limit = o->median[VARIANT_LIMIT].metrics[METRIC_WALL];
	double asked, bytes;

	printf("%*swillneed takes %.2f x the time of bare", NAME_WIDTH, "", ours / bare);
	if (!isnan(limit))
		printf(", %.2f x the limit", ours / limit);
	if (left_alone(o, &asked, &bytes)) {
		printf("; it asked for %.0f of %.0f MiB", asked, bytes);
	} else {
		print_share("coverage", bench_coverage(o));
		print_share("accuracy", bench_accuracy(o));
		print_share("timeliness", bench_timeliness(o));
	}
	putchar('\n');
	/* A loader that could not load it says so on stderr and runs the program. */
	if (isnan(o->median[VARIANT_WILLNEED].counters[0]))
		printf("%*snote: the library left no counters, so it was not at work\n",
		       NAME_WIDTH, "");
}

static void print_bars(const struct bench_outcome *o, unsigned *verdicts)
{
	static const char *const shown[] = {
		[VERDICT_OK] = "ok",
		[VERDICT_OVER] = "over",
		[VERDICT_MOOT] = "-",
	};

	for (const struct bench_bar *bar = o->c->bars; bar->of != OF_NOTHING; bar++) {
		double value = o->median[VARIANT_WILLNEED].metrics[bar->metric];
		double bound = bench_bar_bound(o, bar);
		const struct column *column = &columns[bar->metric];
		const char *why;
		enum bench_verdict verdict = bench_bar_judge(o, bar, &why);
		char words[128];

		if (verdict == VERDICT_UNKNOWN)
			continue;
		bench_bar_words(bar, words, sizeof(words));
		printf("%*s%-5s %s: %.*f of %.*f%s%s%s\n", NAME_WIDTH, "",
		       shown[verdict], words, column->digits, value * column->scale,
		       column->digits, bound * column->scale, why ? " (" : "",
		       why ? why : "", why ? ")" : "");
		verdicts[verdict]++;
	}
}

/* Where the case has run. */
static void place_words(const struct bench_outcome *o, char *text, size_t size)
{
	int used = snprintf(text, size, "%s, %.2f GiB", o->file.path,
			    (double)o->file.size / (1u << 30));

	if (o->read_ahead_kb >= 0 && (size_t)used < size)
		used += snprintf(text + used, size - (size_t)used, ", read_ahead_kb %ld",
				 o->read_ahead_kb);
	if ((size_t)used < size)
		bench_place_words(&o->place, text + used, size - (size_t)used);
}

static void print_heading(const char *place, const struct bench_outcome *o,
			  const bool *used)
{
	printf("\n%s, medians of %u\n%-*s%-*s", place, o->runs, NAME_WIDTH, "case",
	       VARIANT_WIDTH, "run");
	for (unsigned m = 0; m < METRICS; m++) {
		if (used[m])
			printf("%*s", VALUE_WIDTH, columns[m].shown);
	}
	putchar('\n');
}

/* "NAME: words", in lines of its width. */
static void print_wrapped(const char *name, const char *words)
{
	enum { WIDTH = 78 };
	int column = printf("%s:", name);

	while (*words) {
		int length = (int)strcspn(words, " ");

		if (column + 1 + length > WIDTH)
			column = printf("\n  ") - 1;
		else
			column += printf(" ");
		column += printf("%.*s", length, words);
		words += length;
		words += strspn(words, " ");
	}
	putchar('\n');
}

/* The words that are used above, as far as they are. */
static void print_legend(struct bench_outcome *const *outcomes, size_t count, bool bars)
{
	bool limit = false, own = false;

	for (size_t i = 0; i < count; i++) {
		limit |= !outcomes[i]->failed[0] && outcomes[i]->c->limit;
		own |= !outcomes[i]->failed[0] && !outcomes[i]->c->command;
	}
	puts("");
	print_wrapped("bare, willneed", "without the library, and with it");
	if (limit)
		print_wrapped("limit", own ? "the same bytes in the cheapest way, forward, by "
					     "as many threads" :
					     "the file read forward, in the cheapest way");
	print_wrapped("majflt, minflt", "page faults that waited for the device, and the others");
	print_wrapped("dev reads, dev MiB", "what the device did meanwhile, for anybody");
	print_wrapped("coverage", "of what was found cold, how much had been asked for before it "
				  "was read; timeliness: how much of that had arrived; accuracy: "
				  "how much of all that was asked for was of use");
	if (own)
		print_wrapped("it asked for N of M MiB",
			      "the rest was left to the kernel's own readahead; copies are put "
			      "in ascending order all the same");
	if (bars)
		print_wrapped("ok, over", "within what willneed is to reach (a bar), or not; "
					  "-: it says nothing here");
}

void bench_report(const struct bench *b, struct bench_outcome *const *outcomes,
		  size_t count)
{
	unsigned verdicts[VERDICT_MOOT + 1] = { 0 }, bars = 0, failed = 0, skipped = 0;
	char place[PATH_MAX + 256] = "", last[PATH_MAX + 256] = "";
	bool used[METRICS], reporting = false;
	const char *group = "";

	for (unsigned m = 0; m < METRICS; m++)
		used[m] = column_used(outcomes, count, m);
	for (size_t i = 0; i < count; i++) {
		const struct bench_outcome *o = outcomes[i];

		reporting |= o->reporting == REPORTING_ACTIVE;
		if (o->failed[0]) {
			printf("\n%-*s%s: %s\n", NAME_WIDTH, o->c->name,
			       o->skipped ? "skipped" : "FAILED", o->failed);
			skipped += o->skipped;
			failed += !o->skipped;
			last[0] = '\0';
			continue;
		}
		place_words(o, place, sizeof(place));
		if (strcmp(place, last))
			print_heading(place, o, used);
		if ((strcmp(place, last) || strcmp(group, o->c->group)) &&
		    bench_group_words(o->c))
			print_wrapped(o->c->group, bench_group_words(o->c));
		group = o->c->group;
		snprintf(last, sizeof(last), "%s", place);
		for (unsigned v = 0; v < VARIANTS; v++) {
			if (v != VARIANT_LIMIT || o->c->limit)
				print_row(o, v, used);
		}
		print_summary(o);
		print_bars(o, verdicts);
	}
	for (unsigned v = 0; v <= VERDICT_MOOT; v++)
		bars += verdicts[v];
	if (failed + skipped < count)
		print_legend(outcomes, count, bars);
	printf("\n%zu case%s, %u failed", count, count == 1 ? "" : "s", failed);
	if (skipped)
		printf(", %u skipped", skipped);
	if (bars)
		printf("; %u bars: %u ok, %u over", bars, verdicts[VERDICT_OK],
		       verdicts[VERDICT_OVER]);
	if (verdicts[VERDICT_MOOT])
		printf(", %u say nothing here", verdicts[VERDICT_MOOT]);
	/* With a command there is one case, and what is compared is what it printed. */
	if (failed + skipped == count || (outcomes[0]->c->command && b->ignore_output))
		puts("");
	else
		printf("; the %s was the same in all runs shown\n",
		       outcomes[0]->c->command ? "output" : "data");
	if (reporting)
		puts("note: free page reporting is active and cannot be switched off: "
		     "free memory is given\n      back to the hypervisor, getting it "
		     "again costs time, and times vary (willneed(1))");
}

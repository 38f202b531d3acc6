/* SPDX-License-Identifier: MIT */
/*
 * willneed bench: what its rooms share.  bench_case.c knows the cases, bench_args.c
 * the options, bench_file.c makes the file, evicts it and proves it cold, bench_device.c
 * knows the machine below it and sets it, bench_child.c starts one program and bench_run.c
 * counts what it did, bench_cached.c looks at what is cached meanwhile,
 * bench_report.c and bench_json.c print; cmd_bench.c leads.  Functions return 0 or a
 * negative errno, and have said what is wrong.
 */
#ifndef WN_BENCH_H
#define WN_BENCH_H

#include "tool.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

enum bench_metric {
#define WN_METRIC(id, name, shown, scale, digits) METRIC_##id,
#include "metrics.def"
	METRICS
};

enum bench_counter {
#define WILLNEED_COUNTER(name, help) COUNTER_##name,
#include "willneed-counters.h"
#undef WILLNEED_COUNTER
	COUNTERS
};

enum bench_variant { VARIANT_BARE, VARIANT_WILLNEED, VARIANT_LIMIT, VARIANTS };
enum bench_state { STATE_COLD, STATE_WARM };
enum bench_copies { COPIES_VECTOR, COPIES_OWN };
enum bench_length { LENGTH_QUICK, LENGTH_FULL };
enum bench_reference { OF_NOTHING, OF_LIMIT, OF_BARE, OF_THREADS, OF_BYTES, OF_ONE };
enum bench_verdict { VERDICT_UNKNOWN, VERDICT_OK, VERDICT_OVER, VERDICT_MOOT };

/* Whether free memory is given back to the hypervisor while runs are measured. */
enum bench_reporting { REPORTING_NONE, REPORTING_OFF, REPORTING_ACTIVE };

enum {
	BARS_MAX = 6,
	RUNS_MAX = 101,
	CASES_MAX = 160,
	READ_AHEADS_MAX = 8,
	FILES_MAX = 16,
	BENCH_OUTPUT_MAX = 64 << 10,
};

struct bench_bar {
	enum bench_metric metric;
	double factor;
	enum bench_reference of;	/* OF_NOTHING ends the list */
	double plus;
	long from_kb, to_kb;		/* only at such a read_ahead_kb; to_kb 0: no end */
};

struct bench_case {
	const char *name, *group;
	enum bench_length length;
	enum bench_state state;
	enum bench_copies copies;
	const char *pattern, *limit;
	struct bench_bar bars[BARS_MAX + 1];
	char *const *command;		/* of the user, instead of a pattern */
};

struct bench_run {
	double metrics[METRICS];
	double counters[COUNTERS];
	char checksum[24];
};

/* What a finished program left. */
struct bench_harvest {
	char text[BENCH_OUTPUT_MAX];	/* of its output, the beginning */
	size_t length;
	uint64_t hash;			/* of all of its output */
	double wall, cached;
	int status;
	struct rusage usage;
};

/* The most that was cached of some files; peak is NAN where nobody asks or can tell. */
struct bench_cached {
	int fds[FILES_MAX];
	unsigned nfds;
	double peak;
};

/* A case at one read-ahead size. */
struct bench_outcome {
	const struct bench_case *c;
	long read_ahead_kb;		/* negative: not known */
	enum bench_reporting reporting;
	unsigned runs;			/* complete rounds */
	struct bench_run run[VARIANTS][RUNS_MAX];
	struct bench_run median[VARIANTS];
	char failed[256];		/* why there is no result; "" when there is one */
};

/* A number in a file of the kernel's that is set for a while. */
struct bench_knob {
	char path[128];			/* "": there is no such file */
	long before;			/* to be restored, if changed */
	bool changed;
};

struct bench_device {
	unsigned major, minor;
	char stat_path[128];		/* "": there is no such file */
	struct bench_knob read_ahead;
	struct bench_knob reporting;	/* of the whole machine */
};

struct bench_file {
	char path[PATH_MAX];
	uint64_t size;
	bool temporary;			/* made by us: to be removed */
};

struct bench {
	struct bench_file files[FILES_MAX]; /* all evicted; the limit reads the first */
	unsigned nfiles;
	struct bench_device device;
	char library[PATH_MAX], workload[PATH_MAX];
	char stats_path[PATH_MAX];	/* where the library leaves its counters */
	bool verify, ignore_output;
};

struct bench_args {
	bool json, quick, keep, verify, ignore_output;
	unsigned runs;
	uint64_t size;
	const char *only, *dir;
	long read_ahead[READ_AHEADS_MAX];
	unsigned read_aheads;
	const char *files[FILES_MAX];
	unsigned nfiles;
	char **command;
};

/* Set by SIGINT and its kin: stop, put everything back, go. */
extern volatile sig_atomic_t bench_stop;

/* bench_args.c */
/* Fills args, or ends the program with a line on what is wrong. */
void bench_args_parse(struct bench_args *args, int argc, char **argv);

/* bench_case.c */
extern const struct bench_case bench_cases[];
extern const size_t bench_case_count;
/* Is the case named, or its group, in a list separated by commas? */
bool bench_case_named(const struct bench_case *c, const char *list);
/* The most that a bar allows, NAN when what it refers to was not measured. */
double bench_bar_bound(const struct bench_outcome *o, const struct bench_bar *bar);
/*
 * What became of a bar.  MOOT, and *why: it says nothing here; UNKNOWN: what it is about
 * was not measured.
 */
enum bench_verdict bench_bar_judge(const struct bench_outcome *o,
				   const struct bench_bar *bar, const char **why);
/* The bar in words. */
void bench_bar_words(const struct bench_bar *bar, char *text, size_t size);
void bench_medians(struct bench_outcome *o);
/* Shares in [0, 1] of the library's own account, NAN when there is nothing to share. */
double bench_coverage(const struct bench_outcome *o);
double bench_accuracy(const struct bench_outcome *o);
double bench_timeliness(const struct bench_outcome *o);

/* bench_file.c */
/* Choose a scratch file of size bytes (0: what is sensible) in dir (NULL: found). */
int bench_file_plan(struct bench_file *f, const char *dir, uint64_t size, bool quick);
/* Make it, unless it is there from an earlier time. */
int bench_file_make(const struct bench_file *f);
int bench_file_take(struct bench_file *f, const char *path);
/* Bring the file into the state; *why tells in words what failed. */
int bench_file_prepare(const struct bench_file *f, enum bench_state state,
		       const char **why);
void bench_file_drop(struct bench_file *f, bool keep);

/* bench_device.c */
/* The device below a file, or below the directory of one that is not there yet. */
void bench_device_find(struct bench_device *d, const char *path);
/* Whether its read-ahead size can be set. */
int bench_device_check(const struct bench_device *d);
long bench_device_read_ahead(const struct bench_device *d);
int bench_device_set_read_ahead(struct bench_device *d, long kb);
/*
 * Free page reporting hands freed memory to the hypervisor, in blocks of 2 MiB and more,
 * a few seconds after a file was evicted; the next run pays for getting it back, and how
 * much is chance.  Switches it off where that is allowed, and tells how things stand.
 */
enum bench_reporting bench_device_stop_reporting(struct bench_device *d);
/* If that was the change: get so many bytes back now, not at the first run's cost. */
void bench_device_fetch_memory(const struct bench_device *d, uint64_t size);
/* Everything that was set is as it was. */
int bench_device_restore(struct bench_device *d);
/* Reads completed and bytes read since boot; false when nobody counts them. */
bool bench_device_count(const struct bench_device *d, double *reads, double *bytes);

/* bench_cached.c */
void bench_cached_begin(struct bench_cached *k, const struct bench *b,
			const struct bench_case *c);
/* Milliseconds until the next sample is due, or -1: never. */
int bench_cached_sample(struct bench_cached *k);
double bench_cached_end(struct bench_cached *k);

/* bench_child.c */
int bench_child_run(const struct bench *b, const struct bench_case *c,
		    enum bench_variant variant, char *const *argv,
		    struct bench_harvest *h);
void bench_catch_signals(void);

/* bench_run.c */
int bench_run_once(const struct bench *b, const struct bench_case *c,
		   enum bench_variant variant, struct bench_run *run, char *why,
		   size_t why_size);

/* bench_report.c, bench_json.c */
extern const char *const bench_variant_names[VARIANTS];
void bench_report(const struct bench *b, struct bench_outcome *const *outcomes,
		  size_t count);
int bench_report_json(const struct bench *b, struct bench_outcome *const *outcomes,
		      size_t count);

#endif

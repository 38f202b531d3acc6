/* SPDX-License-Identifier: MIT */
/*
 * willneed bench: what its rooms share.  bench_case.c knows the cases, bench_args.c the
 * options, bench_site.c the places where they run, bench_file.c makes files, evicts
 * them and proves them cold, bench_loop.c makes file systems, bench_device.c knows the
 * machine below and sets it, bench_lock.c keeps other benches away, bench_group.c makes
 * it slow or small, bench_child.c starts one program and bench_run.c counts what it
 * did, bench_cached.c looks at what is cached meanwhile, bench_estimate.c says how long
 * all will take, bench_measure.c repeats it, bench_report.c and bench_json.c print;
 * cmd_bench.c leads.  Functions return 0 or a negative errno, and have said what is
 * wrong.
 */
#ifndef WN_BENCH_H
#define WN_BENCH_H

#include "tool.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

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

enum bench_place_id {
#define WN_PLACE(id, ...) PLACE_##id,
#include "places.def"
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
	FILES_MAX = 64,
	SITES_MAX = 4,
	BENCH_OUTPUT_MAX = 64 << 10,
};

struct bench_bar {
	enum bench_metric metric;
	double factor;
	enum bench_reference of;	/* OF_NOTHING ends the list */
	double plus;
	long from_kb, to_kb;		/* only at such a read_ahead_kb; to_kb 0: no end */
};

/* What a case runs on; all zero: one file on the disk, as it is. */
struct bench_place {
	unsigned files;			/* so many, not one */
	const char *fs;			/* on a loop device, with this file system */
	long max_sectors_kb;		/* 0: as it is */
	long read_ahead_kb;		/* in a case 0, else negative: as it is */
	uint64_t mib;			/* of its file at most; 0: as many as asked for */
	uint64_t iops, rate;		/* reads and bytes a second at most; 0: no limit */
	uint64_t memory;		/* bytes of a cgroup; 0: no limit */
	unsigned memory_percent;	/* the same, of the file's size */
};

struct bench_case {
	const char *name, *group;
	enum bench_length length;
	enum bench_state state;
	enum bench_copies copies;
	const char *pattern, *limit;
	struct bench_bar bars[BARS_MAX + 1];
	enum bench_place_id place;
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

struct bench_file {
	char path[PATH_MAX];
	uint64_t size;
	unsigned number;		/* of several; each has its own data */
	bool temporary;			/* made by us: to be removed */
};

/* A case at one read-ahead size. */
struct bench_outcome {
	const struct bench_case *c;
	struct bench_place place;
	struct bench_file file;		/* the first that is read */
	long read_ahead_kb;		/* negative: not known */
	enum bench_reporting reporting;
	unsigned runs;			/* complete rounds */
	struct bench_run run[VARIANTS][RUNS_MAX];
	struct bench_run median[VARIANTS];
	char failed[256];		/* why there is no result; "" when there is one */
	bool skipped;			/* for a reason that is no fault */
};

/* A number in a file of the kernel's that is set for a while. */
struct bench_knob {
	char path[128];			/* "": there is no such file */
	long before, ours;		/* to be restored, if changed and still ours */
	bool changed;
};

struct bench_device {
	unsigned major, minor;
	unsigned disk_major, disk_minor; /* of the whole disk */
	char stat_path[128];		/* "": there is no such file */
	struct bench_knob read_ahead, max_sectors;
};

struct bench_loop {
	char mount[PATH_MAX], fs[16];
	dev_t device;
	bool mounted;
};

struct bench_site {
	struct bench_file files[FILES_MAX]; /* all evicted; the limit reads the first */
	unsigned nfiles;
	struct bench_device device;
	struct bench_loop loop;
	bool ready;
};

struct bench_group {
	char dirs[2][PATH_MAX];
	unsigned ndirs;
};

struct bench {
	struct bench_site sites[SITES_MAX];
	struct bench_site *site;	/* of the case that is measured */
	struct bench_group group;
	struct bench_knob reporting;
	char dir[PATH_MAX];		/* where files are made, so large */
	uint64_t size;
	char library[PATH_MAX], workload[PATH_MAX];
	char stats_path[PATH_MAX];	/* where the library leaves its counters */
	bool verify, ignore_output, keep;
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
	struct bench_place place;	/* what was asked for, instead of the cases' own */
	bool throttle;			/* its iops and rate, even if 0 */
	char **command;
};

/* Set by SIGINT and its kin: stop, put everything back, go. */
extern volatile sig_atomic_t bench_stop;

/* bench_args.c */
/* Fills args, or ends the program with a line on what is wrong. */
void bench_args_parse(struct bench_args *args, int argc, char **argv);

/* bench_case.c */
extern const struct bench_place bench_places[];
extern const struct bench_case bench_cases[];
extern const size_t bench_case_count;
/* Is the case named, or its group, in a list separated by commas? */
bool bench_case_named(const struct bench_case *c, const char *list);
/* What the cases of its group do, in words; NULL for a command of the user's. */
const char *bench_group_words(const struct bench_case *c);
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
/* Sorts them.  Not known of one is not known at all. */
double bench_median(double *values, unsigned count);
void bench_medians(struct bench_outcome *o);
/* Shares in [0, 1] of the library's own account, NAN when there is nothing to share. */
double bench_coverage(const struct bench_outcome *o);
double bench_accuracy(const struct bench_outcome *o);
double bench_timeliness(const struct bench_outcome *o);

/* bench_file.c */
/* Choose a size (0: what is sensible) and a folder (NULL: found) for what is made. */
int bench_plan(struct bench *b, const char *dir, uint64_t size, bool quick);
/* Has the folder room for those of the files that are not there? */
bool bench_file_room(const struct bench_file *files, unsigned count, const char *dir);
/* Make it, unless it is there from an earlier time; says nothing. */
int bench_file_make(const struct bench_file *f);
int bench_file_take(struct bench_file *f, const char *path);
/* Bring the file into the state; *why tells in words what failed. */
int bench_file_prepare(const struct bench_file *f, enum bench_state state,
		       const char **why);
void bench_file_drop(struct bench_file *f, bool keep);

/* bench_device.c */
/*
 * The device below a file, or below the directory of one that is not there yet; block is
 * the block device if that is known (else 0): some file systems do not tell.
 */
void bench_device_find(struct bench_device *d, const char *path, dev_t block);
/* Whether its read-ahead size can be set. */
int bench_device_check(const struct bench_device *d);
long bench_device_read_ahead(const struct bench_device *d);
/* max_sectors_kb 0, read_ahead_kb negative: as it is.  Says nothing. */
int bench_device_set(struct bench_device *d, long max_sectors_kb, long read_ahead_kb);
/*
 * Free page reporting hands freed memory to the hypervisor, in blocks of 2 MiB and more,
 * a few seconds after a file was evicted; the next run pays for getting it back, and how
 * much is chance.  Switches it off where that is allowed, and tells how things stand.
 */
enum bench_reporting bench_reporting_stop(struct bench_knob *k);
int bench_reporting_restore(struct bench_knob *k);
/* If that was the change: get so many bytes back now, not at the first run's cost. */
void bench_reporting_fetch_memory(const struct bench_knob *k, uint64_t size);
/*
 * Everything that was set is as it was, but for what somebody else has set since: that is
 * left alone, and told.
 */
int bench_device_restore(struct bench_device *d);
/* Reads completed and bytes read since boot; false when nobody counts them. */
bool bench_device_count(const struct bench_device *d, double *reads, double *bytes);

/*
 * bench_site.c: functions that fail tell in why what is wrong, and say nothing.
 * A place with its files; NULL when it cannot be made.
 */
struct bench_site *bench_site_get(struct bench *b, const struct bench_place *p, char *why,
				  size_t why_size);
void bench_site_drop(struct bench_site *s, bool keep);
/* What the case asks for, and above that what the user does (negative: nothing). */
struct bench_place bench_place_of(const struct bench_args *args,
				  const struct bench_case *c, long read_ahead_kb);
/* The device of b->site is as the place says, until it is left. */
int bench_place_set(struct bench *b, struct bench_place *p, char *why, size_t why_size);
void bench_place_leave(struct bench *b);
/* Everything in it that is not as always, each with a comma before it. */
void bench_place_words(const struct bench_place *p, char *text, size_t size);

/* bench_lock.c */
/*
 * No other bench uses this file or folder until this process has ended; says for whom it
 * waits.  0, or -EINTR when it was stopped meanwhile.
 */
int bench_lock(const char *path);

/* bench_loop.c */
bool bench_loop_knows(const char *fs);
int bench_loop_make(struct bench_loop *l, const char *dir, const char *fs, uint64_t size,
		    char *why, size_t why_size);
void bench_loop_drop(struct bench_loop *l);

/* bench_group.c: a group is for one run: none inherits what another has evicted. */
int bench_group_make(struct bench_group *g, const struct bench_place *p,
		     const struct bench_device *d, char *why, size_t why_size);
/* In the child. */
int bench_group_join(const struct bench_group *g);
/* Page faults and reads of what had been evicted before its time, NAN: not counted. */
double bench_group_refaults(const struct bench_group *g);
void bench_group_drop(struct bench_group *g);

/* bench_cached.c */
void bench_cached_begin(struct bench_cached *k, const struct bench *b,
			const struct bench_case *c);
/* Milliseconds until the next sample is due, or -1: never. */
int bench_cached_sample(struct bench_cached *k);
double bench_cached_end(struct bench_cached *k);

/* bench_child.c */
double bench_now(void);			/* in seconds, from some time on */
int bench_child_run(const struct bench *b, const struct bench_case *c,
		    enum bench_variant variant, char *const *argv,
		    struct bench_harvest *h);
void bench_catch_signals(void);

/* bench_run.c */
int bench_run_once(struct bench *b, const struct bench_case *c,
		   const struct bench_place *p, enum bench_variant variant,
		   struct bench_run *run, char *why, size_t why_size);

/* bench_estimate.c */
/* Says how many runs there will be, and about how long they take, where that can be told. */
void bench_estimate(const struct bench *b, const struct bench_args *args,
		    const struct bench_case *const *cases, unsigned count);

/* bench_measure.c */
/*
 * A case in a place, so many rounds; NULL without memory.  In a place that the user has
 * not asked for it may be skipped.
 */
struct bench_outcome *bench_measure(struct bench *b, const struct bench_args *args,
				    const struct bench_case *c, long read_ahead_kb,
				    unsigned at, unsigned of);

/* bench_report.c, bench_json.c */
extern const char *const bench_variant_names[VARIANTS];
void bench_report(const struct bench *b, struct bench_outcome *const *outcomes,
		  size_t count);
int bench_report_json(struct bench_outcome *const *outcomes, size_t count);

#endif

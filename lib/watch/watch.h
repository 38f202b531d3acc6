/* SPDX-License-Identifier: MIT */
/*
 * watch.h - seeing the page faults of plain loads, which call nothing of ours.
 * Calls base, track, options and stats; used by the helper only, whose descriptor table
 * holds all that is opened here.  Promises: anything that fails in any way is done without,
 * and counted; what is seen is a hint, and some of it is missed.
 *
 * There are three senses, and the first that works is taken: perf's events, which tell
 * each fault (taps.h), and two ways to look into the page table now and then, which tell
 * how far a reader has come (scan.h).  Setting perf up takes the kernel a while, which the
 * waker waits for; until then the page table is looked at.
 */
#ifndef WN_WATCH_H
#define WN_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "stats.h"
#include "watch/scan.h"
#include "watch/taps.h"

#define WN_NO_TAP UINT32_MAX

struct wn_fault {
	uint64_t addr;
	uint64_t ns;	 /* when, by CLOCK_MONOTONIC */
	uint32_t thread; /* kernel thread id; of the process where it is not known */
	uint32_t tap;	 /* or WN_NO_TAP: the page table has shown it */
	bool major; /* its page was not in the cache */
};

/* What the helper has that watching takes. */
struct wn_watch_use {
	const struct wn_options *options;
	struct willneed_stats *stats;
	const struct wn_track *track;
	uint32_t *sleeping; /* the futex that the helper sleeps on */
	char *stack_top;    /* for the waker */
};

struct wn_watch {
	enum wn_watch_choice sense; /* WN_WATCH_AUTO: none has been tried yet */
	struct wn_taps taps;
	struct wn_waker waker;
	struct wn_scan scan;
	uint64_t began_ns; /* when perf was ready */
	uint64_t rest_ns; /* how long to sleep when nothing happens */
	bool armed;
	bool eager;  /* perf is ready since a moment ago */
	bool failed; /* for good */
	bool last_look; /* at the page table: from now on perf tells */
	bool busy;   /* the program reads what is not cached */
};

/*
 * Looks after what is open: new threads, pauses that end, the page table.  False: nothing
 * can be seen in this process.
 */
bool wn_watch_tend(struct wn_watch *w, const struct wn_watch_use *u, uint64_t now_ns);

/* The next fault that was seen, if any. */
bool wn_watch_next(struct wn_watch *w, struct wn_fault *out);

/* Was a fault worth looking at?  When too many are not, they are not looked at for a while. */
void wn_watch_judge(struct wn_watch *w, uint32_t tap, bool useful, uint64_t now_ns);

/* Of the minor faults of this thread one in so many is of interest; 0: none. */
void wn_watch_closer(struct wn_watch *w, uint32_t thread, uint32_t period);

/* Before so many nanoseconds are over there will be no fault to be seen. */
uint64_t wn_watch_soonest(const struct wn_watch *w, uint64_t now_ns);

/* The helper is about to sleep for ns: for how long it may. */
uint64_t wn_watch_rest(const struct wn_watch *w, uint64_t ns);
/* And once it has said so: is there anything to see? */
bool wn_watch_news(const struct wn_watch *w);
/* It has slept that long, and nobody has woken it. */
void wn_watch_quiet(struct wn_watch *w);

void wn_watch_close(struct wn_watch *w);

#endif

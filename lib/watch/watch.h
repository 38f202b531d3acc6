/* SPDX-License-Identifier: MIT */
/*
 * watch.h - seeing the page faults of plain loads, which call nothing of ours.
 * Calls base, options and stats; used by the helper only, whose descriptor table holds all
 * that is opened here.  Promises: anything that fails in any way is off for the process,
 * and counted; what is seen is a hint, and some of it is missed.
 *
 * A thread of the program is watched through a tap: software events of the kernel, which
 * leave the address of a fault in a small ring.  Looking costs the thread about a
 * microsecond a fault, so a tap in which nothing useful is found is shut for a while, and
 * each time for longer.
 */
#ifndef WN_WATCH_H
#define WN_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "stats.h"

enum { WN_TAPS = 64 };

struct wn_fault {
	uint64_t addr;
	uint64_t ns;	 /* when, by CLOCK_MONOTONIC */
	uint32_t thread; /* kernel thread id */
	uint32_t tap;
	bool major; /* its page was not in the cache */
};

struct wn_tap {
	uint64_t paused_until; /* 0: it is open */
	uint64_t pause_ns;     /* how long the last pause was */
	uint64_t opened_ns;    /* when the last pause ended */
	char *ring;
	uint64_t major_id; /* of the event, in the ring */
	uint32_t thread; /* 0: a free place */
	uint32_t major1; /* descriptors, plus one */
	uint32_t minor1;
	uint32_t useless; /* faults, less what useful ones make up for */
	uint32_t closer;  /* one in so many minor faults is looked at; 0: none */
	bool seen;	  /* its thread was in the last list */
	bool ended;	  /* its thread is gone */
};

struct wn_watch {
	struct wn_tap tap[WN_TAPS];
	uint32_t used;	  /* no tap from here on is in use */
	uint32_t next;	  /* whose ring to read next */
	uint32_t signal1; /* descriptor, plus one: how the program's threads wake us */
	uint64_t listed_ns;
	uint64_t threads; /* how many there were when they were listed last */
	uint64_t rest_ns; /* how long to sleep when nothing happens */
	uint32_t deaf;	  /* for so many rests no signal can wake us */
	bool heard;	  /* a signal ended the last rest */
	bool armed;
	bool failed;	  /* for good */
};

/*
 * Opens what is missing, finds new threads, and ends pauses.  False: nothing can be seen
 * in this process.
 */
bool wn_watch_tend(struct wn_watch *w, const struct wn_options *o,
		   struct willneed_stats *stats, uint64_t now_ns);

/* The next fault that was seen, if any. */
bool wn_watch_next(struct wn_watch *w, struct wn_fault *out);

/* Was a fault worth looking at?  Shuts the tap when too many were not. */
void wn_watch_judge(struct wn_watch *w, uint32_t tap, bool useful, uint64_t now_ns);

/* Of the minor faults of this thread one in so many is of interest; 0: none. */
void wn_watch_closer(struct wn_watch *w, uint32_t thread, uint32_t period);

/*
 * Sleeps until a major fault, until wn_watch_wake(), or for so long; only while armed.
 * The helper sleeps in ppoll() then, where no futex can reach it, and threads of the program
 * cannot have a descriptor of ours.  So they send it a signal, which it blocks, and which
 * it finds readable through a descriptor in its own table: no handler ever runs.
 */
void wn_watch_wait(struct wn_watch *w, uint64_t ns);
/* After that: was a signal sent to us for certain?  Then it is taken. */
void wn_watch_woken(struct wn_watch *w, bool sent);
void wn_watch_wake(uint32_t helper_tid);

void wn_watch_close(struct wn_watch *w);

/* perf.c: a tap for w->tap[i].thread; 0 or a negative errno. */
int wn_tap_open(struct wn_tap *t);
int wn_tap_open_minor(struct wn_tap *t);
void wn_tap_run(struct wn_tap *t, bool on);
void wn_tap_period(struct wn_tap *t); /* as t->closer says */
bool wn_tap_read(struct wn_tap *t, struct wn_fault *out);
void wn_tap_close(struct wn_tap *t);

#endif

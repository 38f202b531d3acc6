/* SPDX-License-Identifier: MIT */
/*
 * runtime.h - birth, memory, dormancy, death: the only room that knows all rooms.
 * Everything may be called from any thread.  Promises: nothing is allocated before a file
 * mapping worth watching exists; a forked child starts with empty state of its own; once
 * dormant for good, the process is left alone for good.
 */
#ifndef WN_RUNTIME_H
#define WN_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "cover.h"
#include "drop.h"
#include "engine.h"
#include "options.h"
#include "policy.h"
#include "reads.h"
#include "ring.h"
#include "stats.h"
#include "stream.h"
#include "stride.h"
#include "track/mapping.h"
#include "walk.h"
#include "watch/watch.h"
#include "whole.h"
#include "written.h"

enum { WN_REQUESTS = 64, WN_TALLIES = 16 };

/* Counters that many threads add to at a time; see repeat.c. */
struct wn_tally {
	_Alignas(64) uint64_t calls;
	uint64_t answered;
};

/* A range that the API asked for, on its way to the helper. */
struct wn_request {
	uint32_t phase; /* enum wn_request_phase: written by whoever owns that phase */
	uint32_t thread; /* that asked: the program's descriptors can be reached through it */
	uint16_t file;	/* holds a reference */
	uint64_t ticket; /* the order of arrival */
	uint64_t from;
	uint64_t to;
};

enum wn_request_phase { WN_REQUEST_FREE, WN_REQUEST_FILLING, WN_REQUEST_READY };

/* Zeroed by the kernel in a forked child, and valid then. */
struct wn_state {
	/* The helper; see helper.h. */
	uint32_t pid;	       /* of the process that may have a helper; 0: not known yet */
	uint32_t helper_tid;   /* zeroed by the kernel when the thread is gone */
	uint32_t helper_start; /* 1: somebody is starting it */
	uint32_t helper_denied; /* threads cannot be had here: never try again */
	uint32_t sleeping;     /* 1 while the helper sleeps on this futex */
	uint32_t helper_last;  /* its id even then, until it is known to be gone */
	uint32_t ending;       /* it is about to end for want of work */
	uint32_t tight;	       /* memory is so short that nothing is asked for */
	uint32_t bite;	       /* what a thread may ask for itself at a time; 0: not limited */
	uint32_t released;     /* how often a file has lost its last reference */
	uint32_t closed;       /* and what has been acted upon */
	uint32_t watching;     /* page faults are to be watched */
	uint32_t watch_woken;  /* when a new mapping last woke the helper; see watch.c */
	uint64_t progress;     /* bytes that cold readers have reported */
	uint64_t wake_at;      /* at which progress the helper wants to be woken */
	uint64_t tickets;
	uint32_t ticked; /* in cycles: when a thread of the program last looked at the clock */
	struct wn_tally tally[WN_TALLIES];
	struct wn_request request[WN_REQUESTS];
	struct wn_track_lock lock;
	struct willneed_stats stats;
	struct wn_ring ring;
	struct wn_cover cover;
	struct wn_drops drops;
	struct wn_writtens written;
	struct wn_reads reads;
	/* The helper's own. */
	struct wn_streams streams;
	struct wn_walks walks;
	struct wn_strides strides;
	struct wn_wholes wholes;
	struct wn_watch watch;
	struct wn_engine engine;
	struct wn_policy policy;
};

struct wn_runtime {
	struct wn_options options;
	struct wn_arena arena;
	struct wn_track *track; /* NULL until there is something to track */
	struct wn_state *state;
	uint32_t dormant;	/* for good */
	uint32_t stops;		/* while not 0 there must be no helper; see helper.h */
	uint32_t shadowed;	/* another copy of the engine is the one at work */
	size_t *copy_min;	/* the preload library's gates; see front/front.h */
	size_t *plain_reads;
	size_t no_gate;
	void *(*copy)(void *dst, const void *src, size_t n); /* the best that is known */
};

extern struct wn_runtime wn_rt;

/* The state when it exists and may be used, else NULL. */
static inline struct wn_state *wn_awake(void)
{
	return wn_load(&wn_rt.dormant) ? NULL : wn_load_acquire(&wn_rt.state);
}

static inline enum wn_mode wn_mode(void)
{
	return (enum wn_mode)wn_load(&wn_rt.options.value[WN_OPT_MODE]);
}

/* Creates it at the first call: 0, -ECANCELED (dormant or off) or -ENOMEM. */
int wn_wake_up(struct wn_state **state);

/*
 * The preload library is there: *copy_min is its threshold in front of copies, *plain_reads
 * tells whether reads need no more than their grants, and copy is the program's memmove().
 */
void wn_attach(size_t *copy_min, size_t *plain_reads,
	       void *(*copy)(void *dst, const void *src, size_t n));

/*
 * Sets these gates, the one in front of copies open while there is something to be found
 * behind it.
 */
void wn_set_gate(void);

/* May the kernel be asked for pages, as far as the settings go? */
bool wn_may_ask(void);

/* The helper ends, the state is left alone, and wrappers are tail calls from now on. */
void wn_sleep_for_good(void);

struct wn_kernel wn_kernel_of(struct wn_state *st);

/* Below the helper's own, for the thread that wakes it. */
char *wn_waker_stack(void);

/* Tells the cover the time, when a thread of the program is about to believe it; cheap. */
void wn_tick(struct wn_state *st);

/*
 * A file lost its last user: the helper lets go of it.  This is waited for, two
 * milliseconds at most and only if it has a file open, so that the program's next step
 * (umount, a lease) finds it closed.
 */
void wn_released(struct wn_state *st);

#endif

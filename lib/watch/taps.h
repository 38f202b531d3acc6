/* SPDX-License-Identifier: MIT */
/*
 * taps.h - page faults as the kernel's perf events tell them, one by one.
 * Calls base, waker and watch.h.  A thread of the program is watched through a tap: two
 * software events, which leave the address of a fault in a small ring.  Looking costs the
 * thread about a microsecond a fault, and waking us far more, so a tap in which nothing
 * useful is found is shut for a while, and each time for longer.  Then it is open for a few
 * faults that wake nobody.
 */
#ifndef WN_TAPS_H
#define WN_TAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "watch/waker.h"

struct wn_fault;

enum { WN_TAPS = 64 };

struct wn_tap {
	uint64_t paused_until; /* 0: it is open */
	uint64_t pause_ns;     /* how long the last pause was */
	char *ring;
	uint64_t major_id; /* of the event, in the ring */
	uint64_t quiet_id; /* the same of one that wakes nobody */
	uint32_t thread; /* 0: a free place */
	uint32_t major1; /* descriptors, plus one */
	uint32_t minor1;
	uint32_t quiet1;
	uint32_t useless; /* faults, less what useful ones make up for */
	uint32_t closer;  /* one in so many minor faults is looked at; 0: none */
	bool waits;	  /* its thread is new: no event is open yet */
	bool seen;	  /* its thread was in the last list */
	bool ended;	  /* its thread is gone */
	bool quiet;	  /* it is open for a few faults */
};

struct wn_taps {
	struct wn_tap tap[WN_TAPS];
	uint32_t used; /* no tap from here on is in use */
	uint32_t next; /* whose ring to read next */
	uint64_t peek_ns; /* when to look at those that are open for a few faults */
	uint64_t peek_rest_ns;
	uint64_t listed_ns;
	uint64_t list_cost_ns; /* what the last list took of the processor */
	uint32_t opened;   /* taps, by that list */
	uint64_t threads;  /* how many there were when they were listed last */
	bool waiting;	   /* some of these have no tap yet */
	bool useful;	   /* some fault was, since then */
	bool shut;	   /* some tap is or was, and no fault was of use since */
};

/*
 * Opens taps for new threads, and ends pauses; *news when there were new threads.  0, or
 * the error because of which no thread can be watched here.
 */
int wn_taps_tend(struct wn_taps *p, struct wn_waker *k, uint64_t now_ns, bool *news);
bool wn_taps_next(struct wn_taps *p, struct wn_fault *out);
void wn_taps_judge(struct wn_taps *p, uint32_t tap, bool useful, uint64_t now_ns);
void wn_taps_closer(struct wn_taps *p, uint32_t thread, uint32_t period);
/* When the next pause ends, or a quiet tap is to be looked at; UINT64_MAX for never. */
uint64_t wn_taps_due(const struct wn_taps *p);
void wn_taps_close(struct wn_taps *p);

/*
 * perf.c: an event of the calling thread that counts nothing: its descriptor, or a negative
 * errno.  The first event of a machine that watches a thread takes the kernel 10 to 30 ms
 * (it waits for all CPUs to have seen that there is one), all others microseconds; and a
 * second after the last one is closed, the next is the first again.
 */
int wn_tap_first(void);
/* The events of t->thread; 0 or a negative errno. */
int wn_tap_open(struct wn_tap *t);
int wn_tap_open_minor(struct wn_tap *t);
/* Its major faults, without a wake-up: false if that does not work. */
bool wn_tap_run_quiet(struct wn_tap *t);
void wn_tap_run(struct wn_tap *t, bool on);
void wn_tap_period(struct wn_tap *t); /* as t->closer says */
bool wn_tap_read(struct wn_tap *t, struct wn_fault *out);
/* Forgets what is in the ring. */
void wn_tap_skip(struct wn_tap *t);
void wn_tap_close(struct wn_tap *t);

#endif

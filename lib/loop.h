/* SPDX-License-Identifier: MIT */
/*
 * loop.h - one round of the helper's work, without the thread.
 * Calls stream, policy and engine and connects them: records and requests go in, orders
 * come out.  Never sleeps; used by one thread at a time (the helper, or a test).
 */
#ifndef WN_LOOP_H
#define WN_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "engine.h"
#include "policy.h"

struct wn_state;

struct wn_loop {
	struct wn_state *st;
	struct wn_kernel k;
	uint64_t now;
	uint64_t worked; /* when there was something to do last */
	uint64_t cpu;	 /* as reported in the counters */
	uint32_t thread; /* one of the program's */
};

/*
 * Everything that is new, then everything that goes on: after how many nanoseconds to look
 * again if nobody wakes us, UINT64_MAX when nothing is going on.
 */
uint64_t wn_loop_round(struct wn_loop *l);

/* What is ahead of all streams, and how many there are: they share the budget. */
void wn_streams_share(const struct wn_streams *t, struct wn_bounds *b);

/* Is there something that the next round should see at once? */
bool wn_loop_news(struct wn_state *st);

/* The program's threads wake us when they have come a quarter of the smallest lead on. */
void wn_loop_set_alarm(struct wn_loop *l);

/*
 * The way out.  Everything is closed first, since the table outlives the thread by a
 * moment.
 */
void wn_loop_end(struct wn_loop *l);

#endif

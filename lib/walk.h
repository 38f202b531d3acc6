/* SPDX-License-Identifier: MIT */
/*
 * walk.h - which page faults, or reads, belong together, and where they lead.
 * Calls base and flow.h; the helper's own.  A walk is a reader's way through a file, up or
 * down, as far as faults show it: the kernel maps a neighbourhood at each fault and reads
 * ahead at some, so a reader that touches every page is seen now and then only.
 *
 * What joins two faults is therefore not that they are neighbours, but that the kernel,
 * on its own, would have read all that lies between them.  Then a walk that is helped reads
 * no more than the same one without help, but for what is ahead when it ends.
 *
 * Reads through a descriptor tell where they begin and end, and make walks of their own.
 */
#ifndef WN_WALK_H
#define WN_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "flow.h"

enum {
	WN_WALKS = 64,
	/*
	 * A walk is believed after so many steps in one direction; a step that is as long as
	 * the one before it, or to the next page, counts twice, since random pages do that
	 * hardly ever.
	 */
	WN_WALK_STEPS = 4,
	/* The same where the program has said that it reads at random: dozens of pages. */
	WN_WALK_PROOF = 96,
};

struct wn_walk {
	uint64_t begin;	   /* its first fault */
	uint64_t pos;	   /* the page where its reader was seen last */
	uint64_t stride;   /* length of the last step */
	uint64_t passed;   /* bytes from where it began */
	uint64_t lead;	   /* how far ahead of its reader to be, upward */
	uint64_t stretch;  /* what it has gone through in 50 ms; 0: not known */
	uint64_t gauge;	   /* where that was measured last, */
	uint64_t gauge_ns; /* and when; 0: not yet */
	uint64_t landed;   /* and up to here it has arrived, as far as is known */
	uint64_t edge;	   /* asked for: from here to pos, or up to here when it goes up */
	uint64_t first;	   /* where asking began */
	uint64_t settled;  /* what edge was a while ago: faults up to here came after it */
	uint64_t settled_ns;
	uint64_t told1;	   /* plus one: up to here whole.h knows of it; 0: nothing */
	uint64_t began_ns;
	uint64_t used_ns;
	uint32_t thread;
	uint32_t serial;   /* of the file slot */
	uint16_t file;
	uint16_t steps;	   /* how far it can be believed */
	bool down;
	bool live;
	bool asking;	   /* edge means something */
	bool stirred;	   /* it came on since it was served */
	bool cached;	   /* when it was served last, nothing ahead of it was missing */
	bool doubted;	   /* it is to prove itself: it should not be one */
	bool alone;	   /* no readahead of the kernel's goes before it */
	bool vain;	   /* too fast for the end of its file to be asked for */
	bool huge;	   /* its folios are huge, and should stay so */
	/* Of reads through a descriptor only. */
	bool read;
	int32_t trend;	   /* above 0: it goes up */
	uint64_t low;	   /* it has come to all parts of these */
	uint64_t high;
	uint64_t taken;	   /* bytes that were read there */
	uint64_t habit;	   /* how long a walk in this file was before; 0: not known */
	uint32_t reads;	   /* how many they were */
	uint64_t piece;	   /* how long the last one was, if its thread asks for it; else 0 */
	uint32_t crowd;	   /* how often, lately, large pieces came from another thread */
};

struct wn_walks {
	struct wn_walk slot[WN_WALKS];
	uint32_t used; /* no slot from here on is live */
};

/* How far from each other two faults of one walk can be. */
struct wn_gaps {
	uint64_t major; /* what the kernel reads at a major fault, and a little */
	uint64_t minor; /* what lies between two minor faults that are seen */
};

/*
 * Takes a fault in: the walk that it continues, or began, or -1 if it is of no use.
 * *joined tells whether it continued one.  retired() is called before a slot is reused.
 */
int wn_walk_fault(struct wn_walks *t, const struct wn_access *a, const struct wn_gaps *g,
		  uint32_t serial, uint64_t now_ns, bool *joined,
		  void (*retired)(void *ctx, int index), void *ctx);

/*
 * The same for a read through a descriptor.  Pieces may come out of order, from several
 * threads, and with gaps in between; then it is led once most of what it passes is read.
 */
int wn_walk_read(struct wn_walks *t, const struct wn_access *a, uint32_t serial,
		 uint64_t now_ns, void (*retired)(void *ctx, int index), void *ctx);

/* Has it gone far enough to tell that it is not going to read all that it passes? */
bool wn_walk_leaves_gaps(const struct wn_walks *t, int index);
/* Do so many threads go that way, with pieces so large, that it need not be led? */
bool wn_walk_crowded(const struct wn_walks *t, int index);

/* An unused slot, or the one that may best be given up. */
int wn_walk_room(struct wn_walks *t, void (*retired)(void *ctx, int index), void *ctx);

/* Bytes that have been asked for and that its reader has not come to. */
uint64_t wn_walk_ahead(const struct wn_walk *w);

/*
 * How long the blocks are in which one that goes down is served: a quarter of what may be
 * ahead, so that three are under way while the reader is in the last one; half, if less is
 * too short for a ride.
 */
uint64_t wn_walk_block(uint64_t unit, uint64_t may);

/*
 * What to ask for now; false for nothing.  unit: what the engine asks for at a time;
 * floor: what the kernel itself would read at a fault; most: how far ahead it may be.
 * Never further ahead than it has come, or than `floor`.
 */
bool wn_walk_order(const struct wn_walk *w, uint64_t unit, uint64_t floor, uint64_t most,
		   uint64_t file_size, struct wn_order *o);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * whole.h - files that are read as a whole, but in no order that a reader's way tells.
 * Calls base and flow.h; the helper's own, pure arithmetic.  Tensors in shuffled order, walks
 * through a tree: each way is short, and where the next one begins nobody can tell; but all
 * of the file will be read.  So what nobody has read yet is fetched in the order of the file.
 *
 * The evidence is ways that were read through, begin where nothing near was read, and go
 * on both up and down the file.  Single pages, however many, are no evidence, but count
 * against it.  Promises: only what lies between places that were read; never more that
 * waits to be read than has been read; at most once for a file as long as it is known.
 */
#ifndef WN_WHOLE_H
#define WN_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "flow.h"

enum {
	/* Files that are looked at: the one that was quiet for longest is forgotten. */
	WN_WHOLES = 4,
	WN_WHOLE_REGIONS = 1024,
	/* Each region has so many cells, of 64 KiB in files of up to 2 GiB. */
	WN_WHOLE_CELLS = 32,
};

struct wn_whole {
	uint64_t size;	   /* of the file, when it was met */
	uint64_t cell;	   /* bytes */
	uint64_t read;	   /* cells that somebody has read on his way */
	uint64_t strays;   /* faults and reads that are of no way */
	uint64_t last;	   /* where a way has begun last, away from all others */
	uint64_t threads[4]; /* a bit for each that was seen */
	uint64_t used_ns;
	uint32_t up, down; /* where the next way began: further up or down than the last one */
	uint32_t low, high; /* regions: all that was read lies in [low, high) */
	uint32_t serial;   /* of the file slot */
	uint16_t file;
	bool live;
	/* What was done about it. */
	bool fetching;
	bool over;	   /* it has been, and is not done again */
	uint64_t asked;	   /* cells that were fetched, */
	uint64_t hits;	   /* those of them that were read afterwards, */
	uint64_t misses;   /* and those that were missing then */
	uint64_t due;	   /* 1/256 cells: hits to be expected, if all of it is read */
	uint64_t edge;	   /* asked for up to here, and going on from here */
	uint64_t landed;   /* up to here it has arrived, as far as is known */
	uint32_t cells[WN_WHOLE_REGIONS]; /* a bit for each cell that was read */
	uint32_t ours[WN_WHOLE_REGIONS / 32]; /* a bit for each region that was fetched */
};

struct wn_wholes {
	struct wn_whole slot[WN_WHOLES];
};

/* What is known of a file, or NULL. */
struct wn_whole *wn_whole_of(struct wn_wholes *t, uint16_t file, uint32_t serial);
/* The same, begun if need be; retired() is called before a slot is reused.  NULL: too small. */
struct wn_whole *wn_whole_meet(struct wn_wholes *t, uint16_t file, uint32_t serial,
			       uint64_t size, uint64_t now_ns,
			       void (*retired)(void *ctx, int index), void *ctx);

/* All of this range has been read by a thread on its way. */
void wn_whole_passed(struct wn_whole *w, uint32_t thread, uint64_t from, uint64_t to,
		     uint64_t now_ns);
/* A fault or a read of no way; missing: it had to be read. */
void wn_whole_stray(struct wn_whole *w, uint64_t offset, bool missing);

/* Is all that lies between its readers going to be read? */
bool wn_whole_proven(const struct wn_whole *w);
/* It is being fetched: is what was fetched used? */
bool wn_whole_pays(const struct wn_whole *w);

/* Bytes from the first to the last place that was read. */
uint64_t wn_whole_span(const struct wn_whole *w);
/* Bytes that nobody has read between its readers, and those of them that were fetched. */
uint64_t wn_whole_unread(const struct wn_whole *w);
uint64_t wn_whole_ahead(const struct wn_whole *w);

/*
 * What to fetch next, behind w->edge; most: bytes that may wait to be read.  False: nothing
 * now, or nothing more when nothing is left.
 */
bool wn_whole_order(const struct wn_whole *w, uint64_t unit, uint64_t most,
		    struct wn_order *o);
/* It has been asked for up to there. */
void wn_whole_asked(struct wn_whole *w, uint64_t from, uint64_t to);

#endif

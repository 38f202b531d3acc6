/* SPDX-License-Identifier: MIT */
/*
 * stride.h - page faults that are equally far from each other, and too far for a walk.
 * Calls base and flow.h; the helper's own.  A reader of records takes a page, or a few, and
 * goes on by the same step: what it takes is asked for exactly, and nothing between.  At a
 * fault the kernel itself would read around it, so this reads less than without us.
 */
#ifndef WN_STRIDE_H
#define WN_STRIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "flow.h"

enum {
	WN_STRIDES = 16,
	/* So many equal steps make a stride; random pages do not do that. */
	WN_STRIDE_STEPS = 4,
	/* The most records that are asked for ahead, and never more than have been read. */
	WN_STRIDE_AHEAD = 64,
};

struct wn_stride {
	uint64_t last;	 /* the first page of the record where the reader is */
	uint64_t before; /* where it was seen before the last fault */
	uint64_t edge;	 /* the first one of the furthest that was asked for */
	uint64_t length; /* of a record, as far as faults have shown it */
	uint64_t used_ns;
	int64_t step;
	uint32_t thread;
	uint32_t serial; /* of the file slot */
	uint16_t file;
	bool live;
	uint32_t steps; /* how often it was the same */
};

struct wn_strides {
	struct wn_stride slot[WN_STRIDES];
};

/*
 * Takes a fault in; least: steps shorter than this are a matter of walks.  The stride that
 * it belongs to when it is believed, else NULL.
 */
struct wn_stride *wn_stride_fault(struct wn_strides *t, const struct wn_access *a,
				  uint64_t least, uint32_t serial, uint64_t now_ns);

/* The next record to ask for; most: bytes ahead, all together.  False: none for now. */
bool wn_stride_order(struct wn_stride *s, uint64_t most, uint64_t file_size,
		     struct wn_order *o);

#endif

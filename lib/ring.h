/* SPDX-License-Identifier: MIT */
/*
 * ring.h - how threads of the program tell the helper what they do.
 * Calls base only.  Many writers, one reader.  Writing is wait-free and async-signal-safe
 * and never fails: a reader that is behind loses the oldest records, and a writer that
 * died in the middle costs its own record only.  Records are hints.
 */
#ifndef WN_RING_H
#define WN_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "flow.h"

enum { WN_RING_SLOTS = 1024 };

struct wn_ring {
	uint64_t head; /* next to write */
	uint64_t tail; /* next to read: the reader's own */
	uint64_t stuck_since; /* when the reader first found the slot at tail half written */
	struct wn_ring_slot {
		uint64_t stamp; /* its number + 1 when it is whole */
		uint64_t word[3];
	} slot[WN_RING_SLOTS];
};

void wn_ring_push(struct wn_ring *r, const struct wn_access *a);
/* The next record, if any; *lost grows by the number of those that were overwritten. */
bool wn_ring_pop(struct wn_ring *r, struct wn_access *a, uint64_t now_ns, uint64_t *lost);
bool wn_ring_empty(const struct wn_ring *r);
/* Would wn_ring_pop() give a record now, without waiting for a writer? */
bool wn_ring_ready(const struct wn_ring *r);

#endif

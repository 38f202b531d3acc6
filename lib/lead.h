/* SPDX-License-Identifier: MIT */
/*
 * lead.h - reading ahead of uncached readers, in such a way that the kernel drops behind.
 * A read of a descriptor of our own under RWF_NOWAIT and RWF_DONTCACHE, advised RANDOM,
 * starts what was asked for, page by page, and returns.  The kernel drops each such page
 * when somebody has read of it, and none that was there before: nothing has to be known of
 * a file but how to read it.
 *
 * wn_lead_take() is the helper's, the others are for the program's threads.  Nothing stays
 * open.  Late or lost, the readers are served by the kernel as they would be without it.
 */
#ifndef WN_LEAD_H
#define WN_LEAD_H

#include "flow.h"
#include "pieces.h"

struct wn_loop;
struct wn_state;

/* Readers come to a piece. */
void wn_lead_enter(struct wn_pieces *t, struct wn_piece_file *f, struct wn_region *r,
		   uint64_t piece);
/* An uncached read of this range has ended, and its bytes are counted. */
void wn_lead_end(struct wn_state *st, struct wn_piece_file *f, uint64_t from, uint64_t to);

void wn_lead_take(struct wn_loop *l, const struct wn_access *a);

#endif

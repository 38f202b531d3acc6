/* SPDX-License-Identifier: MIT */
/*
 * lead.h - reading ahead of uncached readers, in such a way that the kernel drops behind.
 * A read of a descriptor of our own under RWF_NOWAIT and RWF_DONTCACHE, advised RANDOM,
 * starts what was asked for, page by page, and returns.  The kernel drops each such page
 * when somebody has read of it, and none that was there before: nothing has to be known of
 * a file but how to read it.
 *
 * wn_lead() is for the program's threads; wn_lead_take() is the helper's.  Nothing stays
 * open.  Late or lost, the readers are served by the kernel as they would be without it.
 */
#ifndef WN_LEAD_H
#define WN_LEAD_H

#include <stdint.h>

#include "flow.h"

struct wn_loop;
struct wn_piece_file;
struct wn_state;

/* Readers at `to` less `ahead` (32 MiB at most) want this range read ahead. */
void wn_lead(struct wn_state *st, const struct wn_piece_file *f, uint64_t from, uint64_t to,
	     uint64_t ahead);
void wn_lead_take(struct wn_loop *l, const struct wn_access *a);

#endif

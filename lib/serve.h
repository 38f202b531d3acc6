/* SPDX-License-Identifier: MIT */
/*
 * serve.h - from walks and strides to orders for the engine.
 * Calls walk, stride, policy and engine; a part of the helper's round, see loop.h.  Page
 * faults come here through faults.c, reads through descriptors from the ring.
 */
#ifndef WN_SERVE_H
#define WN_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "loop.h"

/* What the kernel maps at a fault. */
#define WN_NEIGHBOURHOOD (64u * 1024)

/* What one entry of the table above the last one maps. */
static inline uint64_t wn_huge_page(void)
{
	return wn_page_size() / sizeof(uint64_t) * wn_page_size();
}

/* May there be more to ask for when its reader has come on? */
bool wn_serve_goes_on(const struct wn_loop *l, int index);
/* Gives every order that this walk wants given now. */
void wn_serve_walk(struct wn_loop *l, int index);
/*
 * Takes a fault or a read in that may be a step of a stride, steps shorter than `least`
 * excluded, and asks for the records that follow.  False: it is none.
 */
bool wn_serve_stride(struct wn_loop *l, const struct wn_access *a, uint64_t least,
		     uint32_t serial);
/* A read through a descriptor; see reads.h. */
void wn_serve_read(struct wn_loop *l, const struct wn_access *a);

/* A short copy: streams go up only, but such copies may lead down. */
void wn_serve_copy(struct wn_loop *l, const struct wn_access *a);

/* A walk has ended. */
void wn_serve_retired(void *loop, int index);

/* What is ahead of all walks, and how many there are: they share the budget. */
void wn_serve_share(const struct wn_walks *t, struct wn_bounds *b);

#endif

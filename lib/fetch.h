/* SPDX-License-Identifier: MIT */
/*
 * fetch.h - files that are read as a whole: what is seen of them, and orders that follow.
 * Calls whole, policy and engine; a part of the helper's round, see loop.h.
 */
#ifndef WN_FETCH_H
#define WN_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "loop.h"

/* A fault or a read has been taken in: the walk that it belongs to, or NULL. */
void wn_fetch_saw(struct wn_loop *l, const struct wn_access *a, struct wn_walk *w);

/* Is it being fetched, so that its readers are to be seen where nothing is missing? */
bool wn_fetch_goes_on(const struct wn_loop *l, uint16_t file);

/* What was fetched and not read yet shares the budget with what is ahead of readers. */
void wn_fetch_share(const struct wn_wholes *t, struct wn_bounds *b);

/* Gives the orders that follow: after how many nanoseconds to look again. */
uint64_t wn_fetch_round(struct wn_loop *l);

void wn_fetch_end(struct wn_loop *l);

#endif

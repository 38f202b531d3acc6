/* SPDX-License-Identifier: MIT */
/*
 * faults.h - from the page faults that watch/ sees to orders for the engine.
 * Calls watch, walk, policy and engine; a part of the helper's round, see loop.h.
 */
#ifndef WN_FAULTS_H
#define WN_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "loop.h"

/*
 * Takes in the faults that were seen, and gives the orders that follow; after how many
 * nanoseconds to look again, UINT64_MAX when no walk is under way.
 */
uint64_t wn_faults_round(struct wn_loop *l);

/* One fault that happened then; true if it was of use. */
bool wn_faults_take(struct wn_loop *l, const struct wn_access *a, uint64_t ns);

void wn_faults_end(struct wn_loop *l);

#endif

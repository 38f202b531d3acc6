/* SPDX-License-Identifier: MIT */
/*
 * stats.h - the counters of include/willneed-counters.h.
 * Calls base only; sees everything, decides nothing.  Counters are relaxed atomics in the
 * state that a forked child finds zeroed.
 */
#ifndef WN_STATS_H
#define WN_STATS_H

#include <willneed.h>

#include "base/mem.h"

#define wn_count(stats, counter, n) wn_add(&(stats)->counter, (unsigned long)(n))

/*
 * Appends to a descriptor, in one write: a line that names the process, then for each counter
 * "willneed: NAME VALUE".
 */
void wn_stats_print(const struct willneed_stats *stats, int fd);

#endif

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

/* What the helper has asked for: nobody else adds to these. */
static inline uint64_t wn_asked_ahead(const struct willneed_stats *stats)
{
	return wn_load(&stats->ride_bytes) + wn_load(&stats->advise_bytes) +
	       wn_load(&stats->address_bytes);
}

/*
 * Appends to a descriptor, in one write: a line that names the process, then "willneed:
 * NAME VALUE" for each counter that is not 0.  Where all of them are, nothing, for scripts
 * start many such processes; only the one whose number is always says so in a line.
 */
void wn_stats_print(const struct willneed_stats *stats, uint64_t always, int fd);

#endif

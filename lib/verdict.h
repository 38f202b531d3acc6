/* SPDX-License-Identifier: MIT */
/*
 * verdict.h - the log's last line of a process: what was asked for, or why nothing was.
 * Calls base, stats and why; the thread that ends the process.
 */
#ifndef WN_VERDICT_H
#define WN_VERDICT_H

#include "options.h"
#include "stats.h"

/* stats: NULL when there never were any. */
void wn_verdict(const struct wn_options *o, const struct willneed_stats *stats);

#endif

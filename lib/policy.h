/* SPDX-License-Identifier: MIT */
/*
 * policy.h - how much to ask for, and whether we may.
 * Calls base and stream.h.  Promises: never more speculatively ahead of a reader than it
 * has read in sequence; never more in all than the budget, except the next bytes of a
 * range that is being read for certain; nothing past the end of the file.
 */
#ifndef WN_POLICY_H
#define WN_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "flow.h"
#include "options.h"
#include "stream.h"

struct wn_policy {
	uint64_t budget;     /* bytes ahead, all streams together */
	uint64_t checked_ns; /* when the headroom was last looked at; 0: never */
};

/* Looks at the memory again when the last look is old.  headroom() as in limits.h. */
void wn_policy_refresh(struct wn_policy *p, const struct wn_options *o, uint64_t now_ns,
		       uint64_t (*headroom)(void));

struct wn_bounds {
	uint64_t unit;	    /* what is asked for at a time; see wn_policy_unit() */
	uint64_t file_size;
	uint64_t ahead;	    /* of all streams, this one included */
	uint32_t streams;   /* that share the budget, this one included */
};

/*
 * What to ask for at a time, where the engine would like `unit`: that, unless it is too
 * much for the stream's fair share of the budget.
 */
uint64_t wn_policy_unit(const struct wn_policy *p, uint64_t unit, uint32_t streams);

/* The next order for this stream; false when there is nothing to ask for now. */
bool wn_policy_order(const struct wn_policy *p, const struct wn_options *o,
		     struct wn_stream *s, const struct wn_bounds *b, struct wn_order *out,
		     uint64_t *denied);

/*
 * When the reader is catching up with what has arrived: be further ahead from now on.
 * The lead follows the reader's speed this way, and stops growing where the device is
 * fast enough to stay ahead.
 */
void wn_policy_pace(const struct wn_options *o, struct wn_stream *s, uint64_t unit);

#endif

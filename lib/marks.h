/* SPDX-License-Identifier: MIT */
/*
 * marks.h - where the readers of a file have been lately, and how a read continues that.
 * Calls base and flow.h; runs on the program's threads, several at a time: every word is a
 * hint.  One that reads several places by turns has a mark at each.
 */
#ifndef WN_MARKS_H
#define WN_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "flow.h"

enum {
	WN_MARKS = 8,
	/*
	 * Reads of threads that take turns, or out of order, are apart by so many pieces,
	 * of which a large one counts as a MiB; and a little is skipped now and then.
	 */
	WN_READ_BAND = 16,
	WN_READ_PIECE = 1024 * 1024,
	WN_READ_GAP = 64 * 1024,
};

struct wn_marks {
	struct wn_mark {
		uint64_t from;	  /* the last read that was looked at */
		uint64_t to;	  /* 0: there was none */
		uint64_t run;	  /* bytes that were read in sequence, or nearly so, before it */
		uint64_t granted; /* bytes that may have been read unseen since */
		uint64_t since;	  /* the tick of the cover's clock at which that began */
		uint64_t warm;	  /* looks in a row that found nothing to be read */
	} mark[WN_MARKS];
	/* By thread: where its last read began, how far from the one before, and its mark. */
	struct wn_place {
		uint64_t from;
		int64_t step;
		uint64_t mark;
	} place[WN_MARKS];
	uint32_t turn;
};

/*
 * The mark that a read of [from, to) continues, or replaces.  *a becomes what the helper is
 * to be told: UP or DOWN, with what may have been read unseen; near the mark, without a
 * flag; or APART, by the same step as before.  *told: is it any of these?
 */
struct wn_mark *wn_marks_find(struct wn_marks *t, uint32_t thread, uint64_t from, uint64_t to,
			      struct wn_access *a, bool *told);

void wn_marks_clear(struct wn_marks *t);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * due.h - whether a cold read is one that the helper is to be woken for.
 * For reads.c, on the program's threads, and for serve.c, on the helper; calls track, marks
 * and cover.  A helper that is
 * woken runs on the reader's processor as likely as not, opens the file, and has to be
 * waited for when this is closed: all for nothing where there is nothing to be asked for.
 */
#ifndef WN_DUE_H
#define WN_DUE_H

#include <stdbool.h>
#include <stdint.h>

#include "flow.h"

struct wn_state;
struct wn_file;
struct wn_mark;

/* How fast cold reads go; words are hints, and written by all threads. */
struct wn_due {
	uint64_t unheard; /* bytes that were told since the helper was woken last */
	uint64_t paced;	  /* bytes since the pace was taken last, */
	uint32_t since;	  /* and when that was, in ticks of the cover's clock */
	uint32_t pace;	  /* ticks for WN_DUE_BYTES, pauses of the program included; 0: unknown */
};

/* So much may be told at most before the helper hears of it. */
#define WN_DUE_BYTES (16u * 1024 * 1024)

/*
 * Is the end of a file worth asking for, by itself: where it is no longer than the run that
 * took so many ticks, and run and rest take some time to read?
 */
bool wn_due_worth(const struct wn_due *d, uint64_t ticks, uint64_t run, uint64_t left);

/* Is a read due that has continued m, where so much of the file is left behind it? */
bool wn_due(struct wn_state *st, const struct wn_file *f, const struct wn_mark *m,
	    const struct wn_access *a, uint64_t left);

#endif

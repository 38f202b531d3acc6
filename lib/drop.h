/* SPDX-License-Identifier: MIT */
/*
 * drop.h - uncached reads as plain reads, with what they leave behind dropped.
 * For front/: runs on the program's threads, around preadv2(RWF_DONTCACHE).  The kernel's
 * own way drops each folio as soon as any of it was read, so that small reads bring every
 * folio in again and again.  Here the read is a plain one, which has readahead, and what
 * lies a piece behind the reader is given up in pieces of a folio's largest size.
 *
 * Promises: only pages are dropped that were not cached before the stream came near, of
 * files that nobody writes to or has mapped, as far as can be known; where it cannot be
 * known the read keeps its flag.  An inode of which a dropped piece is read again by
 * somebody is left alone from then on.
 */
#ifndef WN_DROP_H
#define WN_DROP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mem.h"

enum { WN_DROP_STREAMS = 64, WN_DROP_HINTS = 256, WN_DROP_SPARED = 16 };

/* One reader's way through a file. */
struct wn_drop_stream {
	_Alignas(64) uint32_t busy; /* the slot is being changed; never waited for */
	int32_t fd1;		    /* the descriptor plus one; 0: unused */
	uint64_t next;		    /* where the reader is expected */
	uint64_t used;		    /* in cycles: when it last began or finished a piece */
	uint64_t last;		    /* bytes that its last read returned */
	uint64_t dev, ino, size, changed;
	uint64_t looked; /* pieces before this one have been looked at */
	uint64_t freed;	 /* pieces before this one are done with */
	uint64_t cold;	 /* bit p % 64: piece p was not cached when it was looked at */
	uint64_t gone;	 /* bit p % 64: piece p was dropped, all of it */
	bool plain;	 /* its reads are plain ones */
	bool goes_on;	 /* a second read has come */
	bool stopped;	 /* nothing is dropped any more */
};

struct wn_drops {
	struct wn_drop_stream stream[WN_DROP_STREAMS];
	uint8_t hint[WN_DROP_HINTS]; /* by descriptor and piece: which stream goes there */
	uint32_t spared_next;
	struct wn_drop_inode {
		uint64_t dev, ino;
	} spared[WN_DROP_SPARED]; /* inodes that are left alone */
};

/* Does the setting allow that a flag is taken away at all? */
bool wn_drop_wanted(void);

/*
 * An uncached read is about to be made: true when it should be made without the flag.
 * *stream is for wn_drop_read(), and may be NULL.
 */
bool wn_drop_plain(int fd, off_t offset, struct wn_drop_stream **stream);
/* It has returned this much. */
void wn_drop_read(struct wn_drop_stream *s, int fd, off_t offset, size_t got);

#endif

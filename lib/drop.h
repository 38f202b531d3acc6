/* SPDX-License-Identifier: MIT */
/*
 * drop.h - uncached reads as plain reads, with what they leave behind dropped.
 * For front/: runs on the program's threads, around their reads.  The kernel's own way
 * (RWF_DONTCACHE) drops each folio as soon as any of it was read, so that small reads
 * bring every folio in again and again.  Here the read is a plain one, which has
 * readahead, and a piece of a folio's largest size is given up when all of it was read.
 *
 * With the setting "stream", what any long reader leaves behind is dropped in the same way,
 * when it has read 64 MiB in sequence, and nothing of that twice.
 *
 * Promises: only pages are dropped that were not cached before the readers came near, of
 * files that nobody writes to or has mapped, as far as can be known; where it cannot be
 * known the read keeps its flag.  An inode of which a dropped piece is read again by
 * somebody is left alone from then on.
 */
#ifndef WN_DROP_H
#define WN_DROP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pieces.h"

enum { WN_DROP_SPARED = 16, WN_LEAD_GAPS = 16 };

struct wn_drops {
	struct wn_pieces pieces;
	struct wn_leads {
		uint64_t dev, chunk, window; /* of the last device, in bytes */
		uint32_t turn;
		struct wn_lead_gap {
			uint32_t serial;   /* of the file */
			uint64_t from, to; /* where it was left to the kernel */
		} gap[WN_LEAD_GAPS];
	} leads; /* the helper's */
	uint32_t spared_next;
	struct wn_drop_inode {
		uint64_t dev, ino;
	} spared[WN_DROP_SPARED]; /* inodes that are left alone */
};

/* A read that is being made. */
struct wn_drop_read {
	struct wn_piece_file *file; /* NULL: its end need not be told */
	uint32_t serial;
};

/*
 * What a thread has read in sequence, and not counted yet: counting costs as much as a
 * tenth of a read of 4 KiB.  In thread-local storage; all zeroes is a new thread.
 */
struct wn_drop_run {
	uint32_t fd1;	/* the descriptor, plus one */
	uint32_t bytes; /* that have not been counted */
	int64_t end;	/* offset; -1: where the descriptor's position is */
	uint64_t most;	/* of bytes */
};

/* Does the setting allow that a flag is taken away at all? */
bool wn_drop_wanted(void);

/* An uncached read is about to be made: true when it should be made without the flag. */
bool wn_drop_begin(struct wn_drop_read *d, int fd, off_t offset);
/*
 * With WILLNEED_DROP_BEHIND=stream, which wn_drop_streams() tells: an ordinary read has
 * returned so much, from this offset on; -1: it ended where the descriptor's position is.
 */
bool wn_drop_streams(void);
/* Need it not be told yet?  The way of most small reads. */
static inline bool wn_drop_later(struct wn_drop_run *run, int fd, off_t offset, size_t got)
{
	if (run->fd1 != (uint32_t)fd + 1 || run->end != offset || run->bytes + got >= run->most)
		return false;
	run->bytes += (uint32_t)got;
	run->end += offset < 0 ? 0 : (int64_t)got;
	return true;
}
void wn_drop_stream(struct wn_drop_run *run, int fd, off_t offset, size_t got);
/* What is left to be told of a descriptor that is about to be closed. */
void wn_drop_closing(struct wn_drop_run *run, int fd);

/* The kernel does not know the flag there. */
void wn_drop_refused(const struct wn_drop_read *d);
/* It has returned this much. */
void wn_drop_end(const struct wn_drop_read *d, int fd, off_t offset, size_t got);

#endif

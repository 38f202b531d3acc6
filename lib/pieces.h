/* SPDX-License-Identifier: MIT */
/*
 * pieces.h - how much has been read of which files, piece by piece.
 * Calls base only; runs on the program's threads.  Whose reads they were, and in which
 * order they came, does not matter: a piece is done with when as many bytes of it have
 * been read as it has, so that any number of threads may share a descriptor or a file.
 *
 * Promises: no waiting for more than a few dozen instructions of another thread; what is
 * found under a descriptor's number is a hint, and checked by fstat() before it is acted
 * upon.  A full table forgets what was quiet for longest.
 */
#ifndef WN_PIECES_H
#define WN_PIECES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/mem.h"

/* The largest folio: less than that of one cannot be dropped. */
#define WN_PIECE_BITS 21
#define WN_PIECE ((uint64_t)1 << WN_PIECE_BITS)

enum {
	WN_PIECE_FILES = 32,
	WN_PIECE_REGIONS = 64,
	WN_REGION_PIECES = 64,
	WN_PIECE_FDS = 256,
	/*
	 * Who has not read while the others came to so many pieces more than there are readers
	 * has read a header and jumped, or stopped.  And so much longer those that are left are
	 * taken for several: a thread may wait long for its processor, and at the end of its
	 * part a reader is not told from the next.
	 */
	WN_PIECE_PATIENCE = 4,
};

/* STAY: nothing is dropped any more.  REFUSED: and reads that begin now keep their flag. */
enum wn_pieces_fate { WN_PIECES_DROP, WN_PIECES_STAY, WN_PIECES_REFUSED };

struct wn_piece_file {
	uint64_t dev, ino, size, changed; /* as when its reading began */
	uint64_t used;			  /* in cycles */
	uint64_t last;			  /* bytes that its last read returned */
	uint32_t serial;		  /* of this identity; 0: the slot is unused */
	uint32_t stopped;		  /* enum wn_pieces_fate */
	uint32_t marked;		  /* its reads are uncached ones */
	uint32_t blind;			  /* what is cached of it is not known */
	uint32_t elsewhere;		  /* cachestat() knows nothing of its pages */
	uint32_t entered;		  /* how often readers came to a piece */
	uint32_t readers;		  /* about so many go through it now */
	uint32_t shared;		  /* and there were several once, */
	uint32_t shared_at;		  /* when `entered` was this, last */
	uint32_t narrow;		  /* pieces where the kernel was not far ahead */
	uint32_t unled;			  /* no flag here, or parts of pages are read */
	uint32_t bite;			  /* so much one call of advice brought */
	uint32_t asking;		  /* threads that ask for what comes next now */
	uint32_t bitten;		  /* and that was less than it was told to */
	int32_t fd;			  /* that it was last met under */
};

/* 64 pieces in a row.  Sets of pieces are bits; any thread sets and clears them. */
struct wn_region {
	uint64_t key; /* the file's serial, and which region; 0: unused */
	uint64_t used;
	uint64_t looked; /* it is known whether they were cached before */
	uint64_t cold;	 /* they were not */
	uint64_t going;	 /* they are read in sequence */
	uint64_t done;	 /* all has been read, and what had to be dropped was */
	uint64_t kept;	 /* done, and not dropped because the way is not long yet */
	uint64_t gone;	 /* all of them was dropped, and not read again by us */
	struct wn_piece {
		uint64_t edge; /* where the last read that began here has ended */
		uint32_t read; /* bytes */
		uint32_t near; /* reads in a row that began about where others ended */
		uint32_t run;  /* bytes read in sequence before it, 1 GiB at most */
		uint32_t ahead; /* from its beginning, what is read ahead; may be past it */
		uint32_t taken; /* the same, and what a thread is about to ask for */
		uint32_t seen; /* the file's count `entered` when it was last read */
	} piece[WN_REGION_PIECES];
	uint8_t passes[WN_REGION_PIECES]; /* see wn_piece_passes() */
};

struct wn_pieces {
	uint32_t busy;	  /* a file or a region is being given its slot */
	uint32_t serials; /* given out so far */
	uint64_t fd[WN_PIECE_FDS]; /* number plus one, the file's serial and slot */
	struct wn_piece_file file[WN_PIECE_FILES];
	uint8_t hint[WN_PIECE_FDS]; /* where a region was last found */
	struct wn_region region[WN_PIECE_REGIONS];
};

static inline uint64_t wn_piece_of(uint64_t offset)
{
	return offset >> WN_PIECE_BITS;
}

static inline uint64_t wn_piece_bit(uint64_t piece)
{
	return (uint64_t)1 << piece % WN_REGION_PIECES;
}

/* True when the bit was not set, and now is. */
static inline bool wn_piece_set(uint64_t *set, uint64_t piece)
{
	uint64_t bit = wn_piece_bit(piece);

	return !(wn_load(set) & bit) &&
	       !(__atomic_fetch_or(set, bit, __ATOMIC_SEQ_CST) & bit);
}

/* True when the bit was set, and no longer is. */
static inline bool wn_piece_clear(uint64_t *set, uint64_t piece)
{
	uint64_t bit = wn_piece_bit(piece);

	return (wn_load(set) & bit) &&
	       (__atomic_fetch_and(set, ~bit, __ATOMIC_SEQ_CST) & bit);
}

static inline bool wn_piece_has(const uint64_t *set, uint64_t piece)
{
	return wn_load(set) & wn_piece_bit(piece);
}

/* How often all of a piece was read, before it was begun again. */
static inline uint8_t wn_piece_passes(const struct wn_region *r, uint64_t piece)
{
	return wn_load(&r->passes[piece % WN_REGION_PIECES]);
}

static inline struct wn_piece *wn_piece_at(struct wn_region *r, uint64_t piece)
{
	return &r->piece[piece % WN_REGION_PIECES];
}

/* Is it that file, and is it as it was? */
bool wn_piece_file_is(const struct wn_piece_file *f, const struct stat *st);
/* The file that was last met under this number, or NULL. */
struct wn_piece_file *wn_pieces_file(struct wn_pieces *t, int fd);
/* The file of this identity, which is now found under this number; NULL: no room now. */
struct wn_piece_file *wn_pieces_meet(struct wn_pieces *t, int fd, const struct stat *st);
/* About how many readers go through a file. */
uint32_t wn_pieces_readers(struct wn_pieces *t, const struct wn_piece_file *f);
/* The region of a piece, if it is there, or can be made. */
struct wn_region *wn_pieces_find(struct wn_pieces *t, uint32_t serial, uint64_t piece);
struct wn_region *wn_pieces_make(struct wn_pieces *t, uint32_t serial, uint64_t piece);

#endif

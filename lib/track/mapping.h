/* SPDX-License-Identifier: MIT */
/*
 * mapping.h - which file stands behind an address.
 * Calls base and file.h.  Looking up takes no lock and may run anywhere; changes take a
 * lock that is only tried for a moment, and are forgotten when it cannot be had: every
 * entry is a hint that may be stale or missing, and may only ever be used for advice that
 * is harmless when wrong.
 */
#ifndef WN_MAPPING_H
#define WN_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "track/file.h"

enum { WN_MAPS = 512 };

struct wn_map {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* in the file, of start */
	uint16_t file;
	uint16_t random; /* the program said MADV_RANDOM: no guessing */
	uint16_t huge;	 /* and MADV_HUGEPAGE: its folios are to be huge */
};

struct wn_track {
	uint32_t seq; /* odd while entries move */
	uint32_t count;
	uint32_t owed;	   /* some file has references owed */
	uint32_t orphaned; /* some file lost its last reference that way */
	struct wn_map map[WN_MAPS]; /* sorted by start, never overlapping */
	struct wn_file_table files;
};

/*
 * The lock lives apart from the tables, in memory that a forked child finds zeroed: the
 * child inherits the tables, but neither the thread that was about to unlock them nor the
 * requests that held references.
 */
struct wn_track_lock {
	uint32_t held;
	uint32_t counted; /* the references have been counted in this process */
	uint64_t signals; /* what the holder had blocked before */
};

bool wn_track_lock(struct wn_track *t, struct wn_track_lock *l);
void wn_track_unlock(struct wn_track_lock *l);

/*
 * Drops a reference, without the lock held.  When it cannot be had, the next owner does
 * it.  Whoever keeps the file open finds `orphaned` set if it was the last.
 */
void wn_track_drop(struct wn_track *t, struct wn_track_lock *l, uint16_t file);

bool wn_map_find(const struct wn_track *t, uint64_t addr, struct wn_map *out);
/* The first entry that ends behind addr. */
bool wn_map_after(const struct wn_track *t, uint64_t addr, struct wn_map *out);
/* Any entry of this file that maps its offset, or any at all; for advice by address. */
#define WN_ANY_OFFSET UINT64_MAX
bool wn_map_find_offset(const struct wn_track *t, uint16_t file, uint64_t offset,
			struct wn_map *out);
/* Cheap, and may err on the side of true. */
bool wn_map_may_overlap(const struct wn_track *t, uint64_t start, uint64_t length);

/* These with the lock held.  add: 0 or -ENOSPC. */
int wn_map_add(struct wn_track *t, const struct wn_map *m);
/* For all entries that begin in the range. */
void wn_map_set_random(struct wn_track *t, uint64_t start, uint64_t length, bool random);
void wn_map_set_huge(struct wn_track *t, uint64_t start, uint64_t length, bool huge);
/* True when a file lost its last reference. */
bool wn_map_remove(struct wn_track *t, uint64_t start, uint64_t length);

#endif

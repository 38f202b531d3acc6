/* SPDX-License-Identifier: MIT */
/*
 * letgo.h - may a piece of a file be dropped from the page cache?  And dropping it.
 * For drop.c; runs on the program's threads.  Promise: never what was cached before, is
 * dirty or being written back, or belongs to a file that has changed since its reading
 * began, is mapped by this process, or is read by somebody else.
 */
#ifndef WN_LETGO_H
#define WN_LETGO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sys.h"
#include "pieces.h"

/*
 * In pieces: the kernel's readahead runs so far in front of a reader; ours up to the window
 * setting.  What it brought is neither "cached before" nor anybody's.
 */
enum { WN_LETGO_AHEAD = 17 };

struct wn_drops;
struct wn_state;

/* Is it still that file, and as it was?  One that grows or is written is left alone. */
bool wn_letgo_check(struct wn_piece_file *f, int fd);
/* Somebody else reads this file: its pages are left alone from now on. */
void wn_letgo_never(struct wn_drops *d, struct wn_piece_file *f);
bool wn_letgo_refused(const struct wn_drops *d, const struct wn_piece_file *f);
/*
 * How many pages of a piece are cached; false where that is not told.  cachestat() tells
 * it, and mincore() on older kernels, and for files whose pages are another file's.
 */
bool wn_letgo_stat(struct wn_piece_file *f, int fd, uint64_t piece, struct wn_cachestat *out);
/*
 * Is anything of a piece cached?  Answered from its first page, where it is: to count the
 * pages of a piece takes 11 us when they are all there.
 */
bool wn_letgo_any(struct wn_piece_file *f, int fd, uint64_t piece, bool *any);
/* Are the pages of this descriptor's file another file's, as far as cachestat() goes? */
bool wn_letgo_elsewhere(int fd);
/* Has this process mapped it? */
bool wn_letgo_mapped(const struct stat *file);
/* Drops a piece that has been read, if it may be. */
void wn_letgo(struct wn_state *st, struct wn_piece_file *f, struct wn_region *r, int fd,
	      uint64_t piece);

#endif

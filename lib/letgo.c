/* SPDX-License-Identifier: MIT */
#include "letgo.h"

#include <fcntl.h>

#include "base/arch.h"
#include "base/arena.h"
#include "base/sys.h"
#include "runtime.h"

bool wn_letgo_refused(const struct wn_drops *d, const struct wn_piece_file *f)
{
	for (int i = 0; i < WN_DROP_SPARED; i++)
		if (wn_load(&d->spared[i].ino) == f->ino &&
		    wn_load(&d->spared[i].dev) == f->dev)
			return true;
	return false;
}

void wn_letgo_never(struct wn_drops *d, struct wn_piece_file *f)
{
	struct wn_drop_inode *i = &d->spared[wn_add(&d->spared_next, 1) % WN_DROP_SPARED];

	wn_store(&i->dev, f->dev);
	wn_store(&i->ino, f->ino);
	wn_store(&f->stopped, WN_PIECES_STAY);
}

static bool is_mapped(const struct stat *file)
{
	uint32_t serial;
	struct wn_map m;
	uint16_t slot = wn_file_find(&wn_rt.track->files, file, &serial);

	return slot != WN_NO_FILE && wn_map_find_offset(wn_rt.track, slot, WN_ANY_OFFSET, &m);
}

bool wn_letgo_check(struct wn_piece_file *f, int fd)
{
	struct stat file;

	if (wn_sys->fstat(fd, &file) < 0 || file.st_dev != f->dev || file.st_ino != f->ino)
		return false;
	wn_store(&f->used, wn_cycles());
	if (wn_piece_file_is(f, &file) && !is_mapped(&file))
		return true;
	wn_store(&f->stopped, WN_PIECES_STAY);
	return false;
}

/* Has somebody read what was dropped?  Looks at the pieces in front of this one. */
static bool read_again(struct wn_region *r, int fd, uint64_t piece)
{
	uint64_t first = piece;
	struct wn_cachestat found;

	while (first % WN_REGION_PIECES && wn_piece_has(&r->gone, first - 1))
		first--;
	return first < piece &&
	       wn_sys->cachestat(fd, first << WN_PIECE_BITS, (piece - first) << WN_PIECE_BITS,
				 &found) >= 0 &&
	       found.cached;
}

void wn_letgo(struct wn_state *st, struct wn_piece_file *f, struct wn_region *r, int fd,
	      uint64_t piece)
{
	uint64_t from = piece << WN_PIECE_BITS;
	struct wn_cachestat found;

	if (!wn_piece_has(&r->cold, piece))
		return;
	/*
	 * Not there, although it has just been read: evicted, or a file system that keeps its
	 * pages in another file, as overlayfs does, so that nothing is known about them.
	 */
	if (wn_sys->cachestat(fd, from, WN_PIECE, &found) < 0 || !found.cached ||
	    found.dirty || found.writeback)
		return;
	wn_sys->fadvise(fd, (off_t)from, (off_t)WN_PIECE, POSIX_FADV_DONTNEED);
	wn_count(&st->stats, drop_calls, 1);
	wn_count(&st->stats, dropped_bytes, found.cached * wn_page_size());
	if (read_again(r, fd, piece))
		wn_letgo_never(&st->drops, f);
	if (wn_sys->cachestat(fd, from, WN_PIECE, &found) >= 0 && !found.cached)
		wn_piece_set(&r->gone, piece);
}

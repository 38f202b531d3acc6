/* SPDX-License-Identifier: MIT */
#include "letgo.h"

#include <errno.h>
#include <fcntl.h>

#include "base/arch.h"
#include "base/arena.h"
#include "base/sys.h"
#include "runtime.h"
#include "why.h"

/* Its pages are another file's: mincore() sees them, and cachestat() does not. */
#define OVERLAYFS_MAGIC 0x794c7630u

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

	const struct wn_why_file left = {
		.dev = f->dev,
		.ino = f->ino,
		.fd = wn_load(&f->fd),
		.thread = (uint32_t)wn_sys->gettid(),
	};

	wn_store(&i->dev, f->dev);
	wn_store(&i->ino, f->ino);
	wn_store(&f->stopped, WN_PIECES_STAY);
	wn_why_file(&wn_rt.options, WN_WHY_SPARED, &left);
}

bool wn_letgo_mapped(const struct stat *file)
{
	uint32_t serial;
	struct wn_map m;
	uint16_t slot = wn_file_find(&wn_rt.track->files, file, &serial);

	return slot != WN_NO_FILE &&
	       wn_map_find_offset(wn_rt.track, slot, WN_ANY_OFFSET, &m);
}

bool wn_letgo_check(struct wn_piece_file *f, int fd)
{
	struct stat file;

	if (wn_sys->fstat(fd, &file) < 0 || file.st_dev != f->dev || file.st_ino != f->ino)
		return false;
	wn_store(&f->used, wn_cycles());
	if (wn_piece_file_is(f, &file) && !wn_letgo_mapped(&file))
		return true;
	wn_store(&f->stopped, WN_PIECES_STAY);
	return false;
}

bool wn_letgo_elsewhere(int fd)
{
	struct statfs sf;

	return wn_sys->fstatfs(fd, &sf) >= 0 && (uint32_t)sf.f_type == OVERLAYFS_MAGIC;
}

/* The same for a part of a file that is mapped for a moment; nothing is known of dirt. */
static bool stat_mapped(int fd, uint64_t from, struct wn_cachestat *out)
{
	unsigned char there[512];
	uint64_t part = sizeof(there) * wn_page_size();
	uint64_t pages = wn_min(WN_PIECE, part) / wn_page_size();
	long at = wn_sys->map_file(fd, from, pages * wn_page_size());
	int r;

	if (at < 0 && at >= -4095)
		return false;
	r = wn_sys->mincore((uint64_t)at, pages * wn_page_size(), there);
	wn_sys->unmap((void *)at, pages * wn_page_size());
	*out = (struct wn_cachestat){ 0 };
	for (uint64_t i = 0; r >= 0 && i < pages; i++)
		out->cached += there[i] & 1;
	return r >= 0;
}

bool wn_letgo_stat(struct wn_piece_file *f, int fd, uint64_t piece,
		   struct wn_cachestat *out)
{
	uint64_t from = piece << WN_PIECE_BITS;
	int r;

	if (wn_load(&f->elsewhere))
		return stat_mapped(fd, from, out);
	r = wn_sys->cachestat(fd, from, WN_PIECE, out);
	if (r != -ENOSYS)
		return r >= 0;
	wn_store(&f->elsewhere, 1);
	return stat_mapped(fd, from, out);
}

bool wn_letgo_any(struct wn_piece_file *f, int fd, uint64_t piece, bool *any)
{
	struct wn_cachestat found = { 0 };
	bool known = true;

	if (wn_load(&f->elsewhere) ||
	    wn_sys->cachestat(fd, piece << WN_PIECE_BITS, wn_page_size(), &found) < 0 ||
	    !found.cached)
		known = wn_letgo_stat(f, fd, piece, &found);
	*any = found.cached;
	return known;
}

/* Has somebody read what was dropped?  Looks at the pieces in front of this one. */
static bool read_again(struct wn_piece_file *f, struct wn_region *r, int fd, uint64_t piece)
{
	uint64_t first = piece;
	struct wn_cachestat found;

	while (first % WN_REGION_PIECES && wn_piece_has(&r->gone, first - 1))
		first--;
	if (first == piece)
		return false;
	/* All in one call, where it is one. */
	if (wn_load(&f->elsewhere))
		return wn_letgo_stat(f, fd, first, &found) && found.cached;
	return wn_sys->cachestat(fd, first << WN_PIECE_BITS,
				 (piece - first) << WN_PIECE_BITS, &found) >= 0 &&
	       found.cached;
}

/*
 * May the readahead of a reader further back bring a piece again, as far as it has got?
 * It runs on into what others have read and dropped already.
 */
static bool is_ahead_of_others(struct wn_pieces *t, const struct wn_piece_file *f,
			       struct wn_region *r, uint64_t piece)
{
	for (uint64_t back = 1; back <= wn_min(piece, WN_LETGO_AHEAD); back++) {
		uint64_t p = piece - back;

		if ((p + 1) % WN_REGION_PIECES == 0)
			r = wn_pieces_find(t, wn_load(&f->serial), p);
		if (!r)
			return false;
		if (wn_piece_has(&r->going, p) && !wn_piece_has(&r->done, p))
			return true;
	}
	return false;
}

void wn_letgo(struct wn_state *st, struct wn_piece_file *f, struct wn_region *r, int fd,
	      uint64_t piece)
{
	uint64_t from = piece << WN_PIECE_BITS;
	struct wn_cachestat found, left;

	/* Not there, although it has just been read: evicted. */
	if (!wn_piece_has(&r->cold, piece) || !wn_letgo_stat(f, fd, piece, &found) ||
	    !found.cached || found.dirty || found.writeback)
		return;
	wn_sys->fadvise(fd, (off_t)from, (off_t)WN_PIECE, POSIX_FADV_DONTNEED);
	wn_count(&st->stats, drop_calls, 1);
	/* What a thread asks for that was overtaken by others is not somebody else's. */
	if (!wn_load(&f->asking) && read_again(f, r, fd, piece))
		wn_letgo_never(&st->drops, f);
	if (!wn_letgo_stat(f, fd, piece, &left))
		return;
	wn_count(&st->stats, dropped_bytes,
		 wn_above(found.cached, left.cached) * wn_page_size());
	if (!left.cached && !is_ahead_of_others(&st->drops.pieces, f, r, piece))
		wn_piece_set(&r->gone, piece);
}

/* SPDX-License-Identifier: MIT */
#include "drop.h"

#include <fcntl.h>

#include "base/arch.h"
#include "base/arena.h"
#include "base/sys.h"
#include "lead.h"
#include "runtime.h"

/* Readahead runs so far in front of a reader, and what it brought is not "cached before". */
#define AHEAD 17u
/* A reader has left a piece when so much of the next one has been read. */
#define LEFT (WN_PIECE / 4)
/* Several threads that share a way through a file arrive out of order by this much. */
#define NEAR ((uint64_t)1 << 20)
/* And while that is not yet certain, by so many of their reads. */
#define NEAR_READS 16u
/* Reads of this size leave no folio in parts: the kernel's own way is as good. */
#define LARGE ((uint64_t)2 << 20)
static bool is_spared(const struct wn_drops *d, uint64_t dev, uint64_t ino)
{
	for (int i = 0; i < WN_DROP_SPARED; i++)
		if (wn_load(&d->spared[i].ino) == ino && wn_load(&d->spared[i].dev) == dev)
			return true;
	return false;
}

/* Somebody else reads this file: leave its pages alone from now on. */
static void spare(struct wn_drops *d, struct wn_piece_file *f)
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

/* Is it still that file, and as it was?  One that grows or is written is left alone. */
static bool check(struct wn_piece_file *f, int fd)
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

/* The first read through a descriptor, or the first of its file. */
static struct wn_piece_file *meet(struct wn_state *st, int fd)
{
	int flags = wn_sys->fcntl_getfl(fd);
	struct wn_piece_file *f;
	struct stat file;

	if (flags < 0 || (flags & O_DIRECT) || wn_sys->fstat(fd, &file) < 0 ||
	    !S_ISREG(file.st_mode))
		return NULL;
	f = wn_pieces_meet(&st->drops.pieces, fd, &file);
	if (!f)
		return NULL;
	wn_store(&f->stopped, is_spared(&st->drops, f->dev, f->ino) ? WN_PIECES_REFUSED :
								     WN_PIECES_DROP);
	return f;
}

/* A piece that was done with is about to be read again. */
static void restart(struct wn_region *r, uint64_t piece)
{
	if (wn_likely(!wn_piece_has(&r->done, piece)) || !wn_piece_clear(&r->done, piece))
		return;
	wn_store(&wn_piece_at(r, piece)->read, 0);
	wn_store(&wn_piece_at(r, piece)->near, 0);
	wn_store(&wn_piece_at(r, piece)->edge, 0);
	wn_store(&wn_piece_at(r, piece)->ahead, 0);
	wn_store(&wn_piece_at(r, piece)->run, 0);
	wn_piece_clear(&r->gone, piece);
	wn_piece_clear(&r->looked, piece);
	wn_piece_clear(&r->cold, piece);
	wn_piece_clear(&r->going, piece);
}

/* Looks whether a piece is cached, before readers come near. */
static void look(struct wn_state *st, struct wn_piece_file *f, int fd, uint64_t piece)
{
	struct wn_region *r = wn_pieces_make(&st->drops.pieces, wn_load(&f->serial), piece);
	struct wn_cachestat found;

	if (!r)
		return;
	restart(r, piece);
	/* What is there again may be our doing. */
	wn_piece_clear(&r->gone, piece);
	if (!wn_piece_set(&r->looked, piece))
		return;
	if (wn_sys->cachestat(fd, piece << WN_PIECE_BITS, WN_PIECE, &found) < 0)
		wn_store(&f->blind, 1);
	else if (!found.cached)
		wn_piece_set(&r->cold, piece);
}

/* Readers have come to a piece: what their readahead will bring is looked at before. */
static void enter(struct wn_state *st, struct wn_piece_file *f, struct wn_region *r, int fd,
		  uint64_t piece)
{
	uint64_t end = (f->size + WN_PIECE - 1) >> WN_PIECE_BITS;

	wn_store(&r->used, wn_cycles());
	wn_lead_enter(&st->drops.pieces, f, r, piece);
	if (!check(f, fd))
		return;
	for (uint64_t p = piece; p < wn_min(piece + AHEAD, end); p++)
		look(st, f, fd, p);
}

/* Does a read belong to those that go through the file in sequence? */
static bool goes_on(struct wn_state *st, struct wn_piece_file *f, struct wn_region *r,
		    uint64_t offset)
{
	uint64_t piece = wn_piece_of(offset), slack = NEAR_READS * wn_load(&f->last);
	struct wn_piece *here = wn_piece_at(r, piece);
	uint64_t edge = wn_load(&here->edge);
	struct wn_region *before = r;

	/* At the beginning of a file most readers go on. */
	if (!offset || edge == offset)
		return true;
	if (piece && piece % WN_REGION_PIECES == 0)
		before = wn_pieces_find(&st->drops.pieces, wn_load(&f->serial), piece - 1);
	if (piece && before &&
	    (wn_load(&wn_piece_at(before, piece - 1)->edge) == offset ||
	     (wn_piece_has(&before->going, piece - 1) && offset % WN_PIECE < NEAR)))
		return true;
	if (!edge || offset + slack < edge || offset > edge + slack) {
		wn_store(&here->near, 0);
		return false;
	}
	return wn_add(&here->near, 1) >= 1;
}

bool wn_drop_wanted(void)
{
	return !wn_load(&wn_rt.dormant) && wn_may_ask() &&
	       wn_load(&wn_rt.options.value[WN_OPT_DROP_BEHIND]) != WN_DROP_OFF;
}

bool wn_drop_begin(struct wn_drop_read *d, int fd, off_t offset)
{
	uint64_t at = (uint64_t)offset, piece = wn_piece_of(at);
	struct wn_state *st;
	struct wn_piece_file *f = NULL;
	struct wn_region *r;

	d->file = NULL;
	if (offset < 0 || fd < 0 || !wn_drop_wanted() || wn_wake_up(&st) < 0)
		return false;
	/* Numbers are used again, and then files are most often read from their beginning. */
	if (offset)
		f = wn_pieces_file(&st->drops.pieces, fd);
	if (!f)
		f = meet(st, fd);
	if (!f || wn_load(&f->stopped) == WN_PIECES_REFUSED)
		return false;
	d->serial = wn_load(&f->serial);
	r = wn_pieces_make(&st->drops.pieces, d->serial, piece);
	if (!r)
		return false;
	d->file = f;
	restart(r, piece);
	if (wn_unlikely(!wn_piece_has(&r->looked, piece)) && check(f, fd))
		look(st, f, fd, piece);
	if (!wn_piece_has(&r->going, piece)) {
		if (!goes_on(st, f, r, at))
			return false;
		if (wn_piece_set(&r->going, piece))
			enter(st, f, r, fd, piece);
	}
	return !wn_load(&f->blind) && wn_load(&f->last) < LARGE;
}

/* Bytes that are to be read of a piece until it is done with. */
static uint64_t whole(const struct wn_piece_file *f, uint64_t piece)
{
	return wn_min(wn_above(f->size, piece << WN_PIECE_BITS), WN_PIECE);
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

/* All of a piece has been read, and its readers have left it. */
static void leave(struct wn_state *st, struct wn_piece_file *f, struct wn_region *r, int fd,
		  uint64_t piece)
{
	uint64_t from = piece << WN_PIECE_BITS;
	struct wn_cachestat found;

	if (!wn_piece_set(&r->done, piece) || wn_load(&f->stopped) ||
	    !wn_piece_has(&r->cold, piece) || !check(f, fd))
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
		spare(&st->drops, f);
	if (wn_sys->cachestat(fd, from, WN_PIECE, &found) >= 0 && !found.cached)
		wn_piece_set(&r->gone, piece);
}

/*
 * So much more of a piece has been read.  Of two threads that bring two pieces to their
 * ends at a time, at least one sees both counts.
 */
static void count(struct wn_state *st, const struct wn_drop_read *d, int fd, uint64_t piece,
		  uint64_t n)
{
	struct wn_pieces *t = &st->drops.pieces;
	struct wn_piece_file *f = d->file;
	struct wn_region *r = wn_pieces_find(t, d->serial, piece), *other;
	uint64_t all = whole(f, piece), before, now;

	if (!r)
		return;
	before = __atomic_fetch_add(&wn_piece_at(r, piece)->read, (uint32_t)n, __ATOMIC_SEQ_CST);
	now = before + n;
	if (before < all && now >= all) {
		bool last = (piece + 1) << WN_PIECE_BITS >= f->size;

		other = last ? NULL : wn_pieces_find(t, d->serial, piece + 1);
		if (last || (other && wn_load(&wn_piece_at(other, piece + 1)->read) >=
					      wn_min(LEFT, whole(f, piece + 1))))
			leave(st, f, r, fd, piece);
	}
	if (piece && before < LEFT && now >= wn_min(LEFT, all)) {
		other = wn_pieces_find(t, d->serial, piece - 1);
		if (other && wn_load(&wn_piece_at(other, piece - 1)->read) >= WN_PIECE)
			leave(st, f, other, fd, piece - 1);
	}
}

void wn_drop_end(const struct wn_drop_read *d, int fd, off_t offset, size_t got)
{
	uint64_t at = (uint64_t)offset, end = at + got, piece = wn_piece_of(at);
	struct wn_state *st = wn_awake();
	struct wn_region *r;

	if (!st || wn_load(&d->file->serial) != d->serial)
		return;
	r = wn_pieces_find(&st->drops.pieces, d->serial, piece);
	if (!r)
		return;
	/* Reading began in the middle: nobody will read what is before that. */
	if (!wn_piece_has(&r->going, piece) && !wn_load(&wn_piece_at(r, piece)->read))
		wn_store(&wn_piece_at(r, piece)->read, (uint32_t)(at % WN_PIECE));
	wn_store(&wn_piece_at(r, piece)->edge, end);
	wn_store(&d->file->last, got);
	while (at < end) {
		uint64_t n = wn_min(end - at, WN_PIECE - at % WN_PIECE);

		count(st, d, fd, wn_piece_of(at), n);
		at += n;
	}
	if (wn_load(&d->file->blind))
		wn_lead_end(st, d->file, end - got, end);
}

void wn_drop_refused(const struct wn_drop_read *d)
{
	if (d->file)
		wn_store(&d->file->unled, 1);
}

/* SPDX-License-Identifier: MIT */
#include "drop.h"

#include <fcntl.h>
#include <unistd.h>

#include "ahead.h"
#include "base/arch.h"
#include "base/arena.h"
#include "base/sys.h"
#include "lead.h"
#include "letgo.h"
#include "runtime.h"

/* A reader has left a piece when so much of the next one has been read. */
#define LEFT (WN_PIECE / 4)
/* Several threads that share a way through a file arrive out of order by this much. */
#define NEAR ((uint64_t)1 << 20)
/* And while that is not yet certain, by so many of their reads. */
#define NEAR_READS 16u
/* Reads of this size leave no folio in parts: the kernel's own way is as good. */
#define LARGE ((uint64_t)2 << 20)
/* Streams that the program did not mark are dropped from when they are as long as this. */
#define LONG ((uint64_t)64 << 20)
/* What a thread may have read in sequence of them before it is counted. */
#define UNCOUNTED (LEFT / 2)
/* And what was read until then is looked for so many pieces back. */
#define REGRET (4 * LONG / WN_PIECE)

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
	if (!wn_load(&f->elsewhere) && wn_letgo_elsewhere(fd))
		wn_store(&f->elsewhere, 1);
	wn_store(&f->stopped, wn_letgo_refused(&st->drops, f) ? WN_PIECES_REFUSED :
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
	wn_store(&wn_piece_at(r, piece)->taken, 0);
	wn_store(&wn_piece_at(r, piece)->run, 0);
	wn_piece_clear(&r->gone, piece);
	wn_piece_clear(&r->kept, piece);
	wn_piece_clear(&r->looked, piece);
	wn_piece_clear(&r->cold, piece);
	wn_piece_clear(&r->going, piece);
	wn_add(&r->passes[piece % WN_REGION_PIECES], 1);
}

/* Looks whether a piece is cached, before readers come near. */
static void look(struct wn_state *st, struct wn_piece_file *f, int fd, uint64_t piece)
{
	struct wn_region *r = wn_pieces_make(&st->drops.pieces, wn_load(&f->serial), piece);
	bool any;

	if (!r)
		return;
	restart(r, piece);
	/* What is there again may be our doing. */
	wn_piece_clear(&r->gone, piece);
	if (!wn_piece_set(&r->looked, piece))
		return;
	if (!wn_letgo_any(f, fd, piece, &any))
		wn_store(&f->blind, 1);
	else if (!any)
		wn_piece_set(&r->cold, piece);
}

/* What is brought in ahead of readers must not be taken for "cached before". */
static uint64_t pieces_ahead(void)
{
	uint64_t ours = wn_load(&wn_rt.options.value[WN_OPT_WINDOW]);

	return WN_LETGO_AHEAD + wn_min(ours >> WN_PIECE_BITS, WN_REGION_PIECES / 2);
}

/* Has a piece been read by others who are on the same pass as the readers of another one? */
static bool is_passed(struct wn_state *st, const struct wn_piece_file *f,
		      const struct wn_region *r, uint64_t here, uint64_t piece)
{
	const struct wn_region *other =
		wn_pieces_find(&st->drops.pieces, wn_load(&f->serial), piece);

	return other && wn_piece_has(&other->done, piece) &&
	       (int8_t)(wn_piece_passes(other, piece) - wn_piece_passes(r, here)) >= 0;
}

/* Readers have come to a piece: what their readahead will bring is looked at before. */
static void enter(struct wn_state *st, struct wn_piece_file *f, struct wn_region *r, int fd,
		  uint64_t piece)
{
	uint64_t end = (f->size + WN_PIECE - 1) >> WN_PIECE_BITS;

	wn_store(&r->used, wn_cycles());
	wn_lead_enter(&st->drops.pieces, f, r, piece);
	if (!wn_letgo_check(f, fd))
		return;
	for (uint64_t p = piece; p < wn_min(piece + pieces_ahead(), end); p++)
		if (!wn_load(&f->shared) || !is_passed(st, f, r, piece, p))
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

/* A read at this offset: true when it is one of those that go through the file. */
static bool arrive(struct wn_state *st, struct wn_drop_read *d, int fd, uint64_t at, bool marked)
{
	struct wn_piece_file *f = NULL;
	uint64_t piece = wn_piece_of(at);
	struct wn_region *r;

	/* Numbers are used again, and then files are most often read from their beginning. */
	if (at)
		f = wn_pieces_file(&st->drops.pieces, fd);
	if (!f)
		f = meet(st, fd);
	if (!f || wn_load(&f->stopped) == WN_PIECES_REFUSED || (!marked && f->size < LONG))
		return false;
	d->serial = wn_load(&f->serial);
	r = wn_pieces_make(&st->drops.pieces, d->serial, piece);
	if (!r)
		return false;
	d->file = f;
	wn_store(&f->marked, marked);
	/* All of it has been read before: no single pass. */
	if (!marked && wn_piece_has(&r->done, piece))
		wn_letgo_never(&st->drops, f);
	restart(r, piece);
	if (wn_unlikely(!wn_piece_has(&r->looked, piece)) && wn_letgo_check(f, fd))
		look(st, f, fd, piece);
	if (wn_piece_has(&r->going, piece))
		return true;
	if (!goes_on(st, f, r, at))
		return false;
	if (wn_piece_set(&r->going, piece))
		enter(st, f, r, fd, piece);
	return true;
}

bool wn_drop_begin(struct wn_drop_read *d, int fd, off_t offset)
{
	struct wn_state *st;

	d->file = NULL;
	if (offset < 0 || fd < 0 || !wn_drop_wanted() || wn_wake_up(&st) < 0 ||
	    !arrive(st, d, fd, (uint64_t)offset, true) || wn_load(&d->file->blind) ||
	    wn_load(&d->file->last) >= LARGE)
		return false;
	wn_ahead_ask(st, d->file, fd, (uint64_t)offset);
	return true;
}

/* Bytes that are to be read of a piece until it is done with. */
static uint64_t whole(const struct wn_piece_file *f, uint64_t piece)
{
	return wn_min(wn_above(f->size, piece << WN_PIECE_BITS), WN_PIECE);
}

/* The last piece before this one that is done with, but was not dropped when it was. */
static struct wn_region *left_over(struct wn_state *st, struct wn_piece_file *f, uint64_t *piece)
{
	for (uint64_t back = 1; back <= wn_min(*piece, REGRET); back++) {
		uint64_t p = *piece - back;
		struct wn_region *r = wn_pieces_find(&st->drops.pieces, wn_load(&f->serial), p);

		if (!r || !wn_piece_has(&r->done, p))
			return NULL;
		if (wn_piece_clear(&r->kept, p)) {
			*piece = p;
			return r;
		}
	}
	return NULL;
}

/* All of a piece has been read, and its readers have left it. */
static void leave(struct wn_state *st, struct wn_piece_file *f, struct wn_region *r, int fd,
		  uint64_t piece)
{
	struct wn_piece *p = wn_piece_at(r, piece);
	bool last = (piece + 1) << WN_PIECE_BITS >= f->size;
	uint64_t most;

	/* What was cached before stays, and is no reason to look for anything else. */
	if (!wn_piece_set(&r->done, piece) || wn_load(&f->stopped) ||
	    (!last && !wn_piece_has(&r->cold, piece)) || !wn_letgo_check(f, fd))
		return;
	if (wn_load(&f->marked)) {
		wn_letgo(st, f, r, fd, piece);
		return;
	}
	if (wn_load(&p->run) + whole(f, piece) < LONG) {
		wn_piece_set(&r->kept, piece);
		return;
	}
	wn_letgo(st, f, r, fd, piece);
	/* What was read before it was clear that it is long: a little at a time. */
	most = last ? LONG >> WN_PIECE_BITS : 2;
	while (most-- && (r = left_over(st, f, &piece)))
		wn_letgo(st, f, r, fd, piece);
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

/* A read that belongs to a stream goes on into another piece. */
static void follow(struct wn_state *st, const struct wn_drop_read *d, int fd, uint64_t piece,
		   uint64_t end)
{
	struct wn_region *r = wn_pieces_make(&st->drops.pieces, d->serial, piece);

	if (!r)
		return;
	restart(r, piece);
	if (wn_piece_set(&r->going, piece))
		enter(st, d->file, r, fd, piece);
	wn_store(&wn_piece_at(r, piece)->edge, end);
}

void wn_drop_end(const struct wn_drop_read *d, int fd, off_t offset, size_t got)
{
	uint64_t at = (uint64_t)offset, end = at + got, piece = wn_piece_of(at);
	struct wn_state *st = wn_awake();
	struct wn_region *r;
	bool going;

	if (!st || wn_load(&d->file->serial) != d->serial)
		return;
	r = wn_pieces_find(&st->drops.pieces, d->serial, piece);
	if (!r)
		return;
	/* Reading began in the middle: nobody will read what is before that. */
	if (!wn_piece_has(&r->going, piece) && !wn_load(&wn_piece_at(r, piece)->read))
		wn_store(&wn_piece_at(r, piece)->read, (uint32_t)(at % WN_PIECE));
	wn_store(&wn_piece_at(r, piece)->edge, end);
	wn_store(&wn_piece_at(r, piece)->seen, wn_load(&d->file->entered));
	wn_store(&d->file->last, got);
	going = wn_piece_has(&r->going, piece);
	while (at < end) {
		uint64_t n = wn_min(end - at, WN_PIECE - at % WN_PIECE);

		piece = wn_piece_of(at);
		count(st, d, fd, piece, n);
		at += n;
		if (going && at < end)
			follow(st, d, fd, piece + 1, end);
	}
	if (wn_load(&d->file->blind))
		wn_lead_end(st, d->file, end - got, end);
}

void wn_drop_refused(const struct wn_drop_read *d)
{
	if (d->file)
		wn_store(&d->file->unled, 1);
}

bool wn_drop_streams(void)
{
	return wn_drop_wanted() &&
	       wn_load(&wn_rt.options.value[WN_OPT_DROP_BEHIND]) == WN_DROP_STREAM;
}

/* The same, and how much may be read from there on until it has to be known. */
static uint64_t stream(int fd, off_t offset, size_t got)
{
	struct wn_drop_read d = { .file = NULL };
	struct wn_state *st;
	uint64_t size;

	if (fd < 0 || !wn_drop_streams() || wn_wake_up(&st) < 0)
		return 0;
	if (offset < 0) {
		offset = wn_raw(SYS_lseek, fd, 0, SEEK_CUR);
		if (offset < (off_t)got)
			return 0;
		offset -= (off_t)got;
	}
	arrive(st, &d, fd, (uint64_t)offset, false);
	if (!d.file || wn_load(&d.file->blind))
		return UNCOUNTED;
	wn_drop_end(&d, fd, offset, got);
	/* The last of a file is counted when it is read, since nothing may follow. */
	size = wn_load(&d.file->size);
	return wn_min(UNCOUNTED, wn_above(size, (uint64_t)offset + got));
}

static void tell(struct wn_drop_run *run)
{
	uint32_t bytes = run->bytes;
	off_t from = run->end < 0 ? -1 : run->end - bytes;

	run->bytes = 0;
	run->most = bytes ? stream((int)run->fd1 - 1, from, bytes) : 0;
}

void wn_drop_stream(struct wn_drop_run *run, int fd, off_t offset, size_t got)
{
	int64_t end = offset < 0 ? -1 : offset + (int64_t)got;

	if (run->fd1 != (uint32_t)fd + 1 || run->end != offset) {
		tell(run);
		*run = (struct wn_drop_run){ .fd1 = (uint32_t)fd + 1 };
	}
	run->end = end;
	run->bytes += (uint32_t)got;
	if (run->bytes >= run->most)
		tell(run);
}

void wn_drop_closing(struct wn_drop_run *run, int fd)
{
	if (run->fd1 != (uint32_t)fd + 1)
		return;
	tell(run);
	*run = (struct wn_drop_run){ .fd1 = 0 };
}

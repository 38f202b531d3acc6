/* SPDX-License-Identifier: MIT */
#include "ahead.h"

#include <fcntl.h>

#include "base/arena.h"
#include "base/sys.h"
#include "exact.h"
#include "letgo.h"
#include "reads.h"
#include "runtime.h"

/* The first bite, and what one call of advice reads at least, as devices are set up. */
#define FIRST ((uint64_t)64 << 10)
#define SURE  ((uint64_t)128 << 10)
/* What may be cached of a file: in front of its readers, and behind one, which is not done. */
#define FRONT  ((uint64_t)12 << 20)
#define BEHIND (WN_PIECE + WN_PIECE / 4)
#define BOUND  ((uint64_t)30 << 20)
/* In front of one reader. */
#define LEAST ((uint64_t)256 << 10)
#define MOST  ((uint64_t)8 << 20)
/* The end of what the kernel has read is looked for up to twice as far. */
#define FAR ((uint64_t)16 << 20)
/*
 * The kernel serves a reader well when it is so far ahead of one that has read so much; it
 * does not if it is not at so many pieces in a row, for its windows have an end.
 */
#define SERVED ((uint64_t)1 << 20)
#define LONG   ((uint64_t)8 << 20)
#define PROOF  3

/* How far ahead a reader may be that has read so much in sequence. */
static uint64_t reach(uint64_t readers, uint64_t read)
{
	uint64_t all = wn_min(FRONT, wn_above(BOUND, readers * BEHIND));

	return wn_max(wn_min(read, wn_min(wn_max(all / readers, LEAST), MOST)), FIRST);
}

/* What comes behind this piece and was begun by others is asked for by those. */
static uint64_t limit(struct wn_state *st, const struct wn_piece_file *f,
		      struct wn_region *r, uint64_t piece, uint64_t to)
{
	to = wn_min(to, f->size);
	for (uint64_t p = piece + 1; p << WN_PIECE_BITS < to; p++) {
		if (p % WN_REGION_PIECES == 0)
			r = wn_pieces_find(&st->drops.pieces, wn_load(&f->serial), p);
		if (r && wn_piece_has(&r->going, p))
			return p << WN_PIECE_BITS;
	}
	return to;
}

static bool advise(struct wn_state *st, int fd, uint64_t from, uint64_t to)
{
	wn_count(&st->stats, kernel_calls, 1);
	return wn_sys->fadvise(fd, (off_t)from, (off_t)(to - from), POSIX_FADV_WILLNEED) >= 0;
}

/*
 * A call of advice reads as much as the device's limits allow, and says nothing about the
 * rest.  So one that is longer than any before is followed by a look at what it brought.
 */
static uint64_t brought(struct wn_piece_file *f, int fd, uint64_t from, uint64_t length)
{
	struct wn_cachestat found;
	uint64_t bite;

	if (wn_sys->cachestat(fd, from, length, &found) < 0)
		return length;
	bite = wn_round_down(wn_min(found.cached * wn_page_size(), length), FIRST);
	if (bite < wn_round_down(length, FIRST))
		wn_store(&f->bitten, 1);
	if (bite > wn_load(&f->bite))
		wn_store(&f->bite, (uint32_t)bite);
	return wn_max(bite, SURE);
}

static void ask(struct wn_state *st, struct wn_piece_file *f, int fd, uint64_t from,
		uint64_t to)
{
	uint64_t begin = from;

	while (from < to) {
		uint64_t bite = wn_max(wn_load(&f->bite), SURE), length = to - from;

		if (wn_load(&f->bitten))
			length = wn_min(length, bite);
		if (!advise(st, fd, from, from + length))
			break;
		from += length > bite ? brought(f, fd, from, length) : length;
	}
	wn_count(&st->stats, asked_bytes, from - begin);
	wn_count(&st->stats, inline_bytes, from - begin);
}

/*
 * Asks, and drops again what other threads have read and dropped meanwhile: where several
 * share a way, one that lost the processor in here may be late by more than it is ahead.
 */
static void ask_in_time(struct wn_state *st, struct wn_piece_file *f, int fd, uint64_t from,
			uint64_t to)
{
	uint64_t end = wn_piece_of(to - 1);

	wn_add(&f->asking, 1);
	ask(st, f, fd, from, to);
	for (uint64_t p = wn_piece_of(from); p <= end; p++) {
		struct wn_region *r = wn_pieces_find(&st->drops.pieces, wn_load(&f->serial), p);

		if (r && wn_unlikely(wn_piece_has(&r->done, p)) &&
		    wn_piece_clear(&r->gone, p))
			wn_letgo(st, f, r, fd, p);
	}
	wn_add(&f->asking, (uint32_t)-1);
}

/*
 * The kernel is ahead, of a reader that was left to it, or was late once.  It goes on when
 * a page is read that has its mark, which is the first one of each window if the kernel
 * brought that page: so it ends where somebody else was there before.
 */
static uint64_t overtake(int fd, uint64_t at)
{
	uint64_t page = wn_page_size();

	for (uint64_t n = FAR; n >= page; n /= 2)
		at += wn_exact_is_warm(fd, at, at + n) ? n : 0;
	return at;
}

/* What a reader at this offset should ask for now. */
static bool due(struct wn_state *st, const struct wn_piece_file *f, struct wn_region *r,
		uint64_t offset, uint64_t *from, uint64_t *to)
{
	uint64_t piece = wn_piece_of(offset), start = piece << WN_PIECE_BITS;
	struct wn_piece *p = wn_piece_at(r, piece);
	uint32_t taken = wn_load(&p->taken);
	uint64_t led = start + wn_load(&p->ahead), next = offset + wn_load(&f->last);
	uint64_t ahead = reach(wn_max(wn_load(&f->readers), 1),
			       (uint64_t)wn_load(&p->run) + wn_load(&p->read));
	bool late = led < next;

	/* In steps of a quarter of it. */
	if ((late ? led : wn_max(led, start + taken)) >= next + ahead - ahead / 4)
		return false;
	*from = wn_max(led, wn_round_down(offset, wn_page_size()));
	*to = limit(st, f, r, piece, wn_round_up(next + ahead, wn_page_size()));
	if (*from >= *to)
		return false;
	/* While there is time one thread does it; else whoever comes must not miss a page. */
	return late || wn_swap32(&p->taken, taken, (uint32_t)(*to - start));
}

/*
 * A reader that is alone is left to the kernel, whose large folios cost less, unless the
 * kernel is found to be hardly ahead of it.
 */
static bool leave_to_kernel(struct wn_piece_file *f, const struct wn_piece *p, int fd,
			    uint64_t offset)
{
	uint64_t at = offset + SERVED;

	bool shared = wn_load(&f->shared) &&
		      wn_load(&f->entered) - wn_load(&f->shared_at) <= WN_PIECE_PATIENCE;

	if (shared || wn_load(&f->narrow) >= PROOF)
		return false;
	/* A look at each piece. */
	if (wn_load(&p->run) < LONG || offset % WN_PIECE >= wn_load(&f->last) || at >= f->size)
		return true;
	wn_store(&f->narrow, wn_exact_is_warm(fd, at, at + 1) ? 0 : wn_load(&f->narrow) + 1);
	return true;
}

void wn_ahead_ask(struct wn_state *st, struct wn_piece_file *f, int fd, uint64_t offset)
{
	uint64_t piece = wn_piece_of(offset), start = piece << WN_PIECE_BITS, from, to;
	struct wn_region *r = wn_pieces_find(&st->drops.pieces, wn_load(&f->serial), piece);
	struct wn_piece *p;

	if (!r || wn_load(&st->tight) || wn_reads_random(fd))
		return;
	p = wn_piece_at(r, piece);
	if (leave_to_kernel(f, p, fd, offset) || !due(st, f, r, offset, &from, &to))
		return;
	if (wn_exact_is_warm(fd, from, from + 1)) {
		from = overtake(fd, from);
		to = limit(st, f, r, piece, wn_max(to, from + LEAST));
	}
	if (from < to)
		ask_in_time(st, f, fd, from, to);
	if (wn_load(&p->ahead) < to - start)
		wn_store(&p->ahead, (uint32_t)(to - start));
}

/* SPDX-License-Identifier: MIT */
#include "lead.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/sys.h"
#include "helper.h"
#include "loop.h"
#include "runtime.h"

#define NOWAIT	  8
#define DONTCACHE 0x80
/* After so much they are led, by so much at least, and at most. */
#define FIRST ((uint64_t)64 << 10)
#define LEAST ((uint64_t)2 << 20)
#define MOST  ((uint64_t)8 << 20)
/* All readers of a file together. */
#define SHARED ((uint64_t)12 << 20)
/* How far it is fits in a record's flags in units of this. */
#define SCALE ((uint64_t)128 << 10)

struct lead {
	struct wn_loop *l;
	int fd;
	uint64_t size;
};

/* -- On the program's threads ---------------------------------------------------------- */

void wn_lead_enter(struct wn_pieces *t, struct wn_piece_file *f, struct wn_region *r,
		   uint64_t piece)
{
	uint32_t serial = wn_load(&f->serial);
	struct wn_piece *from, *to = wn_piece_at(r, piece);
	struct wn_region *before = piece ? wn_pieces_find(t, serial, piece - 1) : NULL;

	wn_store(&to->seen, wn_add(&f->entered, 1) + 1);
	wn_store(&f->readers, wn_pieces_readers(t, f));
	if (wn_load(&f->readers) > 1) {
		wn_store(&f->shared_at, wn_load(&f->entered));
		wn_store(&f->shared, 1);
	}
	/* That is done when a quarter of this was read: who comes only now was not there. */
	if (!before || wn_piece_has(&before->done, piece - 1))
		return;
	from = wn_piece_at(before, piece - 1);
	wn_store(&to->ahead, (uint32_t)wn_above(wn_load(&from->ahead), WN_PIECE));
	wn_store(&to->taken, (uint32_t)wn_above(wn_load(&from->taken), WN_PIECE));
	wn_store(&to->run,
		 (uint32_t)wn_min((uint64_t)wn_load(&from->run) + wn_load(&from->read),
				  (uint64_t)1 << 30));
}

/* How far readers are led that have read so much in sequence. */
static uint64_t reach(const struct wn_piece_file *f, uint64_t read)
{
	uint64_t most = SHARED / wn_max(wn_load(&f->readers), 1);

	if (read < FIRST)
		return 0;
	/* The kernel's own readahead may be four times as far as they have come. */
	return wn_max(wn_min(wn_max(4 * read, LEAST), wn_min(most, MOST)), SCALE);
}

static void tell(struct wn_state *st, const struct wn_piece_file *f, uint64_t from,
		 uint64_t to, uint64_t ahead)
{
	struct wn_access a = {
		.offset = from,
		.length = to - from,
		.thread = (uint32_t)wn_sys->gettid(),
		.file = (uint16_t)(f - st->drops.pieces.file),
		.kind = WN_ACCESS_LEAD,
		.flags = (uint8_t)(ahead / SCALE),
	};

	if (!wn_helper_expected(st))
		return;
	wn_ring_push(&st->ring, &a);
	wn_helper_kick(st);
}

void wn_lead_end(struct wn_state *st, struct wn_piece_file *f, uint64_t from, uint64_t to)
{
	uint64_t piece = wn_piece_of(to - 1), start = piece << WN_PIECE_BITS, ahead, led;
	struct wn_region *r = wn_pieces_find(&st->drops.pieces, wn_load(&f->serial), piece);
	struct wn_piece *p;

	if (!r || !wn_piece_has(&r->going, piece) || wn_load(&f->unled))
		return;
	/* The page would be dropped when the first part of it was read. */
	if ((from | to) % wn_page_size()) {
		if (to < f->size)
			wn_store(&f->unled, 1);
		return;
	}
	p = wn_piece_at(r, piece);
	led = wn_load(&p->ahead);
	ahead = reach(f, (uint64_t)wn_load(&p->run) + wn_load(&p->read));
	from = wn_max(led, to - start);
	to = to - start + ahead;
	/* In steps of a quarter of it; each is asked for by one thread. */
	if (!ahead || to < from + ahead / 4 ||
	    !wn_swap32(&p->ahead, (uint32_t)led, (uint32_t)to))
		return;
	tell(st, f, start + from, start + to, ahead);
}

/* -- On the helper --------------------------------------------------------------------- */

/* The kernel starts so much at a time, and says nothing about the rest. */
static void learn_limits(struct wn_leads *d, uint64_t dev)
{
	struct wn_device_limits l;

	if (d->chunk && d->dev == dev)
		return;
	l = wn_device_limits((dev_t)dev);
	d->dev = dev;
	d->window = l.readahead;
	d->chunk = wn_round_down(wn_max(l.readahead, l.request), wn_page_size());
	if (!d->chunk)
		d->chunk = WN_SOME_WINDOW;
}

/* Starts what is missing from a page on: -EAGAIN; or the page is there: 0; or an error. */
static ssize_t start(const struct lead *k, uint64_t at, uint64_t length)
{
	/* One byte is copied at most: behind it nothing can be written to. */
	struct iovec iov = { k->l->k.last_byte, length };
	ssize_t r = wn_sys->preadv2(k->fd, &iov, (off_t)at, NOWAIT | DONTCACHE);

	wn_count(k->l->k.stats, kernel_calls, 1);
	return r >= 0 ? 0 : r;
}

/* Starts all of a range; false when something in it is there already, or for ever not. */
static bool start_all(const struct lead *k, const struct wn_leads *d, uint64_t *at,
		      uint64_t to, ssize_t *r)
{
	for (; *at < to && !wn_load(&wn_rt.stops); *at += wn_min(to - *at, d->chunk)) {
		*r = start(k, *at, wn_min(to - *at, d->chunk));
		if (*r != -EAGAIN)
			return false;
		wn_count(k->l->k.stats, led_bytes, wn_min(to - *at, d->chunk));
	}
	return true;
}

/*
 * The kernel's own readahead may have been faster.  It goes on when the reader comes to a
 * mark, which is set on the first page of each of its windows when the kernel brings that
 * page.  So it ends where a whole window is there before it: that is beyond the two
 * windows that it may be ahead of the reader.  (To look for its end would not do: each
 * page that is found there is dropped by the look at it.)
 */
static void overtake(const struct lead *k, struct wn_leads *d, uint64_t at, uint64_t reader,
		     uint64_t window, struct wn_lead_gap *gap)
{
	ssize_t r;

	gap->from = at;
	at = wn_max(at, reader + 2 * window);
	gap->to = wn_min(at + 2 * window, k->size);
	start_all(k, d, &at, gap->to, &r);
}

static uint64_t behind_gap(const struct wn_leads *d, uint32_t serial, uint64_t at)
{
	for (int i = 0; i < WN_LEAD_GAPS; i++)
		if (d->gap[i].serial == serial && at >= d->gap[i].from && at < d->gap[i].to)
			at = d->gap[i].to;
	return at;
}

void wn_lead_take(struct wn_loop *l, const struct wn_access *a)
{
	struct wn_leads *d = &l->st->drops.leads;
	struct wn_piece_file *f = &l->st->drops.pieces.file[a->file % WN_PIECE_FILES];
	struct wn_file w = { .dev = wn_load(&f->dev),
			     .ino = wn_load(&f->ino),
			     .fd = wn_load(&f->fd) };
	struct lead k = { .l = l, .size = wn_load(&f->size) };
	uint64_t at = a->offset, to = wn_min(at + a->length, k.size);
	uint64_t ahead = a->flags * SCALE;
	uint32_t serial = wn_load(&f->serial);
	ssize_t r = 0;

	if (wn_load(&l->st->tight))
		return;
	k.fd = wn_open_descriptor(&w, a->thread);
	if (k.fd < 0)
		return;
	learn_limits(d, w.dev);
	wn_sys->fadvise(k.fd, 0, 0, POSIX_FADV_RANDOM);
	at = behind_gap(d, serial, at);
	if (!start_all(&k, d, &at, to, &r) && !r) {
		struct wn_lead_gap *gap = &d->gap[d->turn++ % WN_LEAD_GAPS];

		gap->serial = serial;
		overtake(&k, d, at, a->offset + a->length - ahead, wn_min(d->window, ahead),
			 gap);
	}
	wn_sys->close(k.fd);
}

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
/* What one call starts where the device's limits cannot be read. */
#define UNKNOWN_CHUNK (128u * 1024)
/* How far the readers are led fits in a record's flags in units of this. */
#define LEAD_SCALE ((uint64_t)128 << 10)

struct lead {
	struct wn_loop *l;
	int fd;
	uint64_t size;
};

void wn_lead(struct wn_state *st, const struct wn_piece_file *f, uint64_t from, uint64_t to,
	     uint64_t ahead)
{
	struct wn_access a = {
		.offset = from,
		.length = to - from,
		.thread = (uint32_t)wn_sys->gettid(),
		.file = (uint16_t)(f - st->drops.pieces.file),
		.kind = WN_ACCESS_LEAD,
		.flags = (uint8_t)(ahead / LEAD_SCALE),
	};

	if (!wn_helper_expected(st))
		return;
	wn_ring_push(&st->ring, &a);
	wn_helper_kick(st);
}

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
		d->chunk = UNKNOWN_CHUNK;
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
static bool start_all(const struct lead *k, const struct wn_leads *d, uint64_t *at, uint64_t to,
		      ssize_t *r)
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
		     uint64_t window)
{
	ssize_t r;

	d->from = at;
	d->to = wn_max(at, reader + 2 * window);
	at = d->to;
	d->to = wn_min(d->to + 2 * window, k->size);
	start_all(k, d, &at, d->to, &r);
}

void wn_lead_take(struct wn_loop *l, const struct wn_access *a)
{
	struct wn_leads *d = &l->st->drops.leads;
	struct wn_piece_file *f = &l->st->drops.pieces.file[a->file % WN_PIECE_FILES];
	struct wn_file w = { .dev = f->dev, .ino = f->ino, .fd = f->fd };
	struct lead k = { .l = l, .size = f->size };
	uint64_t at = a->offset, to = wn_min(at + a->length, k.size);
	uint64_t ahead = a->flags * LEAD_SCALE;
	ssize_t r = 0;

	if (wn_load(&l->st->tight))
		return;
	k.fd = wn_open_descriptor(&w, a->thread);
	if (k.fd < 0)
		return;
	learn_limits(d, w.dev);
	if (d->serial != wn_load(&f->serial)) {
		d->serial = wn_load(&f->serial);
		d->from = d->to = 0;
	}
	wn_sys->fadvise(k.fd, 0, 0, POSIX_FADV_RANDOM);
	if (at >= d->from && at < d->to)
		at = d->to;
	if (!start_all(&k, d, &at, to, &r) && !r)
		overtake(&k, d, at, a->offset + a->length - ahead, wn_min(d->window, ahead));
	wn_sys->close(k.fd);
}

/* SPDX-License-Identifier: MIT */
/*
 * Riding the kernel's readahead: our own open file has a readahead state of its own, so
 * reads on it start the windows that the kernel would start for a sequential reader, in
 * large folios, without copying and without waiting.  HACKING.md tells how it was found.
 *
 *   1. A read of more than the largest window W, at a page that is not cached, starts the
 *      window [s, s + W) and marks s + W/2.
 *   2. A read at the mark starts [s + W, s + 2W), which is marked at its beginning.
 *   3. So does a read there, and so on; folios grow from window to window.
 *
 * RWF_NOWAIT makes each of these calls start its window and return at once.  All of them
 * ask for 2W and a page: a read that happens to end behind a mark shrinks the window that
 * it starts to what it asked for, and everything after that is out of step.
 *
 * A mark is used up by whoever reads there first, also by the program, and EAGAIN does not
 * tell "under way" from "just started".  So nothing is believed: a read at s leaves
 * [s, s + W) asked for in every case, and that is all that is claimed, although a healthy
 * ride is a window further.  And if a read at the end of what is certain returned EAGAIN,
 * it may have begun anew; then the mark is in the middle, and a read there resumes the
 * ride.  In a healthy ride that read does nothing.
 */
#include <errno.h>
#include <sys/uio.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/sys.h"
#include "engine.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

/*
 * -EAGAIN, 1 when the page is cached, or another error.  Copies one byte at most: the
 * memory behind it cannot be written.
 */
static int touch(const struct wn_kernel *k, const struct wn_engine_file *f,
		 const struct wn_lane *lane, uint64_t at)
{
	struct iovec iov = {
		.iov_base = k->last_byte,
		.iov_len = 2 * f->unit + wn_page_size(),
	};
	ssize_t r;

	wn_count(k->stats, kernel_calls, 1);
	r = wn_sys->preadv2((int)lane->fd1 - 1, &iov, (off_t)at, RWF_NOWAIT);
	return r < 0 ? (int)r : 1;
}

/*
 * What is certain now ends a window later.  Unless EAGAIN came from a page that a thread of
 * the program has asked for meanwhile (it marks that before it asks): then no window was
 * started, and advice asks for what is missing in this one.
 */
static void claim(const struct wn_kernel *k, const struct wn_engine_file *f,
		  struct wn_lane *lane, struct wn_cover_file id)
{
	uint64_t to = wn_min(lane->edge + f->unit, f->size);
	uint64_t real = wn_above(to, lane->edge);

	/* Windows that are no power of two are cut short, now and then; see set_sizes(). */
	if (f->align != f->unit || wn_cover_asked(k->cover, id, lane->edge, lane->edge + 1))
		wn_advise(k, f, lane->edge, to);
	wn_count(k->stats, ride_bytes, real);
	wn_count(k->stats, asked_bytes, real);
	lane->edge += f->unit;
}

/* Starts anew at `at`: 0, 1 when the page there is cached already, or a negative errno. */
static int begin(const struct wn_kernel *k, const struct wn_engine_file *f,
		 struct wn_lane *lane, struct wn_cover_file id, uint64_t at)
{
	uint64_t mark = wn_seed_mark(lane, at);
	int r = 0;

	/* If the mark is gone, what follows begins in small folios. */
	if (mark) {
		r = touch(k, f, lane, mark);
		wn_seed_clear(k, f, lane, at);
	}
	if (r >= 0 || r == -EAGAIN)
		r = touch(k, f, lane, at);
	if (r != -EAGAIN)
		return r;
	lane->mark = at + f->unit / 2;
	lane->edge = at;
	lane->riding = true;
	claim(k, f, lane, id);
	return 0;
}

/* One window further: 0 or a negative errno. */
static int go_on(const struct wn_kernel *k, const struct wn_engine_file *f,
		 struct wn_lane *lane, struct wn_cover_file id)
{
	int r;

	if (lane->mark) {
		r = touch(k, f, lane, lane->mark);
		if (r < 0 && r != -EAGAIN)
			return r;
	}
	r = touch(k, f, lane, lane->edge);
	if (r < 0 && r != -EAGAIN)
		return r;
	lane->mark = r == -EAGAIN ? lane->edge + f->unit / 2 : 0;
	claim(k, f, lane, id);
	return 0;
}

/* May so many windows begin at `at`? */
static bool fits(const struct wn_engine_file *f, const struct wn_order *o, uint64_t at,
		 uint64_t windows)
{
	return at < o->to &&
	       (o->to >= f->size || at + windows * f->unit <= o->to + o->slack);
}

uint64_t wn_ride_from(const struct wn_engine_file *f, const struct wn_order *o,
		      uint64_t near)
{
	uint64_t at = wn_round_up(wn_max(o->from, near), f->align);

	/* No request is cut in two for a ride that is not going to begin there. */
	return wn_min(fits(f, o, at, 1) ? at : wn_max(at, o->exact), o->to);
}

uint64_t wn_ride(const struct wn_kernel *k, const struct wn_engine_file *f,
		 struct wn_lane *lane, struct wn_cover_file id, const struct wn_order *o)
{
	uint64_t at = o->from, next;
	int r;

	if (lane->riding)
		at = lane->edge;
	/* Going on may start the window behind the one that is claimed. */
	while (fits(f, o, at, lane->riding ? 2 : 1)) {
		r = lane->riding ? go_on(k, f, lane, id) : begin(k, f, lane, id, at);
		if (r < 0) {
			lane->riding = false;
			lane->refused = true;
			break;
		}
		/* Cached where a window should begin: advice asks for what is missing in it. */
		next = lane->riding ? lane->edge : wn_advise(k, f, at, at + f->unit);
		if (next <= at)
			break;
		at = next;
	}
	return wn_max(at, o->from);
}

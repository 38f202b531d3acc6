/* SPDX-License-Identifier: MIT */
/*
 * Beginning a ride with large folios.  The kernel's folios grow from window to window of
 * one open file, and since Linux 6.16 that file remembers how large they are; but a read of
 * a page that is not cached begins with small ones again.  A window that begins at a mark
 * does not, whoever made the mark.  So the mark is made through another open file:
 *
 *   1. A page is read alone, five pages in front of the place: the seed.
 *   2. When it is there, a read of its last byte makes the page behind it one that is read
 *      in sequence: a read of that one starts the smallest of all windows, four pages, of
 *      which the second is marked.  It ends at the place.
 *   3. When the time has come, a read at the mark through the lane's open file starts a
 *      whole window at the place.
 *
 * The five pages would be in the way of a large folio when what lies in front of the place
 * is asked for, so then they are let go.  Older kernels take the size of the folios from
 * the marked one: there a ride begins small, as it would without a seed.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/sys.h"
#include "engine.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

enum { SEED_PAGES = 5, WINDOW_PAGES = SEED_PAGES - 1 };
/*
 * For how many places: a device that is busy has all that was asked for before a seed to
 * read first, and that is up to four blocks; see order_down() in walk.c.  Then the window.
 */
enum { SEEDS = 12, SPROUTS = 6 };
/* With less readahead the smallest window has another size. */
enum { LEAST_READAHEAD_PAGES = 32 };

/* What is let go is read again: one page in 200, at most. */
enum { LEAST_SPACING_PAGES = 1024 };

/* One byte through the file's own descriptor: 1 when it is cached. */
static int look(const struct wn_kernel *k, const struct wn_engine_file *f, uint64_t at)
{
	struct iovec iov = { .iov_base = k->last_byte, .iov_len = 1 };

	wn_count(k->stats, kernel_calls, 1);
	return (int)wn_sys->preadv2((int)f->fd1 - 1, &iov, (off_t)at, RWF_NOWAIT);
}

static void plant(const struct wn_kernel *k, const struct wn_engine_file *f,
		  struct wn_lane *lane, uint64_t last)
{
	while (lane->seed > last && lane->seed > lane->spacing) {
		lane->seed -= lane->spacing;
		look(k, f, lane->seed - SEED_PAGES * wn_page_size());
	}
}

/* Those that have arrived, the highest first. */
static void sprout(const struct wn_kernel *k, const struct wn_engine_file *f,
		   struct wn_lane *lane, uint64_t last)
{
	while (lane->sprout > lane->seed && lane->sprout > last) {
		uint64_t window =
			lane->sprout - lane->spacing - WINDOW_PAGES * wn_page_size();

		if (look(k, f, window - 1) != 1)
			return;
		look(k, f, window);
		lane->sprout -= lane->spacing;
	}
}

void wn_seed_plant(const struct wn_kernel *k, const struct wn_engine_file *f,
		   struct wn_lane *lane, uint64_t at, uint64_t spacing)
{
	if (f->way != WN_RIDE || f->readahead < LEAST_READAHEAD_PAGES * wn_page_size() ||
	    spacing < LEAST_SPACING_PAGES * wn_page_size())
		return;
	at = wn_round_up(at, spacing);
	if (lane->spacing != spacing || at > lane->top || at < lane->seed) {
		lane->spacing = spacing;
		lane->seed = lane->sprout = lane->top = at;
	}
	/* Nobody comes to those that have been passed. */
	lane->sprout = wn_min(lane->sprout, at);
	plant(k, f, lane, wn_above(at, SEEDS * spacing));
	sprout(k, f, lane, wn_above(at, SPROUTS * spacing));
}

bool wn_seed_ripe(const struct wn_lane *lane, uint64_t at)
{
	return lane->spacing && at % lane->spacing == 0 && at >= lane->sprout &&
	       at < lane->top;
}

uint64_t wn_seed_mark(const struct wn_lane *lane, uint64_t at)
{
	return wn_seed_ripe(lane, at) ? at - (WINDOW_PAGES - 1) * wn_page_size() : 0;
}

void wn_seed_clear(const struct wn_kernel *k, const struct wn_engine_file *f,
		   struct wn_lane *lane, uint64_t at)
{
	uint64_t length = SEED_PAGES * wn_page_size();

	wn_count(k->stats, kernel_calls, 1);
	wn_sys->fadvise((int)f->fd1 - 1, (off_t)(at - length), (off_t)length,
			POSIX_FADV_DONTNEED);
	lane->top = at;
}

/* SPDX-License-Identifier: MIT */
/*
 * Beginning a ride with large folios.  The kernel's folios grow from window to window of
 * one open file, and since Linux 6.16 that file remembers how large they are; but a read of
 * a page that is not cached begins with small ones again.  A window that begins at a mark
 * does not, whoever made the mark.  So the mark is made through another open file:
 *
 *   1. Some time before, a page is read alone, five pages in front of the place.
 *   2. When it is there, a read of its last byte makes the page behind it one that is read
 *      in sequence: a read of that one starts the smallest of all windows, four pages, of
 *      which the second is marked.  It ends at the place.
 *   3. A read at the mark through the lane's open file starts a whole window at the place.
 *
 * The five pages would be in the way of a large folio when what lies in front of the place
 * is asked for, so they are let go before.  Older kernels take the size of the folios from
 * the marked one: there the ride begins small, as it would without a seed.
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
 * How many are planted: a device that is busy has all that was asked for before a seed to
 * read first, and that is up to four blocks; see order_down() in walk.c.
 */
enum { SEEDS = 8 };
/* With less readahead the smallest window has another size. */
enum { LEAST_READAHEAD_PAGES = 32 };

/* One byte through the file's own descriptor: 1 when it is cached. */
static int look(const struct wn_kernel *k, const struct wn_engine_file *f, uint64_t at)
{
	struct iovec iov = { .iov_base = k->last_byte, .iov_len = 1 };

	wn_count(k->stats, kernel_calls, 1);
	return (int)wn_sys->preadv2((int)f->fd1 - 1, &iov, (off_t)at, RWF_NOWAIT);
}

void wn_seed_plant(const struct wn_kernel *k, const struct wn_engine_file *f,
		   struct wn_lane *lane, uint64_t at, uint64_t spacing)
{
	uint64_t page = wn_page_size();
	uint64_t last = wn_above(at, SEEDS * spacing);

	if (f->way != WN_RIDE || f->readahead < LEAST_READAHEAD_PAGES * page)
		return;
	/* Going on where the last ones were planted. */
	if (lane->spacing == spacing && lane->seed <= at)
		at = lane->seed;
	while (at > spacing && wn_round_down(at - 1, spacing) >= wn_max(last, spacing)) {
		at = wn_round_down(at - 1, spacing);
		look(k, f, at - SEED_PAGES * page);
	}
	lane->seed = at;
	lane->spacing = spacing;
}

bool wn_seed_ripe(const struct wn_kernel *k, const struct wn_engine_file *f,
		  const struct wn_lane *lane, uint64_t at)
{
	return lane->spacing && at >= lane->seed && at && at % lane->spacing == 0 &&
	       look(k, f, at - WINDOW_PAGES * wn_page_size() - 1) == 1;
}

bool wn_seed_window(const struct wn_kernel *k, const struct wn_engine_file *f,
		    struct wn_lane *lane, uint64_t at, uint64_t *mark)
{
	uint64_t page = wn_page_size();

	if (!wn_seed_ripe(k, f, lane, at))
		return false;
	lane->litter = at;
	if (look(k, f, at - WINDOW_PAGES * page) != -EAGAIN)
		return false;
	*mark = at - (WINDOW_PAGES - 1) * page;
	return true;
}

void wn_seed_clear(const struct wn_kernel *k, const struct wn_engine_file *f,
		   struct wn_lane *lane)
{
	uint64_t length = SEED_PAGES * wn_page_size();

	if (!lane->litter || !f->fd1)
		return;
	wn_count(k->stats, kernel_calls, 1);
	wn_sys->fadvise((int)f->fd1 - 1, (off_t)(lane->litter - length), (off_t)length,
			POSIX_FADV_DONTNEED);
	lane->litter = 0;
}

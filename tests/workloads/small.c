/* SPDX-License-Identifier: MIT */
/* What a call costs that has nothing to wait for. */
#include "workload.h"

#include <errno.h>
#include <time.h>

static double small_batch(struct wl_thread *t, size_t size, uint64_t calls)
{
	const unsigned char *src = t->w->map + t->begin;
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (uint64_t i = 0; i < calls; i++)
		wl_memcpy(t->dst, src + (i & 63) * 64, size);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) /
	       (double)calls;
}

int wl_small(struct wl_thread *t)
{
	enum { BATCHES = 20 };
	struct wl_piece piece = { .offset = t->begin, .length = 2 * WL_PAGE };
	uint64_t calls = t->w->p.calls / BATCHES;

	if (t->end - t->begin < piece.length || t->w->p.piece < piece.length || !calls)
		return -EINVAL;
	for (unsigned s = 0; s < WL_SMALL_SIZES; s++) {
		double best = 0;

		/* The least of many short batches is the time without interruptions. */
		for (unsigned i = 0; i < BATCHES; i++) {
			double ns = small_batch(t, (size_t)8 << s, calls);

			if (i == 0 || ns < best)
				best = ns;
		}
		t->w->small_ns[s] = best;
		t->calls += calls * BATCHES;
	}
	wl_memcpy(t->dst, t->w->map + t->begin, piece.length);
	wl_account(t, t->dst, &piece);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* The patterns of mappings: what is done with each piece. */
#include "workload.h"

#include <errno.h>
#include <string.h>

/* Through volatile pointers: a compiler may not replace the call by its own code, so the
 * exported symbol is called, which is the one that a preload library can see. */
void *(*volatile wl_memcpy)(void *, const void *, size_t) = memcpy;
void *(*volatile wl_memmove)(void *, const void *, size_t) = memmove;

int wl_copy(struct wl_thread *t)
{
	struct wl_piece piece;

	while (wl_next(t, &piece)) {
		wl_memcpy(t->dst, t->w->map + piece.offset, piece.length);
		wl_account(t, t->dst, &piece);
	}
	return 0;
}

int wl_load(struct wl_thread *t)
{
	bool backward = t->w->p.order == WL_BACKWARD;
	uint64_t step = t->w->p.step;
	struct wl_piece piece;

	while (wl_next(t, &piece)) {
		const unsigned char *base = t->w->map + piece.offset;
		uint64_t count = (piece.length + step - 1) / step;
		uint64_t sum = 0;

		for (uint64_t i = 0; i < count; i++) {
			uint64_t at = (backward ? count - 1 - i : i) * step;

			sum += *(const volatile unsigned char *)(base + at) *
			       ((piece.offset + at) / 8 * 2 + 1);
		}
		t->sum += sum;
		t->bytes += piece.length;
		t->calls += count;
	}
	return 0;
}

int wl_move(struct wl_thread *t)
{
	struct wl_piece moved = { .offset = t->begin, .length = t->end - t->begin };
	uint64_t shift = t->w->p.shift;

	if (moved.length <= shift)
		return -EINVAL;
	moved.length -= shift;
	wl_memmove(t->w->map + t->begin + shift, t->w->map + t->begin, moved.length);
	wl_account(t, t->w->map + t->begin + shift, &moved);
	return 0;
}

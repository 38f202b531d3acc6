/* SPDX-License-Identifier: MIT */
#include "stride.h"

#include <stddef.h>

#include "base/arena.h"
#include "base/mem.h"

static struct wn_stride *slot_of(struct wn_strides *t, const struct wn_access *a,
				 uint32_t serial)
{
	struct wn_stride *oldest = &t->slot[0];

	for (int i = 0; i < WN_STRIDES; i++) {
		struct wn_stride *s = &t->slot[i];

		if (s->live && s->thread == a->thread && s->file == a->file &&
		    s->serial == serial)
			return s;
		if (!s->live || (oldest->live && s->used_ns < oldest->used_ns))
			oldest = s;
	}
	*oldest = (struct wn_stride){
		.last = wn_round_down(a->offset, wn_page_size()),
		.before = a->offset,
		.length = wn_page_size(),
		.thread = a->thread,
		.serial = serial,
		.file = a->file,
		.live = true,
	};
	return oldest;
}

static uint64_t length_of(int64_t step)
{
	return (uint64_t)(step < 0 ? -step : step);
}

/*
 * Further pages of the record where the reader is: so long are they all, at least.  Each
 * such fault doubles the length, so that there are few of them.
 */
static bool within(struct wn_stride *s, uint64_t x, bool major)
{
	uint64_t way = length_of(s->step);

	if (x < s->last || x - s->last >= way / 2)
		return false;
	if (major && x - s->last >= s->length)
		s->length = wn_min(wn_max(2 * s->length, x - s->last + wn_page_size()),
				   way / 2);
	return true;
}

/* How many steps from the last record; 0: it is at none. */
static uint32_t steps_to(const struct wn_stride *s, uint64_t x)
{
	int64_t way = (int64_t)(x - s->last);

	if (!s->step || way % s->step || way / s->step < 1 ||
	    way / s->step > WN_STRIDE_AHEAD)
		return 0;
	return (uint32_t)(way / s->step);
}

struct wn_stride *wn_stride_fault(struct wn_strides *t, const struct wn_access *a,
				  uint64_t least, uint32_t serial, uint64_t now_ns)
{
	struct wn_stride *s = slot_of(t, a, serial);
	uint64_t x = wn_round_down(a->offset, wn_page_size());
	bool believed = s->steps >= WN_STRIDE_STEPS;
	uint64_t before = s->before;
	uint32_t n = steps_to(s, x);

	s->used_ns = now_ns;
	s->before = x;
	/* Reads tell how long a record is. */
	if (a->kind == WN_ACCESS_READ)
		s->length = a->offset + a->length - x;
	if (x == s->last)
		return believed ? s : NULL;
	if (believed && within(s, x, a->flags & WN_ACCESS_FAULTED))
		return s;
	/* Other pages of the record where it is now, before there is a stride. */
	if (!believed && length_of((int64_t)(x - s->last)) < least)
		return NULL;
	/* One that comes from close by is on a walk. */
	if (!believed && length_of((int64_t)(x - before)) < least) {
		s->last = x;
		s->step = 0;
		s->steps = 0;
		return NULL;
	}
	/* Some faults are not seen, but only what was asked for may be skipped. */
	if (n == 1 || (n && believed)) {
		s->last = x;
		s->steps += n;
		return s->steps >= WN_STRIDE_STEPS ? s : NULL;
	}
	s->step = (int64_t)(x - s->last);
	s->last = x;
	s->edge = x;
	if (a->kind != WN_ACCESS_READ)
		s->length = wn_page_size();
	s->steps = 1;
	return NULL;
}

bool wn_stride_order(struct wn_stride *s, uint64_t most, uint64_t file_size,
		     struct wn_order *o)
{
	uint64_t way = length_of(s->step);
	uint64_t limit = wn_min(wn_min(s->steps, WN_STRIDE_AHEAD), most / s->length);
	bool behind = s->step < 0 ? s->edge > s->last : s->edge < s->last;
	uint64_t ahead, next;

	if (behind)
		s->edge = s->last;
	ahead = length_of((int64_t)(s->edge - s->last)) / way;
	next = s->edge + (uint64_t)s->step;
	if (ahead >= limit || (s->step < 0 && s->edge < way) || next >= file_size)
		return false;
	s->edge = next;
	*o = (struct wn_order){
		.from = next,
		.exact = wn_min(next + s->length, file_size),
		.to = wn_min(next + s->length, file_size),
	};
	return true;
}

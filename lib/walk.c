/* SPDX-License-Identifier: MIT */
#include "walk.h"

#include <stddef.h>

#include "base/arena.h"
#include "base/mem.h"

/* Down: the longer a block is that is ridden, the larger are its folios. */
#define BLOCK_MIN (64u * 1024)
#define BAND (256u * 1024)
#define STEP_UP (128u * 1024)
#define BLOCK_MAX (16u * 1024 * 1024)

uint64_t wn_walk_ahead(const struct wn_walk *w)
{
	if (!w->live || !w->asking)
		return 0;
	return w->down ? wn_above(w->pos, w->edge) : wn_above(w->edge, w->pos);
}

/*
 * Does x continue this walk?  Also a little behind the reader, where several threads or a
 * second load in the same neighbourhood come late.
 */
static bool continues(const struct wn_walk *w, uint64_t x, uint64_t gap)
{
	uint64_t low, high;

	if (!w->steps)
		return x != w->pos && (x > w->pos ? x - w->pos : w->pos - x) <= gap;
	low = wn_above(w->down && w->asking ? wn_min(w->edge, w->pos) : w->pos, gap);
	high = (!w->down && w->asking ? wn_max(w->edge, w->pos) : w->pos) + gap;
	return x >= low && x <= high;
}

static int find(const struct wn_walks *t, const struct wn_access *a, uint64_t gap,
		uint32_t serial)
{
	int best = -1;

	for (uint32_t i = 0; i < t->used; i++) {
		const struct wn_walk *w = &t->slot[i];

		if (!w->live || w->read || w->file != a->file || w->serial != serial ||
		    !continues(w, a->offset, gap))
			continue;
		if (w->thread == a->thread)
			return (int)i;
		/* Others may take turns on a way, but not begin one together. */
		if (w->steps >= WN_WALK_STEPS)
			best = (int)i;
	}
	return best;
}

static bool is_young(const struct wn_walk *w)
{
	return w->steps < WN_WALK_STEPS;
}

int wn_walk_room(struct wn_walks *t, void (*retired)(void *ctx, int index), void *ctx)
{
	int oldest = 0;

	for (uint32_t i = 0; i < WN_WALKS; i++) {
		const struct wn_walk *w = &t->slot[i], *o = &t->slot[oldest];

		if (!w->live) {
			t->used = (uint32_t)wn_max(t->used, i + 1);
			return (int)i;
		}
		/* Those that are only a fault go first. */
		if (is_young(w) != is_young(o) ? is_young(w) : w->used_ns < o->used_ns)
			oldest = (int)i;
	}
	if (retired)
		retired(ctx, oldest);
	return oldest;
}

static void step(struct wn_walk *w, uint64_t x)
{
	bool down = x < w->pos;
	uint64_t way = down ? w->pos - x : x - w->pos;

	if (!w->steps) {
		w->down = down;
		w->passed = 0;
		w->asking = false;
	}
	/* One that goes to and fro is no walk, but a few faults may come out of order. */
	if (down != w->down && way > BAND) {
		w->steps--;
		w->passed /= 2;
	}
	if (down != w->down || !way)
		return;
	w->passed += way;
	w->pos = x;
	if (w->steps < 1000)
		w->steps = (uint16_t)(w->steps + 1 +
				      (way == w->stride || way == wn_page_size()));
	w->stride = way;
	w->stirred = true;
}

int wn_walk_fault(struct wn_walks *t, const struct wn_access *a, const struct wn_gaps *g,
		  uint32_t serial, uint64_t now_ns, bool *joined,
		  void (*retired)(void *ctx, int index), void *ctx)
{
	uint64_t x = wn_round_down(a->offset, wn_page_size());
	bool major = a->flags & WN_ACCESS_FAULTED;
	int i = find(t, a, major ? g->major : g->minor, serial);

	*joined = i >= 0;
	if (i >= 0) {
		step(&t->slot[i], x);
	} else {
		i = wn_walk_room(t, retired, ctx);
		t->slot[i] = (struct wn_walk){
			.begin = x,
			.began_ns = now_ns,
			.pos = x,
			.serial = serial,
			.file = a->file,
			.live = true,
		};
	}
	t->slot[i].thread = a->thread;
	t->slot[i].used_ns = now_ns;
	t->slot[i].huge = a->flags & WN_ACCESS_HUGE;
	t->slot[i].doubted = a->flags & WN_ACCESS_EXACT;
	return i;
}

static uint64_t power_below(uint64_t v)
{
	return v ? (uint64_t)1 << (63 - __builtin_clzll(v)) : 0;
}

uint64_t wn_walk_block(uint64_t unit, uint64_t may)
{
	uint64_t block = wn_max(wn_min(power_below(may / 4), BLOCK_MAX), BLOCK_MIN);

	if (block < unit && power_below(may / 2) >= unit)
		block = power_below(may / 2);
	return block;
}

/* Blocks in descending order. */
static bool order_down(const struct wn_walk *w, uint64_t unit, uint64_t may,
		       struct wn_order *o)
{
	uint64_t edge = w->asking ? wn_min(w->edge, w->pos) : w->pos;
	uint64_t goal = wn_above(w->pos, may);
	uint64_t block = wn_walk_block(unit, may);

	if (edge <= goal || wn_round_down(edge - 1, block) < goal)
		return false;
	o->from = wn_round_down(edge - 1, block);
	o->to = edge;
	/* What lies above has been read, or asked for: nothing is lost by going there. */
	o->exact = edge;
	o->slack = 2 * unit;
	return true;
}

/* Where to ask on, upward: what comes next, the kernel is at, up to `floor` further. */
static uint64_t edge_up(const struct wn_walk *w, uint64_t floor)
{
	uint64_t next = w->pos + floor;

	if (!w->asking)
		return next;
	/* The read has just begun, and for the end of it nobody has asked. */
	if (w->read && w->alone && w->edge > w->high - w->piece)
		return w->edge;
	return wn_max(w->edge, next);
}

static bool order_up(const struct wn_walk *w, uint64_t unit, uint64_t floor, uint64_t may,
		     uint64_t size, struct wn_order *o)
{
	uint64_t edge = wn_min(edge_up(w, floor), size);
	uint64_t goal = wn_min(w->pos + may, size);

	if (goal <= edge || (goal - edge < wn_max(unit, STEP_UP) && goal < size))
		return false;
	o->from = edge;
	o->exact = edge;
	o->to = goal;
	o->slack = wn_min(wn_above(w->passed, may), 2 * unit);
	return true;
}

/*
 * How far it may be expected to go on: as far as it has come, but not past the usual length
 * before it has gone past that.  Before a fault is seen the kernel has read `floor`; reads
 * are seen before that.
 */
static uint64_t outlook(const struct wn_walk *w, uint64_t floor)
{
	if (!w->read)
		return wn_max(w->passed, floor);
	if (!w->habit)
		return w->passed;
	return wn_min(w->passed, w->passed < w->habit ? w->habit - w->passed :
							w->passed - w->habit);
}

bool wn_walk_order(const struct wn_walk *w, uint64_t unit, uint64_t floor, uint64_t most,
		   uint64_t file_size, struct wn_order *o)
{
	uint64_t may;

	/* Where it was seen its fault is over, and its reader waits for the next one. */
	if (w->down)
		most += wn_min(w->stride, most / 8);
	may = wn_min(outlook(w, floor), most);
	if (!w->down && w->lead)
		may = wn_min(may, wn_max(w->lead, floor));

	if (!w->live || w->steps < (w->doubted ? WN_WALK_PROOF : WN_WALK_STEPS))
		return false;
	o->unit = unit;
	return w->down ? order_down(w, unit, may, o) :
			 order_up(w, unit, floor, may, file_size, o);
}

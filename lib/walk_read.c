/* SPDX-License-Identifier: MIT */
/* Walks of reads through descriptors, which tell where they begin and end. */
#include "base/arena.h"
#include "base/mem.h"
#include "marks.h"
#include "walk.h"

/* One that is not expected is believed after so many reads. */
#define PROOF 32u
/* Several threads with such pieces keep a device as busy as it can be. */
#define LARGE (256u * 1024)
#define CROWD_MAX 16
/* A walk cannot be turned round by fewer reads than it took to believe it. */
#define TREND_MAX (2 * WN_WALK_STEPS)

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static bool is_sequel(const struct wn_access *a)
{
	return a->flags & (WN_ACCESS_UP | WN_ACCESS_DOWN);
}

/*
 * How far this read is from where the walk goes on.  One that fills a gap is of the walk,
 * unless its thread has read what lies before it too: that is another way through.
 */
static uint64_t distance(const struct wn_walk *w, const struct wn_access *a)
{
	if (!is_sequel(a) && a->offset >= w->low && a->offset < w->high)
		return 0;
	return wn_min(apart(a->offset, w->high), apart(a->offset + a->length, w->low));
}

static bool is_of(const struct wn_walk *w, const struct wn_access *a, uint32_t serial)
{
	return w->live && w->read && w->file == a->file && w->serial == serial;
}

static struct wn_walk *find(struct wn_walks *t, const struct wn_access *a, uint32_t serial)
{
	uint64_t least = WN_READ_GAP + WN_READ_BAND * wn_min(a->length, WN_READ_PIECE);
	struct wn_walk *best = NULL;

	for (uint32_t i = 0; i < t->used; i++) {
		struct wn_walk *w = &t->slot[i];
		uint64_t way;

		if (!is_of(w, a, serial))
			continue;
		way = distance(w, a);
		if (way > least || (way == least && best))
			continue;
		least = way;
		best = w;
	}
	return best;
}

/* Which way did this read take it?  One that its thread made in sequence counts double. */
static int32_t direction(const struct wn_walk *w, const struct wn_access *a)
{
	uint64_t up = wn_above(a->offset + a->length, w->high);
	uint64_t down = wn_above(w->low, a->offset);

	if (a->flags & WN_ACCESS_UP)
		return up ? 2 : 0;
	if (a->flags & WN_ACCESS_DOWN)
		return down ? -2 : 0;
	return (up > down) - (up < down);
}

static void turn_to(struct wn_walk *w, int32_t trend)
{
	bool down = trend < 0;

	trend = trend > TREND_MAX ? TREND_MAX : trend < -TREND_MAX ? -TREND_MAX : trend;
	if (down != w->down) {
		w->asking = false;
		w->settled_ns = 0;
	}
	w->down = down;
	w->trend = trend;
}

/* Was most of what it has passed read? */
static bool is_dense(const struct wn_walk *w)
{
	return w->taken >= w->passed - w->passed / 4;
}

bool wn_walk_leaves_gaps(const struct wn_walks *t, int index)
{
	const struct wn_walk *w = &t->slot[index];

	/* Large pieces need nobody to ask for them before they are read. */
	return w->reads > WN_READ_BAND && !is_dense(w) && w->taken / w->reads < LARGE;
}

static bool is_crowded(const struct wn_walk *w)
{
	return w->crowd >= CROWD_MAX / 2;
}

bool wn_walk_crowded(const struct wn_walks *t, int index)
{
	return is_crowded(&t->slot[index]);
}

/* Where the reader is, and how far it has come. */
static void settle(struct wn_walk *w)
{
	w->passed = w->high - w->low;
	w->pos = wn_round_down(w->down ? w->low : w->high - 1, wn_page_size());
	w->begin = w->down ? w->high : w->low;
	w->steps = 0;
	w->stirred = true;
	if (!is_dense(w) || is_crowded(w))
		return;
	if (!w->doubted)
		w->steps = (uint16_t)(w->down ? -w->trend : w->trend);
	else if (w->reads >= PROOF)
		w->steps = WN_WALK_PROOF;
}

/*
 * The thread has gone elsewhere: as long as the way that it left will most likely be the
 * next one, and nothing behind that need be asked for.
 */
static uint64_t habit_of(const struct wn_walks *t, const struct wn_access *a,
			 uint32_t serial)
{
	const struct wn_walk *left = NULL;

	for (uint32_t i = 0; i < t->used; i++) {
		const struct wn_walk *w = &t->slot[i];

		if (is_of(w, a, serial) && w->thread == a->thread &&
		    w->steps >= WN_WALK_STEPS && (!left || w->used_ns > left->used_ns))
			left = w;
	}
	return left ? left->passed : 0;
}

/* Threads that share a way may have begun it as two. */
static void absorb(struct wn_walks *t, struct wn_walk *w, const struct wn_access *a,
		   void (*retired)(void *ctx, int index), void *ctx)
{
	for (uint32_t i = 0; i < t->used; i++) {
		struct wn_walk *o = &t->slot[i];

		if (o == w || !is_of(o, a, w->serial) || o->low >= w->high ||
		    o->high <= w->low)
			continue;
		w->low = wn_min(w->low, o->low);
		w->high = wn_max(w->high, o->high);
		w->taken += o->taken;
		if (retired)
			retired(ctx, (int)i);
		o->live = false;
	}
}

int wn_walk_read(struct wn_walks *t, const struct wn_access *a, uint32_t serial,
		 uint64_t now_ns, void (*retired)(void *ctx, int index), void *ctx)
{
	struct wn_walk *w = find(t, a, serial);

	if (!w) {
		uint64_t habit = habit_of(t, a, serial);
		uint64_t edge = a->flags & WN_ACCESS_DOWN ? a->offset + a->length :
							    a->offset;

		w = &t->slot[wn_walk_room(t, retired, ctx)];
		*w = (struct wn_walk){
			.serial = serial,
			.file = a->file,
			.live = true,
			.read = true,
			.thread = a->thread,
			.habit = habit,
			.began_ns = now_ns,
			.low = edge,
			.high = edge,
		};
	}
	turn_to(w, w->trend + direction(w, a));
	w->low = wn_min(w->low, a->offset);
	w->high = wn_max(w->high, a->offset + a->length);
	w->taken += a->length;
	w->reads++;
	w->piece = a->flags & WN_ACCESS_LONG ? a->length : 0;
	if (!is_sequel(a))
		absorb(t, w, a, retired, ctx);
	if (w->thread != a->thread && a->length >= LARGE)
		w->crowd += w->crowd < CROWD_MAX;
	else
		w->crowd -= w->crowd > 0;
	w->thread = a->thread;
	w->doubted = a->flags & WN_ACCESS_EXACT;
	w->used_ns = now_ns;
	settle(w);
	return (int)(w - t->slot);
}

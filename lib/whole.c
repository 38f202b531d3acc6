/* SPDX-License-Identifier: MIT */
#include "whole.h"

#include <stddef.h>

#include "base/mem.h"

#define CELL (64u * 1024)
/* A file of fewer regions is read before anything is known of it. */
#define LEAST_REGIONS 16
/* So often a thread that was seen before began its way away from all that was read... */
#define JUMPS 4
/* ...and so many of all ways began further up, and as many further down. */
#define EACH_WAY 2
/* What was read on its way is so many times the faults and reads that were on none, */
#define STRAY_SHARE 2
/* and such a part of what lies between the readers. */
#define READ_SHARE 8
/*
 * Of what should have been used a quarter has been, once so many ways should have been; with
 * fewer, chance decides.
 */
#define USE_SHARE 4
#define USE_WAYS 4
/* So many major faults where everything was fetched: it is evicted before it is used. */
#define MISSES 32

static uint64_t region_size(const struct wn_whole *w)
{
	return w->cell * WN_WHOLE_CELLS;
}

static bool is_ours(const struct wn_whole *w, uint64_t region)
{
	return w->ours[region / 32] >> (region % 32) & 1;
}

struct wn_whole *wn_whole_of(struct wn_wholes *t, uint16_t file, uint32_t serial)
{
	for (int i = 0; i < WN_WHOLES; i++)
		if (t->slot[i].live && t->slot[i].file == file && t->slot[i].serial == serial)
			return &t->slot[i];
	return NULL;
}

struct wn_whole *wn_whole_meet(struct wn_wholes *t, uint16_t file, uint32_t serial,
			       uint64_t size, uint64_t now_ns,
			       void (*retired)(void *ctx, int index), void *ctx)
{
	struct wn_whole *w = wn_whole_of(t, file, serial);
	uint64_t cell = CELL;

	if (w || size < (uint64_t)LEAST_REGIONS * CELL * WN_WHOLE_CELLS)
		return w;
	w = &t->slot[0];
	for (int i = 1; i < WN_WHOLES && w->live; i++)
		if (!t->slot[i].live || t->slot[i].used_ns < w->used_ns)
			w = &t->slot[i];
	if (w->live && retired)
		retired(ctx, (int)(w - t->slot));
	while (size > cell * WN_WHOLE_CELLS * WN_WHOLE_REGIONS)
		cell *= 2;
	*w = (struct wn_whole){
		.size = size,
		.cell = cell,
		.low = WN_WHOLE_REGIONS,
		.used_ns = now_ns,
		.serial = serial,
		.file = file,
		.live = true,
	};
	return w;
}

/* Was anything read in this region, or next to it? */
static bool is_near(const struct wn_whole *w, uint32_t region)
{
	return w->cells[region] || (region && w->cells[region - 1]) ||
	       (region + 1 < WN_WHOLE_REGIONS && w->cells[region + 1]);
}

static uint32_t threads_of(const struct wn_whole *w)
{
	uint32_t n = 0;

	for (int i = 0; i < 4; i++)
		n += (uint32_t)__builtin_popcountll(w->threads[i]);
	return n;
}

static void read_cell(struct wn_whole *w, uint64_t cell)
{
	uint32_t region = (uint32_t)(cell / WN_WHOLE_CELLS);
	uint32_t bit = 1u << cell % WN_WHOLE_CELLS;
	uint64_t unread;

	if (w->cells[region] & bit)
		return;
	unread = wn_whole_unread(w) / w->cell;
	if (w->fetching && unread)
		w->due += wn_min(256 * (w->asked - w->hits) / unread, 256);
	w->hits += is_ours(w, region);
	w->cells[region] |= bit;
	w->read++;
	w->low = (uint32_t)wn_min(w->low, region);
	w->high = (uint32_t)wn_max(w->high, region + 1);
}

void wn_whole_passed(struct wn_whole *w, uint32_t thread, uint64_t from, uint64_t to,
		     uint64_t now_ns)
{
	to = wn_min(to, w->size);
	if (from >= to)
		return;
	if (!is_near(w, (uint32_t)(from / region_size(w)))) {
		w->up += from > w->last;
		w->down += from < w->last;
		w->last = from;
	}
	w->threads[thread / 64 % 4] |= (uint64_t)1 << thread % 64;
	w->used_ns = now_ns;
	for (uint64_t cell = from / w->cell; cell <= (to - 1) / w->cell; cell++)
		read_cell(w, cell);
}

void wn_whole_stray(struct wn_whole *w, uint64_t offset, bool missing)
{
	w->strays++;
	if (w->fetching && missing && offset < w->size && is_ours(w, offset / region_size(w)) &&
	    (offset < w->edge - wn_min(w->edge, 2 * region_size(w))))
		w->misses++;
}

uint64_t wn_whole_span(const struct wn_whole *w)
{
	return w->low < w->high ? (w->high - w->low) * region_size(w) : 0;
}

uint64_t wn_whole_unread(const struct wn_whole *w)
{
	return wn_above(wn_whole_span(w), w->read * w->cell);
}

uint64_t wn_whole_ahead(const struct wn_whole *w)
{
	return w->live ? wn_above(w->asked, w->hits) * w->cell : 0;
}

bool wn_whole_proven(const struct wn_whole *w)
{
	uint64_t unread = wn_whole_unread(w) / w->cell;

	return w->live && w->up + w->down >= threads_of(w) + JUMPS &&
	       wn_min(w->up, w->down) >= EACH_WAY && w->strays * STRAY_SHARE <= w->read &&
	       w->read * READ_SHARE >= unread + w->read;
}

bool wn_whole_pays(const struct wn_whole *w)
{
	uint64_t way = w->read / wn_max(w->up + w->down, 1);

	return w->misses < MISSES && w->strays * STRAY_SHARE <= w->read &&
	       (w->due < 256 * USE_WAYS * way || w->hits * USE_SHARE * 256 >= w->due);
}

/* Nobody has come here, and nobody has fetched it. */
static bool is_untouched(const struct wn_whole *w, uint64_t region)
{
	return !w->cells[region] && !is_ours(w, region);
}

static uint64_t next_untouched(const struct wn_whole *w, uint64_t from)
{
	from = wn_max(from, w->low);
	while (from < w->high && !is_untouched(w, from))
		from++;
	return wn_min(from, w->high);
}

bool wn_whole_order(const struct wn_whole *w, uint64_t unit, uint64_t most,
		    struct wn_order *o)
{
	uint64_t size = region_size(w);
	uint64_t first = next_untouched(w, wn_round_up(w->edge, size) / size), end, run;

	/* Readers may have come to places before all others meanwhile. */
	if (first == w->high)
		first = next_untouched(w, w->low);
	/* Not more at a time than is needed to keep the device busy. */
	most = wn_min(most, wn_max(4 * unit, size));
	for (end = first; end < w->high && is_untouched(w, end) &&
			  (end + 1 - first) * size <= most;)
		end++;
	/* A ride goes on into what is fetched next. */
	for (run = end; run < w->high && is_untouched(w, run) && (run - first) * size < 8 * unit;)
		run++;
	/* Whole windows, for the sake of large folios, where there is room for them. */
	if (end == first || (end < run && (end - first) * size < unit))
		return false;
	o->from = first * size;
	o->to = wn_min(end * size, w->size);
	o->exact = o->to;
	o->unit = unit;
	o->slack = wn_above(wn_min(run * size, w->size), o->to);
	return true;
}

void wn_whole_asked(struct wn_whole *w, uint64_t from, uint64_t to)
{
	uint64_t size = region_size(w);

	for (uint64_t region = from / size; region * size < to; region++) {
		if (is_ours(w, region))
			continue;
		w->ours[region / 32] |= 1u << region % 32;
		w->asked += WN_WHOLE_CELLS - (uint64_t)__builtin_popcount(w->cells[region]);
	}
	w->edge = to;
}

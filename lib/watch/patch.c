/* SPDX-License-Identifier: MIT */
/* Regions of the page table that grow at one end or the other: where readers come on. */
#include "base/arena.h"
#include "base/mem.h"
#include "watch/scan.h"

/* What a page table has entries for; all of it is looked at if any is. */
#define TABLE (2u * 1024 * 1024)
/* What a patch may grow by between two looks: the rest is seen by the next one. */
#define GROWTH (128u * 1024 * 1024)
/* Where a new patch is seen to grow, so much of what was there is told too. */
#define PAST (512u * 1024)
/* A reader that has come so far is no longer looked at page by page. */
#define FINE (1024u * 1024)
#define REGIONS 16

struct wn_patch *wn_patch_above(struct wn_scan *s, uint64_t at)
{
	struct wn_patch *best = NULL;

	for (uint32_t i = 0; i < s->used; i++)
		if (s->patch[i].high > at && (!best || s->patch[i].high < best->high))
			best = &s->patch[i];
	return best;
}

struct wn_patch *wn_patch_below(struct wn_scan *s, uint64_t at)
{
	struct wn_patch *best = NULL;

	for (uint32_t i = 0; i < s->used; i++)
		if (s->patch[i].low < at && (!best || s->patch[i].low > best->low))
			best = &s->patch[i];
	return best;
}

static void drop(struct wn_scan *s, struct wn_patch *f)
{
	*f = s->patch[--s->used];
}

static struct wn_patch *add(struct wn_scan *s, const struct wn_stretch *r, uint64_t now_ns)
{
	struct wn_patch *f = &s->patch[s->used];

	if (s->used == WN_PATCHES) {
		f = s->patch;
		for (uint32_t i = 1; i < WN_PATCHES; i++)
			if (s->patch[i].moved_ns < f->moved_ns)
				f = &s->patch[i];
	} else {
		s->used++;
	}
	/* Which end grows is not known: both are prepared to tell where it came from. */
	*f = (struct wn_patch){
		.low = r->start,
		.high = r->end,
		.down = wn_min(r->end, r->start + PAST),
		.up = wn_max(r->start, wn_above(r->end, PAST)),
		.moved_ns = now_ns,
		.step = WN_PATCH_STEP,
	};
	return f;
}

void wn_patch_add(struct wn_scan *s, const struct wn_stretch *r, uint64_t now_ns)
{
	add(s, r, now_ns);
}

/* There it is known which end grows, and all of it is of interest. */
void wn_patch_edge(struct wn_scan *s, uint64_t at, bool last, uint64_t now_ns)
{
	const struct wn_stretch r = { at, at + wn_page_size() };
	struct wn_patch *f = add(s, &r, now_ns);

	f->edge = true;
	f->falls = last;
	f->rises = !last;
	f->down = r.end;
	f->up = r.start;
}

/* How far down from `at` it is populated without a gap, but not below floor. */
static uint64_t reach_down(const struct wn_pages *p, uint64_t at, uint64_t floor)
{
	struct wn_stretch r[REGIONS];
	uint64_t step = TABLE, stopped;

	floor = wn_max(floor, wn_above(at, GROWTH));
	while (at > floor) {
		uint64_t from = wn_max(floor, wn_round_down(at - 1, TABLE) - (step - TABLE));
		int n = wn_pages_look(p, from, at, r, REGIONS, &stopped);

		if (n <= 0 || r[n - 1].end != at)
			return at;
		at = r[n - 1].start;
		if (at > from)
			return at;
		step = wn_min(2 * step, GROWTH / 4);
	}
	return at;
}

static uint64_t reach_up(const struct wn_pages *p, uint64_t at, uint64_t ceiling)
{
	struct wn_stretch r[1];
	uint64_t step = TABLE, stopped;

	ceiling = wn_min(ceiling, at + GROWTH);
	while (at < ceiling) {
		uint64_t to = wn_min(ceiling, wn_round_down(at, TABLE) + step);
		int n = wn_pages_look(p, at, to, r, 1, &stopped);

		if (n <= 0 || r[0].start != at)
			return at;
		at = r[0].end;
		if (at < to)
			return at;
		step = wn_min(2 * step, GROWTH / 4);
	}
	return at;
}

/* The two have met: each goes on at its other end. */
static void join(struct wn_scan *s, struct wn_patch *lower, struct wn_patch *upper)
{
	lower->high = upper->high;
	lower->up = upper->up;
	lower->rises = upper->rises;
	lower->moved_ns = wn_max(lower->moved_ns, upper->moved_ns);
	drop(s, upper);
}

/*
 * Where the kernel reads no more than is asked for (MADV_SEQUENTIAL, downward), each page
 * takes a major fault, and a few are enough to see.  But a single fault may map pages that
 * were cached, all around it: so no more faults are told than there were.
 */
static uint64_t step_of(const struct wn_patch *f, uint64_t majors)
{
	uint64_t news = f->falls ? f->down - f->low : f->high - f->up;

	majors += f->owed;
	if (!f->edge || !majors || f->high - f->low > FINE)
		return WN_PATCH_STEP;
	return wn_min(wn_max(wn_round_down(news / majors, wn_page_size()), wn_page_size()),
		      WN_PATCH_STEP);
}

static bool grow(struct wn_scan *s, struct wn_patch *f, const struct wn_map *m, uint64_t majors,
		 uint64_t now_ns)
{
	const struct wn_patch *below = wn_patch_below(s, f->low);
	const struct wn_patch *above = wn_patch_above(s, f->high);
	uint64_t low = reach_down(&s->pages, f->low,
				  wn_max(m->start, below ? below->high : 0));
	uint64_t high = reach_up(&s->pages, f->high,
				 wn_min(m->end, above ? above->low : UINT64_MAX));

	if (low == f->low && high == f->high) {
		/* The page where it began took one of them. */
		if (f->edge && high - low == wn_page_size())
			f->owed += majors;
		return false;
	}
	f->falls |= low < f->low;
	f->rises |= high > f->high;
	f->low = low;
	f->high = high;
	f->moved_ns = now_ns;
	f->step = step_of(f, majors);
	f->owed = 0;
	return true;
}

bool wn_patches_grow(struct wn_scan *s, const struct wn_track *t, uint64_t majors,
		     uint64_t now_ns)
{
	bool any = false;

	for (uint32_t i = 0; i < s->used;) {
		struct wn_patch *f = &s->patch[i], *other;
		struct wn_map m;

		if (!wn_map_find(t, f->low, &m) || f->high > m.end) {
			drop(s, f);
			continue;
		}
		any |= grow(s, f, &m, majors, now_ns);
		other = wn_patch_below(s, f->low);
		if (other && other->high == f->low) {
			join(s, other, f);
			continue;
		}
		other = wn_patch_above(s, f->high);
		if (other && other->low == f->high) {
			join(s, f, other);
			continue;
		}
		i++;
	}
	return any;
}

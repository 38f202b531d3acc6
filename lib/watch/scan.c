/* SPDX-License-Identifier: MIT */
#include "watch/scan.h"

#include <errno.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/sys.h"
#include "watch/watch.h"

#define MS 1000000u
#define LOOK_NS (MS / 16)
#define REST_MIN_NS (1u * MS)
#define REST_MAX_NS (16u * MS)
/*
 * What looking takes of the processor, beyond a little that is free, is a part of the time
 * that goes by; a larger one where it is of use.
 */
#define FREE_NS (2u * MS)
/* What it takes to be woken for a look, about; that cannot be measured from here. */
#define WAKE_NS (MS / 25)
#define SHARE 200
#define USEFUL_SHARE 4
/* It is of use for so long after something was: a reader may wait for the device meanwhile. */
#define USEFUL_NS (100u * MS)
/*
 * So many looks that show faults and nothing that grows end what is free; and more of them
 * are made after longer and longer lulls.
 */
#define USELESS 16
#define LULL_MAX_NS (128u * MS)
/* New patches are looked for so long after the program has read what was not cached. */
#define COLD_NS (100u * MS)
/* A region so long is more than a few pages that happened to be neighbours. */
#define PATCH_MIN (3 * WN_PATCH_STEP)
#define REGIONS 32
/* At a time. */
#define LOOKS 16
#define SAMPLES 64
/* Where only samples are taken, they are so far apart in the end. */
#define GRID (1024u * 1024)

int wn_scan_open(struct wn_scan *s, bool by_scan)
{
	struct wn_process_reads p;

	*s = (struct wn_scan){ .rest_ns = REST_MIN_NS };
	s->thread = (uint32_t)wn_sys->getpid();
	wn_sys->process_reads(&p);
	s->majors = p.major;
	return wn_pages_open(&s->pages, by_scan);
}

void wn_scan_close(struct wn_scan *s)
{
	wn_pages_close(&s->pages);
	*s = (struct wn_scan){ 0 };
}

/* The next mapping that is watched, from the cursor on. */
static bool next_map(struct wn_scan *s, const struct wn_watch_use *u, struct wn_map *m)
{
	while (wn_map_after(u->track, s->cursor, m)) {
		s->cursor = wn_max(s->cursor, m->start);
		if (m->end - m->start >= u->options->value[WN_OPT_MIN_WATCH] && !m->random &&
		    !m->huge)
			return true;
		s->cursor = m->end;
	}
	return false;
}

static void take_regions(struct wn_scan *s, const struct wn_stretch *r, int n, uint64_t now_ns)
{
	for (int i = 0; i < n; i++) {
		const struct wn_patch *f = wn_patch_above(s, r[i].start);

		/* What touches a patch will be a part of it. */
		if (r[i].end - r[i].start >= PATCH_MIN && !(f && f->low <= r[i].end))
			wn_patch_add(s, &r[i], now_ns);
	}
}

/* What lies between the patches, until there is more of it than a look can tell. */
static int look_between(struct wn_scan *s, const struct wn_watch_use *u, uint64_t now_ns)
{
	struct wn_stretch r[REGIONS];
	struct wn_map m;
	int n;

	for (int looks = 0; looks < LOOKS; looks++) {
		const struct wn_patch *f;
		uint64_t end;

		if (!next_map(s, u, &m)) {
			s->cursor = 0;
			return 0;
		}
		f = wn_patch_above(s, s->cursor);
		if (f && f->low <= s->cursor) {
			s->cursor = f->high;
			continue;
		}
		end = f ? wn_min(f->low, m.end) : m.end;
		n = wn_pages_look(&s->pages, s->cursor, end, r, REGIONS, &s->cursor);
		if (n < 0)
			return n;
		take_regions(s, r, n, now_ns);
		if (n == REGIONS)
			return 0;
		s->cursor = end;
	}
	return 0;
}

/* Most readers begin at an end of a mapping: these are looked at each time. */
static int look_at_ends(struct wn_scan *s, const struct wn_watch_use *u, uint64_t now_ns)
{
	uint64_t page = wn_page_size(), cursor = s->cursor, stopped;
	struct wn_stretch r[1];
	struct wn_map m;
	int n = 0;

	s->cursor = 0;
	for (int maps = 0; maps < SAMPLES / 4 && n >= 0 && next_map(s, u, &m); maps++) {
		for (int last = 0; last < 2 && n >= 0; last++) {
			uint64_t at = last ? m.end - page : m.start;
			const struct wn_patch *f = wn_patch_above(s, at);

			if (f && f->low <= at)
				continue;
			n = wn_pages_look(&s->pages, at, at + page, r, 1, &stopped);
			if (n > 0)
				wn_patch_edge(s, at, last, now_ns);
		}
		s->cursor = m.end;
	}
	s->cursor = cursor;
	return n < 0 ? n : 0;
}

/* One page tells whether a reader was here: if so, how much is there around it? */
static int sample(struct wn_scan *s, uint64_t at, const struct wn_map *m, uint64_t now_ns)
{
	uint64_t from = wn_max(m->start, wn_above(at, 2 * PATCH_MIN)), stopped;
	uint64_t to = wn_min(m->end, at + 2 * PATCH_MIN);
	const struct wn_patch *f = wn_patch_above(s, at);
	struct wn_stretch r[REGIONS];
	int n;

	if (f && f->low <= at)
		return 0;
	n = wn_pages_look(&s->pages, at, at + wn_page_size(), r, 1, &stopped);
	if (n <= 0)
		return n;
	n = wn_pages_look(&s->pages, from, to, r, REGIONS, &stopped);
	for (int i = 0; i < n; i++)
		if (r[i].start <= at && at < r[i].end)
			take_regions(s, &r[i], 1, now_ns);
	return n;
}

/* Half, a quarter, three quarters, an eighth, ... of length, for n = 1, 2, ... */
static uint64_t part_of(uint64_t length, uint32_t n)
{
	uint32_t mirrored = 0;

	for (int bit = 0; bit < 16; bit++)
		mirrored |= (n >> bit & 1) << (15 - bit);
	return (length >> 16) * mirrored;
}

/*
 * A page of each mapping by turns, and first where readers begin that share one; the page
 * below, too, since they may go down from there.
 */
static int take_samples(struct wn_scan *s, const struct wn_watch_use *u, uint64_t now_ns)
{
	uint64_t page = wn_page_size(), at;
	struct wn_map m;
	int r = 0;

	for (int n = 0; n < SAMPLES && r >= 0; n++) {
		if (!next_map(s, u, &m)) {
			s->cursor = 0;
			s->turn = s->sampled ? s->turn + 1 : 1;
			s->sampled = false;
			continue;
		}
		s->cursor = m.end;
		if (s->turn > (m.end - m.start) / GRID || s->turn >> 16)
			continue;
		s->sampled = true;
		at = m.start + wn_max(wn_round_down(part_of(m.end - m.start, s->turn), page), page);
		r = sample(s, at, &m, now_ns);
		if (r >= 0)
			r = sample(s, at - page, &m, now_ns);
	}
	return r;
}

/* What the program's own threads have had to read since they began. */
static uint64_t cold_reads(const struct wn_process_reads *all)
{
	struct wn_thread_reads own;

	wn_sys->thread_reads(&own);
	return wn_above(all->major + all->blocks, own.faults + own.blocks);
}

static uint64_t share_of(const struct wn_scan *s, uint64_t now_ns)
{
	return s->useful_ns && now_ns - s->useful_ns < USEFUL_NS ? USEFUL_SHARE : SHARE;
}

/* As long as it is free, not long: a reader that begins is to be noticed soon. */
static uint64_t rest_of(const struct wn_scan *s, bool grown, uint64_t now_ns)
{
	if (s->look.debt_ns < FREE_NS && share_of(s, now_ns) == SHARE)
		return LOOK_NS;
	return grown ? REST_MIN_NS : wn_min(2 * wn_max(s->rest_ns, REST_MIN_NS), REST_MAX_NS);
}

static void settle(struct wn_account *a, uint64_t share)
{
	uint64_t pause = wn_max(wn_above(a->debt_ns, FREE_NS) * share, LOOK_NS);

	a->due_ns = a->paid_ns + wn_min(pause, LULL_MAX_NS);
}

static void pay(struct wn_account *a, uint64_t cost_ns, uint64_t share, uint64_t now_ns)
{
	a->debt_ns = wn_above(a->debt_ns, (now_ns - a->paid_ns) / share) + cost_ns;
	a->paid_ns = now_ns;
	settle(a, share);
}

static int look(struct wn_scan *s, const struct wn_watch_use *u, uint64_t majors,
		uint64_t now_ns)
{
	bool cold = now_ns - s->cold_ns < COLD_NS, grown;
	int r = cold ? look_at_ends(s, u, now_ns) : 0;

	wn_count(u->stats, watch_looks, 1);
	grown = wn_patches_grow(s, u->track, majors, now_ns);
	if (grown || share_of(s, now_ns) != SHARE) {
		s->lull_ns = 0;
		s->useless = 0;
	} else if (majors && s->useless < USELESS) {
		s->useless++;
		s->look.debt_ns += FREE_NS / USELESS;
	} else if (majors) {
		s->lull_ns = wn_min(2 * wn_max(s->lull_ns, LOOK_NS), LULL_MAX_NS);
	}
	s->rest_ns = rest_of(s, grown, now_ns);
	return r;
}

/*
 * It costs more, and so that it does not keep us from looking at what is known, it is on
 * its own account.
 */
static int search(struct wn_scan *s, const struct wn_watch_use *u, uint64_t now_ns)
{
	uint64_t began;
	int r;

	if (now_ns - s->cold_ns >= COLD_NS || now_ns < s->search.due_ns)
		return 0;
	began = wn_sys->cpu_ns();
	r = s->pages.by_scan ? look_between(s, u, now_ns) : take_samples(s, u, now_ns);
	pay(&s->search, wn_sys->cpu_ns() - began, share_of(s, now_ns), now_ns);
	return r;
}

int wn_scan_tend(struct wn_scan *s, const struct wn_watch_use *u, uint64_t now_ns, bool *busy)
{
	struct wn_process_reads p;
	uint64_t share = share_of(s, now_ns);
	uint64_t cold, began, majors;
	int r;

	if (now_ns < s->look.due_ns)
		return 0;
	s->looked_ns = now_ns;
	wn_sys->process_reads(&p);
	if (p.minor + p.major == s->faults) {
		pay(&s->look, WAKE_NS, share, now_ns);
		s->rest_ns = rest_of(s, false, now_ns);
		return 0;
	}
	majors = p.major - s->majors;
	s->majors = p.major;
	s->faults = p.minor + p.major;
	cold = cold_reads(&p);
	if (cold > s->cold) {
		s->cold_ns = now_ns;
		*busy = true;
	}
	s->cold = cold;
	began = wn_sys->cpu_ns();
	r = look(s, u, majors, now_ns);
	pay(&s->look, wn_sys->cpu_ns() - began + WAKE_NS, share, now_ns);
	s->look.due_ns = wn_max(s->look.due_ns, now_ns + s->lull_ns);
	return r < 0 ? r : search(s, u, now_ns);
}

bool wn_scan_next(struct wn_scan *s, struct wn_fault *out)
{
	for (uint32_t i = 0; i < s->used; i++) {
		struct wn_patch *f = &s->patch[(s->next + i) % s->used];

		*out = (struct wn_fault){
			.thread = s->thread,
			.tap = WN_NO_TAP,
			.ns = s->looked_ns,
		};
		/* Only an end that has grown has anything to tell. */
		if (f->falls && f->down >= f->low + f->step) {
			f->down -= f->step;
			out->addr = f->down;
		} else if (f->rises && f->up + f->step <= f->high) {
			out->addr = f->up;
			f->up += f->step;
		} else {
			continue;
		}
		s->next = (s->next + i) % s->used;
		return true;
	}
	return false;
}

void wn_scan_judge(struct wn_scan *s, bool useful, uint64_t now_ns)
{
	if (!useful)
		return;
	s->useful_ns = now_ns;
	s->lull_ns = 0;
	settle(&s->look, USEFUL_SHARE);
	s->rest_ns = wn_min(s->rest_ns, REST_MIN_NS);
}

/* SPDX-License-Identifier: MIT */
#include "faults.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/sys.h"
#include "fetch.h"
#include "runtime.h"
#include "serve.h"
#include "why.h"

#define MS 1000000u
/* How often to look for progress, which wakes nobody; twice as often once a walk is helped. */
#define WALK_NS (1u * MS)
/* The same while a walk is not far ahead of its reader, or has just come on. */
#define YOUNG_NS (MS / 16)
/* One that is further ahead than this need not be seen that often... */
#define FAR (32u * 1024 * 1024)
#define FAR_PERIOD 8
/* ...but where folios are large, a minor fault may stand for 2 MiB. */
#define FAR_STEP (1024u * 1024)
#define YOUNG (2u * 1024 * 1024)
/* A walk that was quiet for so long is over; after so long a look now and then will do. */
#define WALK_END_NS (2000u * (uint64_t)MS)
#define WALK_QUIET_NS (20u * MS)
/* A reader may wait so long for what is on its way. */
#define STALL_NS (100u * MS)
#define QUIET_NS (10u * MS)
#define COPYING_NS (100u * MS)
/*
 * What lies between two minor faults that are seen: a mapped neighbourhood of 64 KiB each,
 * and what was missed before they were looked at.
 */
#define MINOR_GAP (256u * 1024)
#define SETTLE_NS (5u * MS)

/* A copy that tells about itself: its faults say nothing new. */
static bool is_copied(const struct wn_streams *t, const struct wn_access *a)
{
	for (uint32_t i = 0; i < t->used; i++) {
		const struct wn_stream *s = &t->slot[i];

		if (s->live && s->file == a->file && a->offset >= s->begin &&
		    a->offset < s->end)
			return true;
	}
	return false;
}

/* Does it pay to see where this reader goes between its major faults? */
static uint32_t wants_progress(const struct wn_loop *l, const struct wn_walk *w, bool wide)
{
	/* Where all has been fetched nothing else shows whether it is used. */
	if (wn_fetch_goes_on(l, w->file))
		return 1;
	if (w->cached ||
	    (wide && !w->doubted && !(w->down && w->steps >= WN_WALK_STEPS / 2)))
		return 0;
	return w->passed < FAR || w->stride > FAR_STEP ? 1 : FAR_PERIOD;
}

/* Did this fault hit what had been asked for before it?  Some are heard of late. */
static bool was_missing(const struct wn_loop *l, struct wn_walk *w, uint64_t x, uint64_t ns)
{
	bool missing = w->asking && w->settled_ns && ns > w->settled_ns &&
		       (w->down ? x >= w->settled + WN_NEIGHBOURHOOD && x < w->first :
				  x < w->settled && x >= w->first);

	if (w->asking && (!w->settled_ns || l->now - w->settled_ns > SETTLE_NS)) {
		w->settled = w->edge;
		w->settled_ns = l->now;
	}
	return missing;
}

/* A single fault is no reason to open a file, if its device is known. */
static bool is_first(const struct wn_loop *l, uint16_t file, uint32_t serial)
{
	if (!wn_load(&l->k.track->files.slot[file].chunk) || wn_engine_is_open(&l->k, file))
		return false;
	for (uint32_t i = 0; i < l->st->walks.used; i++) {
		const struct wn_walk *w = &l->st->walks.slot[i];

		if (w->live && w->file == file && w->serial == serial)
			return false;
	}
	return true;
}

bool wn_faults_take(struct wn_loop *l, const struct wn_access *a, uint64_t ns)
{
	struct wn_file *file = &l->k.track->files.slot[a->file];
	uint32_t serial = wn_load(&file->serial);
	struct wn_gaps g = { .minor = MINOR_GAP };
	bool exact = a->flags & WN_ACCESS_EXACT;
	bool first = is_first(l, a->file, serial);
	struct wn_walk *w;
	bool joined, led;
	int i;

	wn_count(&l->st->stats, watched_faults, 1);
	if (exact && wn_load(&l->k.options->value[WN_OPT_RANDOM]) == WN_RANDOM_OBEY) {
		wn_why_tracked(l->k.options, WN_WHY_RANDOM, file, a->thread);
		return false;
	}
	if (!first && !wn_engine_prepare(&l->k, a->file, a->thread))
		return false;
	/* Half of its window on each side of a fault, to the end of a neighbourhood. */
	g.major = wn_max(wn_load(&file->kernel_window), WN_SOME_WINDOW) / 2 +
		  WN_NEIGHBOURHOOD;
	/* Or two huge pages, of which one is mapped. */
	if (a->flags & WN_ACCESS_HUGE)
		g.major = g.minor = 2 * wn_huge_page();
	/* There it reads one page: only pages in a row prove anything. */
	if (exact)
		g = (struct wn_gaps){ .major = wn_page_size(), .minor = WN_NEIGHBOURHOOD };
	i = wn_walk_fault(&l->st->walks, a, &g, serial, l->now, &joined, wn_serve_retired,
			  l);
	if (first) {
		w = &l->st->walks.slot[i];
		wn_watch_closer(&l->st->watch, a->thread,
				wants_progress(l, w, wn_load(&file->wide)));
		return false;
	}
	/* A walk that is led shows in few faults, far from each other: it comes first. */
	led = joined && l->st->walks.slot[i].steps >= WN_WALK_STEPS;
	wn_fetch_saw(l, a, led ? &l->st->walks.slot[i] : NULL);
	if (!led && !exact && wn_serve_stride(l, a, g.major, serial)) {
		/* What has been asked for shows in minor faults only. */
		wn_watch_closer(&l->st->watch, a->thread, 1);
		return true;
	}
	if (i < 0)
		return false;
	w = &l->st->walks.slot[i];
	if (!(a->flags & WN_ACCESS_FAULTED))
		wn_engine_judge(&l->k, WN_STREAMS + i, a->file, false);
	else if (was_missing(l, w, a->offset, ns))
		wn_engine_judge(&l->k, WN_STREAMS + i, a->file, true);
	wn_watch_closer(&l->st->watch, a->thread, wants_progress(l, w, wn_load(&file->wide)));
	/* One that nothing was asked for after so many steps never will be led. */
	return joined && w->steps >= WN_WALK_STEPS && !w->cached &&
	       (w->asking || w->steps < 4 * WN_WALK_STEPS);
}

static void see(struct wn_loop *l)
{
	struct wn_state *st = l->st;
	struct wn_fault f;
	struct wn_map m;

	/* As many as all rings hold, and no more: then others have their turn. */
	for (int n = 0; n < 4096 && wn_watch_next(&st->watch, &f); n++) {
		struct wn_access a = { .thread = f.thread, .kind = WN_ACCESS_FAULT };
		bool useful = false;

		if (wn_map_find(l->k.track, f.addr, &m)) {
			a.offset = m.offset + (f.addr - m.start);
			a.file = m.file;
			a.length = wn_page_size();
			a.flags = (uint8_t)((m.random ? WN_ACCESS_EXACT : 0) |
					    (m.huge ? WN_ACCESS_HUGE : 0) |
					    (f.major ? WN_ACCESS_FAULTED : 0));
			l->thread = f.thread;
			if (f.major)
				l->worked = l->now;
			useful = is_copied(&st->streams, &a) || wn_faults_take(l, &a, f.ns);
		}
		wn_watch_judge(&st->watch, f.tap, useful, l->now);
	}
}

/*
 * Opening the first events takes the kernel a while, and copies, which tell about
 * themselves, are not to wait for that.
 */
static bool is_copying(const struct wn_loop *l)
{
	for (uint32_t i = 0; i < l->st->streams.used; i++) {
		const struct wn_stream *s = &l->st->streams.slot[i];

		if (s->live && !s->request && l->now - s->used_ns < COPYING_NS)
			return true;
	}
	return false;
}

/* When to look where this reader is, if no major fault of it wakes us. */
static uint64_t look_again(struct wn_loop *l, const struct wn_walk *w)
{
	/* Reads wake us themselves; and what is no longer mapped nobody reads on. */
	if (!w->steps || w->read || w->cached ||
	    !wn_load(&l->k.track->files.slot[w->file].refs))
		return UINT64_MAX;
	/* Its reader may only have lost the processor: upward nothing else would show it. */
	if (l->now - w->used_ns > (w->asking ? STALL_NS : WALK_QUIET_NS))
		return w->asking ? QUIET_NS : UINT64_MAX;
	l->worked = l->now;
	/* Upward nothing is asked for that is shorter than a unit. */
	if (w->vain ||
	    (!w->asking && !w->down && w->passed < l->st->engine.file[w->file].unit / 2))
		return WALK_NS;
	if (w->steps >= WN_WALK_STEPS && (w->passed < YOUNG || w->used_ns == l->now))
		return YOUNG_NS;
	return w->asking ? WALK_NS / 2 : WALK_NS;
}

static bool watches(struct wn_loop *l)
{
	const struct wn_watch_use use = {
		.options = l->k.options,
		.stats = &l->st->stats,
		.track = l->k.track,
		.sleeping = &l->st->sleeping,
		.stack_top = wn_waker_stack(),
	};

	if (!wn_load(&l->st->watching) || (!l->st->watch.armed && is_copying(l)))
		return false;
	if (wn_watch_tend(&l->st->watch, &use, l->now))
		return true;
	if (l->st->watch.failed)
		wn_why_process(l->k.options, WN_WHY_NO_SENSE, 0);
	return false;
}

uint64_t wn_faults_round(struct wn_loop *l)
{
	struct wn_walks *t = &l->st->walks;
	uint64_t rest = UINT64_MAX;

	if (watches(l))
		see(l);
	if (l->st->watch.busy)
		l->worked = l->now;
	for (uint32_t i = 0; i < t->used && !wn_load(&wn_rt.stops); i++) {
		struct wn_walk *w = &t->slot[i];
		uint32_t serial = wn_load(&l->k.track->files.slot[w->file].serial);

		if (!w->live)
			continue;
		if (w->serial != serial || l->now - w->used_ns > WALK_END_NS) {
			if (!w->read)
				wn_watch_closer(&l->st->watch, w->thread, 0);
			wn_serve_retired(l, (int)i);
			continue;
		}
		if (w->stirred && wn_engine_prepare(&l->k, w->file, w->thread))
			wn_serve_walk(l, (int)i);
		rest = wn_min(rest, look_again(l, w));
	}
	rest = wn_min(rest, wn_fetch_round(l));
	return wn_max(rest, wn_watch_soonest(&l->st->watch, l->now));
}

void wn_faults_end(struct wn_loop *l)
{
	for (uint32_t i = 0; i < l->st->walks.used; i++)
		if (l->st->walks.slot[i].live)
			wn_serve_retired(l, (int)i);
	wn_fetch_end(l);
	wn_watch_close(&l->st->watch);
}

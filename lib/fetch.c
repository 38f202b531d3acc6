/* SPDX-License-Identifier: MIT */
#include "fetch.h"

#include "base/limits.h"
#include "base/sys.h"
#include "log.h"
#include "runtime.h"
#include "serve.h"

#define MS 1000000u
/* How often to look what has arrived, and for how long after the last reader was seen. */
#define LOOK_NS (1u * MS)
#define QUIET_NS (20u * MS)
/* Readers that were quiet for so long have ended. */
#define END_NS (2000u * (uint64_t)MS)
/* So many windows are under way at a time: the readers' own are not to wait for more. */
#define UNDER_WAY 4
/*
 * All of it, with what has been read, fits into half of the free memory, of which the policy
 * gives an eighth.
 */
#define FIT 4
/* So far a walk has gone before it is a way that was read through. */
#define WAY_MIN (512u * 1024)

static int lane_of(const struct wn_loop *l, const struct wn_whole *w)
{
	return WN_STREAMS + WN_WALKS + (int)(w - l->st->wholes.slot);
}

static void retired(void *ctx, int index)
{
	struct wn_loop *l = ctx;
	struct wn_whole *w = &l->st->wholes.slot[index];

	wn_engine_unused(&l->k, lane_of(l, w), wn_whole_ahead(w));
	wn_engine_close_lane(&l->k, lane_of(l, w));
	w->live = false;
}

static struct wn_whole *whole_of(struct wn_loop *l, uint16_t file)
{
	const struct wn_engine_file *f = &l->st->engine.file[file];
	struct wn_whole *w;

	if (wn_load(&l->k.options->value[WN_OPT_WHOLE]) == WN_WHOLE_OFF)
		return NULL;
	/* Where the kernel's own window is wide, ways show in too few faults; see HACKING.md. */
	if (wn_load(&l->k.track->files.slot[file].wide))
		return NULL;
	w = wn_whole_meet(&l->st->wholes, file, f->serial, f->size, l->now, retired, l);
	return w && w->over ? NULL : w;
}

void wn_fetch_saw(struct wn_loop *l, const struct wn_access *a, struct wn_walk *walk)
{
	struct wn_whole *w = whole_of(l, a->file);
	uint64_t from;

	if (!w)
		return;
	if (!walk || walk->steps < WN_WALK_STEPS || walk->doubted) {
		wn_whole_stray(w, a->offset, a->flags & WN_ACCESS_FAULTED);
		return;
	}
	if (walk->passed < WAY_MIN)
		return;
	from = walk->told1 ? walk->told1 - 1 : walk->begin;
	wn_whole_passed(w, a->thread, wn_min(from, walk->pos), wn_max(from, walk->pos), l->now);
	walk->told1 = walk->pos + 1;
}

bool wn_fetch_goes_on(const struct wn_loop *l, uint16_t file)
{
	struct wn_whole *w = wn_whole_of(&l->st->wholes, file,
					 wn_load(&l->k.track->files.slot[file].serial));

	return w && w->fetching;
}

static void end(struct wn_loop *l, struct wn_whole *w)
{
	wn_log(l->k.options, "no longer fetched as a whole: inode ", "",
	       l->k.track->files.slot[w->file].ino);
	wn_engine_close_lane(&l->k, lane_of(l, w));
	w->fetching = false;
	w->over = true;
}

static bool begins(struct wn_loop *l, struct wn_whole *w)
{
	const struct wn_engine_file *f = &l->st->engine.file[w->file];

	if (!wn_whole_proven(w) || wn_mode() != WN_MODE_ON)
		return false;
	wn_policy_refresh(&l->st->policy, l->k.options, l->now, wn_memory_headroom);
	if (f->way == WN_ADDRESS || wn_whole_span(w) / FIT > l->st->policy.memory)
		return false;
	w->fetching = true;
	w->edge = w->landed = 0;
	wn_count(&l->st->stats, wholes, 1);
	return true;
}

/* Less than has been read, and not while the policy would have the memory for others. */
static uint64_t most_ahead(struct wn_loop *l, const struct wn_whole *w)
{
	struct wn_bounds b = { 0 };
	uint64_t most;

	wn_policy_refresh(&l->st->policy, l->k.options, l->now, wn_memory_headroom);
	wn_streams_share(&l->st->streams, &b);
	wn_serve_share(&l->st->walks, &b);
	wn_fetch_share(&l->st->wholes, &b);
	most = wn_above(l->st->policy.budget, b.ahead);
	/* What is ahead of its walks waits to be read, too, and some of it always will. */
	return wn_min(most, wn_above(w->read * w->cell / 4 * 3, b.ahead));
}

/* What is under way and has not arrived. */
static uint64_t under_way(struct wn_loop *l, struct wn_whole *w)
{
	struct wn_stream s = {
		.file = w->file,
		.serial = w->serial,
		.pos = w->landed,
		.asked = w->edge,
		.landed = w->landed,
	};

	w->landed = wn_engine_landed(&l->k, lane_of(l, w), &s);
	/* The null engine sees nothing arrive. */
	if (!l->st->engine.file[w->file].fd1)
		w->landed = w->edge;
	return wn_above(w->edge, w->landed);
}

static void fetch(struct wn_loop *l, struct wn_whole *w)
{
	const struct wn_engine_file *f = &l->st->engine.file[w->file];
	struct wn_order o;

	while (under_way(l, w) < UNDER_WAY * f->unit &&
	       wn_whole_order(w, f->unit, most_ahead(l, w), &o)) {
		struct wn_stream s = { .file = w->file, .serial = w->serial };
		uint64_t to, before = wn_asked_ahead(l->k.stats);

		/* What comes before a gap counts as arrived. */
		if (o.from != w->edge)
			w->landed = o.from;
		s.pos = o.from;
		to = wn_engine_ask(&l->k, lane_of(l, w), &s, &o);
		wn_count(&l->st->stats, whole_bytes, wn_asked_ahead(l->k.stats) - before);
		wn_whole_asked(w, o.from, wn_max(to, o.to));
	}
}

uint64_t wn_fetch_round(struct wn_loop *l)
{
	uint64_t rest = UINT64_MAX;

	for (int i = 0; i < WN_WHOLES && !wn_load(&wn_rt.stops); i++) {
		struct wn_whole *w = &l->st->wholes.slot[i];
		uint64_t quiet = l->now - w->used_ns;

		if (!w->live)
			continue;
		if (w->serial != wn_load(&l->k.track->files.slot[w->file].serial)) {
			retired(l, i);
			continue;
		}
		if (w->over || (!w->fetching && !begins(l, w)))
			continue;
		if (!wn_whole_pays(w) || quiet > END_NS ||
		    !wn_engine_prepare(&l->k, w->file, l->thread)) {
			end(l, w);
			continue;
		}
		if (quiet > QUIET_NS || wn_load(&l->st->tight))
			continue;
		fetch(l, w);
		rest = LOOK_NS;
	}
	return rest;
}

void wn_fetch_share(const struct wn_wholes *t, struct wn_bounds *b)
{
	for (int i = 0; i < WN_WHOLES; i++)
		b->ahead += wn_whole_ahead(&t->slot[i]);
}

void wn_fetch_end(struct wn_loop *l)
{
	for (int i = 0; i < WN_WHOLES; i++)
		if (l->st->wholes.slot[i].live)
			retired(l, i);
}

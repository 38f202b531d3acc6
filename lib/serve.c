/* SPDX-License-Identifier: MIT */
#include "serve.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/sys.h"
#include "fetch.h"
#include "runtime.h"
#include "why.h"

#define MS 1000000u
/* How often a reader's speed is measured, and what of its way may lie ahead of it. */
#define GAUGE_NS (50u * MS)
#define STRETCH_NS (50u * MS)
/* Pages up to so far ahead of a walk tell whether its file is cached. */
#define AHEAD_MAX (64u * 1024 * 1024)

void wn_serve_retired(void *ctx, int index)
{
	struct wn_loop *l = ctx;
	struct wn_walk *w = &l->st->walks.slot[index];

	wn_engine_unused(&l->k, WN_STREAMS + index, wn_walk_ahead(w));
	wn_engine_close_lane(&l->k, WN_STREAMS + index);
	w->live = false;
}

void wn_serve_share(const struct wn_walks *t, struct wn_bounds *b)
{
	for (uint32_t i = 0; i < t->used; i++) {
		b->ahead += wn_walk_ahead(&t->slot[i]);
		b->streams += t->slot[i].live && t->slot[i].asking;
	}
}

/*
 * What its reader, or the device where that is slower, gets through in a twentieth of a
 * second: more than that ahead gains nothing, and is lost if the reader stops.
 */
static void gauge(struct wn_walk *w, uint64_t now_ns)
{
	uint64_t ns = now_ns - w->gauge_ns;
	uint64_t way = w->pos > w->gauge ? w->pos - w->gauge : w->gauge - w->pos;

	if (w->gauge_ns && ns < GAUGE_NS)
		return;
	/* A device may deliver nothing for a while, and then much: it falls slowly. */
	if (w->gauge_ns && w->asking)
		w->stretch = wn_max(wn_max(way / (ns / 1024) * (STRETCH_NS / 1024), 1),
				    w->stretch / 4 * 3);
	w->gauge = w->pos;
	w->gauge_ns = now_ns;
}

/* Not while the policy would rather have the memory for others. */
static uint64_t most_ahead(const struct wn_loop *l, const struct wn_walk *w)
{
	const struct wn_policy *p = &l->st->policy;
	struct wn_bounds b = { .streams = !w->asking };
	uint64_t most;

	wn_streams_share(&l->st->streams, &b);
	wn_serve_share(&l->st->walks, &b);
	b.ahead -= wn_walk_ahead(w);
	most = wn_min(wn_load(&l->k.options->value[WN_OPT_WINDOW]),
		      p->budget / (b.streams ? b.streams : 1));
	if (w->stretch)
		most = wn_min(most,
			      wn_max(w->stretch, 2 * l->st->engine.file[w->file].unit));
	return wn_min(most, wn_above(p->budget, b.ahead));
}

/*
 * Downward in chunks, the last one first, since that is where the reader comes first; or in
 * one ride.  False when it is better to wait.
 */
static bool ask_down(struct wn_loop *l, int index, struct wn_walk *w,
		     const struct wn_order *o, uint64_t spacing)
{
	struct wn_engine_file *f = &l->st->engine.file[w->file];
	struct wn_stream s = { .file = w->file, .serial = w->serial };
	struct wn_lane *lane = &l->k.engine->lane[WN_STREAMS + index];
	uint64_t length = o->to - o->from, before = wn_asked_ahead(l->k.stats);
	bool ripe = f->way == WN_RIDE && length >= f->unit && wn_seed_ripe(lane, o->from);
	/* Without a seed the folios of a short ride would be small. */
	bool ride = ripe || (f->way == WN_RIDE && length >= 4 * f->unit);
	struct wn_order piece = *o;
	uint64_t chunk = f->chunk & -f->chunk;
	bool leave = w->huge && !ripe, wait = leave && length >= f->unit;

	/* Before long, blocks will be long enough for it. */
	if (4 * length >= f->unit || w->huge)
		wn_seed_plant(&l->k, f, lane, wait ? o->to : o->from, spacing);
	if (wait)
		return false;
	while (piece.to > o->from && !leave) {
		piece.from = ride ? o->from :
				    wn_max(o->from, wn_round_down(piece.to - 1, chunk));
		piece.exact = piece.to;
		/* Advice for what is too short for a ride, and close to the reader. */
		piece.slack = ride ? o->slack : 0;
		s.pos = piece.from;
		wn_engine_ask(&l->k, WN_STREAMS + index, &s, &piece);
		piece.to = piece.from;
	}
	w->edge = o->from;
	/* What is left to the kernel has not been asked for. */
	if (leave)
		w->first = o->from;
	wn_count(&l->st->stats, walk_bytes, wn_asked_ahead(l->k.stats) - before);
	return true;
}

static void ask_up(struct wn_loop *l, int index, struct wn_walk *w,
		   const struct wn_order *o)
{
	struct wn_stream s = { .file = w->file, .serial = w->serial, .pos = o->from };
	uint64_t before = wn_asked_ahead(l->k.stats);

	w->edge = wn_engine_ask(&l->k, WN_STREAMS + index, &s, o);
	wn_count(&l->st->stats, walk_bytes, wn_asked_ahead(l->k.stats) - before);
}

/*
 * Where the next reader further up began: readahead in its way and ours would collide,
 * and what it has read need not be asked for.
 */
static uint64_t next_reader(const struct wn_walks *t, const struct wn_walk *w)
{
	uint64_t at = UINT64_MAX;

	for (uint32_t i = 0; i < t->used; i++) {
		const struct wn_walk *o = &t->slot[i];

		if (o->live && o->file == w->file && o->begin > w->pos)
			at = wn_min(at, o->begin);
	}
	return at;
}

/*
 * Upward the lead follows the reader's speed, as it does for streams.  (Downward it is more
 * that decides: the longer the blocks, the larger the folios.)
 */
static void pace(struct wn_loop *l, int index, struct wn_walk *w)
{
	uint64_t unit = l->st->engine.file[w->file].unit;
	struct wn_stream s = {
		.file = w->file,
		.serial = w->serial,
		.pos = w->pos,
		.asked = w->edge,
		.landed = w->landed,
		.lead = w->lead,
	};

	if (w->asking) {
		s.landed = w->landed = wn_engine_landed(&l->k, WN_STREAMS + index, &s);
		wn_policy_pace(l->k.options, &s, unit);
	}
	w->lead = wn_max(s.lead, 2 * unit);
}

/*
 * Is everything cached where this walk leads?  A few pages of it tell, behind what the
 * kernel has read by itself.
 */
static bool is_cached_ahead(const struct wn_loop *l, const struct wn_walk *w,
			    uint64_t window)
{
	uint64_t page = wn_page_size();
	unsigned char there;
	struct wn_map m;

	if (wn_load(&l->k.track->files.slot[w->file].hidden) ||
	    !wn_map_find_offset(l->k.track, w->file, w->pos, &m))
		return false;
	for (uint64_t far = wn_max(2 * window, 1024 * 1024); far <= AHEAD_MAX; far *= 4) {
		uint64_t at = w->down ? wn_above(w->pos, far) : w->pos + far;

		at = m.start + wn_above(wn_round_down(at, page), m.offset);
		if (wn_sys->mincore(wn_min(at, m.end - page), page, &there) < 0 ||
		    !(there & 1))
			return false;
	}
	return true;
}

bool wn_serve_goes_on(const struct wn_loop *l, int index)
{
	const struct wn_walk *w = &l->st->walks.slot[index];

	if (!w->live || !w->asking || wn_walk_crowded(&l->st->walks, index))
		return false;
	return w->down ? w->edge > 0 : w->edge < l->st->engine.file[w->file].size;
}

/*
 * The end of a file, and less than is asked for at a time: a reader that is fast is there
 * before that pays.
 */
static bool is_vain(const struct wn_loop *l, struct wn_walk *w, const struct wn_order *o)
{
	uint64_t size = l->st->engine.file[w->file].size;
	uint64_t run = w->passed, left = wn_above(size, w->pos);

	w->vain = false;
	if (w->down || w->asking || o->to < size || o->to - o->from >= o->unit)
		return false;
	w->vain = !wn_due_worth(&l->st->reads.due, (l->now - w->began_ns) >> 20, run, left);
	return w->vain;
}

void wn_serve_walk(struct wn_loop *l, int index)
{
	struct wn_walk *w = &l->st->walks.slot[index];
	struct wn_engine_file *f = &l->st->engine.file[w->file];
	const struct wn_file *file = &l->k.track->files.slot[w->file];
	uint64_t window = wn_load(&file->kernel_window);
	uint64_t floor = wn_max(wn_min(window, WN_SOME_WINDOW), WN_NEIGHBOURHOOD);
	uint64_t before, most;
	struct wn_order o;

	w->stirred = false;
	/*
	 * Where the program asked for no readahead, the kernel is nowhere ahead of it; nor
	 * where reads are asked for by their own threads, since they are so long (exact.h).
	 */
	w->alone = w->doubted || w->piece;
	if (w->alone)
		floor = wn_page_size();
	if (wn_mode() != WN_MODE_ON || w->steps < WN_WALK_STEPS || (!w->down && w->huge))
		return;
	if (!w->down && wn_load(&file->wide) && !w->doubted) {
		wn_why_tracked(l->k.options, WN_WHY_WIDE, file, w->thread);
		return;
	}
	w->cached = !w->asking && !w->read && is_cached_ahead(l, w, window);
	if (w->cached) {
		wn_why_tracked(l->k.options, WN_WHY_CACHED, file, w->thread);
		return;
	}
	wn_policy_refresh(&l->st->policy, l->k.options, l->now, wn_memory_headroom);
	gauge(w, l->now);
	if (!w->down)
		pace(l, index, w);
	for (;;) {
		most = most_ahead(l, w);
		if (!wn_walk_order(w, f->unit, floor, most, f->size, &o))
			return;
		if (!w->down)
			o.to = wn_min(o.to, wn_round_down(next_reader(&l->st->walks, w),
						     WN_NEIGHBOURHOOD));
		if (o.to <= o.from)
			return;
		if (is_vain(l, w, &o)) {
			wn_why_tracked(l->k.options, WN_WHY_NEAR_END, file, w->thread);
			return;
		}
		before = w->edge;
		wn_count(&l->st->stats, walks, !w->asking);
		if (!w->asking)
			w->first = w->down ? o.to : o.from;
		if (!w->down)
			ask_up(l, index, w, &o);
		else if (!ask_down(l, index, w, &o, wn_walk_block(f->unit, most)))
			return;
		if (w->asking && w->edge == before)
			return;
		w->asking = true;
	}
}

/* Records, a step apart that is too long for a walk: asked for one by one, and exactly. */
bool wn_serve_stride(struct wn_loop *l, const struct wn_access *a, uint64_t least,
		     uint32_t serial)
{
	struct wn_stride *r = wn_stride_fault(&l->st->strides, a, least, serial, l->now);
	struct wn_cover_file id = { .file = a->file, .serial = serial };
	struct wn_engine_file *f = &l->st->engine.file[a->file];
	struct wn_walk none = { 0 };
	struct wn_order o;

	if (!r)
		return false;
	while (wn_mode() == WN_MODE_ON &&
	       wn_stride_order(r, most_ahead(l, &none), f->size, &o)) {
		uint64_t before = wn_asked_ahead(l->k.stats);

		wn_engine_ask_exactly(&l->k, id, &o);
		wn_count(&l->st->stats, walk_bytes, wn_asked_ahead(l->k.stats) - before);
	}
	return true;
}

void wn_serve_read(struct wn_loop *l, const struct wn_access *a)
{
	struct wn_read_file *read = &l->st->reads.file[a->file];
	uint32_t serial = wn_load(&l->k.track->files.slot[a->file].serial);
	bool apart = a->flags & WN_ACCESS_APART;
	int i = -1;

	l->thread = a->thread;
	l->worked = l->now;
	l->st->reads.seen_ns[a->file] = l->now;
	if (!wn_engine_prepare(&l->k, a->file, a->thread))
		return;
	if (!apart) {
		i = wn_walk_read(&l->st->walks, a, serial, l->now, wn_serve_retired, l);
		apart = wn_walk_leaves_gaps(&l->st->walks, i);
		wn_store(&read->crowd, wn_walk_crowded(&l->st->walks, i));
	}
	if (wn_load(&read->crowd))
		wn_why_tracked(l->k.options, WN_WHY_CROWDED,
			       &l->k.track->files.slot[a->file], a->thread);
	wn_fetch_saw(l, a, i < 0 ? NULL : &l->st->walks.slot[i]);
	wn_store(&read->gaps, apart);
	if (apart && !(a->flags & WN_ACCESS_EXACT))
		wn_serve_stride(l, a, 1, serial);
}

void wn_serve_copy(struct wn_loop *l, const struct wn_access *a)
{
	uint32_t serial = wn_load(&l->k.track->files.slot[a->file].serial);
	struct wn_access read = *a;
	struct wn_walk *w;

	if (a->flags & WN_ACCESS_EXACT)
		return;
	read.kind = WN_ACCESS_READ;
	read.flags = a->flags & WN_ACCESS_DOWN;
	w = &l->st->walks.slot[wn_walk_read(&l->st->walks, &read, serial, l->now,
					    wn_serve_retired, l)];
	w->stirred = w->down;
}

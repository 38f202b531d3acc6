/* SPDX-License-Identifier: MIT */
#include "faults.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/sys.h"
#include "runtime.h"

#define MS 1000000u
/* How often to look for progress, which wakes nobody, while some walk is helped. */
#define WALK_NS (1u * MS)
/* The same while a walk has only begun, and is not far ahead of its reader. */
#define YOUNG_NS (MS / 8)
/* One that is further ahead than this need not be seen that often... */
#define FAR (32u * 1024 * 1024)
#define FAR_PERIOD 8
/* ...but where folios are large, a minor fault may stand for 2 MiB. */
#define FAR_STEP (1024u * 1024)
#define YOUNG (2u * 1024 * 1024)
/* A walk that was quiet for so long is over; after so long a look now and then will do. */
#define WALK_END_NS (2000u * (uint64_t)MS)
#define WALK_QUIET_NS (20u * MS)
#define QUIET_NS (10u * MS)
#define COPYING_NS (100u * MS)
/*
 * What lies between two minor faults that are seen: a mapped neighbourhood of 64 KiB each,
 * and what was missed before they were looked at.
 */
#define MINOR_GAP (256u * 1024)
#define NEIGHBOURHOOD (64u * 1024)
#define SETTLE_NS (5u * MS)
/* How often a reader's speed is measured, and what of its way may lie ahead of it. */
#define GAUGE_NS (50u * MS)
#define STRETCH_NS (50u * MS)
/* Where the kernel reads so much at a time by itself, upward it is best left alone. */
#define WIDE_WINDOW (4u * 1024 * 1024)
/* Pages up to so far ahead of a walk tell whether its file is cached. */
#define AHEAD_MAX (64u * 1024 * 1024)
/* What the kernel is taken to read at a fault as long as the device is not known. */
#define SOME_WINDOW (128u * 1024)

static void retired(void *ctx, int index)
{
	struct wn_loop *l = ctx;
	struct wn_walk *w = &l->st->walks.slot[index];

	wn_count(&l->st->stats, unused_bytes, wn_walk_ahead(w));
	wn_engine_close_lane(&l->k, WN_STREAMS + index);
	w->live = false;
}

void wn_faults_share(const struct wn_walks *t, struct wn_bounds *b)
{
	for (uint32_t i = 0; i < t->used; i++) {
		b->ahead += wn_walk_ahead(&t->slot[i]);
		b->streams += t->slot[i].live && t->slot[i].asking;
	}
}

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
	if (w->gauge_ns && w->asking)
		w->stretch = wn_max(way / (ns / 1024) * (STRETCH_NS / 1024), 1);
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
	wn_faults_share(&l->st->walks, &b);
	b.ahead -= wn_walk_ahead(w);
	most = wn_min(wn_load(&l->k.options->value[WN_OPT_WINDOW]),
		      p->budget / (b.streams ? b.streams : 1));
	if (w->stretch)
		most = wn_min(most, wn_max(w->stretch, 2 * l->st->engine.file[w->file].unit));
	return wn_min(most, wn_above(p->budget, b.ahead));
}

/* What one entry of the table above the last one maps. */
static uint64_t huge_page(void)
{
	return wn_page_size() / sizeof(uint64_t) * wn_page_size();
}

/*
 * Downward in chunks, the last one first, since that is where the reader comes first; or in
 * one ride.  False when it is better to wait.
 */
static bool ask_down(struct wn_loop *l, int index, struct wn_walk *w, const struct wn_order *o,
		     uint64_t spacing)
{
	struct wn_engine_file *f = &l->st->engine.file[w->file];
	struct wn_stream s = { .file = w->file, .serial = w->serial };
	struct wn_lane *lane = &l->k.engine->lane[WN_STREAMS + index];
	uint64_t length = o->to - o->from;
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
	else
		wn_count(&l->st->stats, walk_bytes, length);
	return true;
}

static void ask_up(struct wn_loop *l, int index, struct wn_walk *w, const struct wn_order *o)
{
	struct wn_stream s = { .file = w->file, .serial = w->serial, .pos = o->from };

	w->edge = wn_engine_ask(&l->k, WN_STREAMS + index, &s, o);
	wn_count(&l->st->stats, walk_bytes, wn_above(w->edge, o->from));
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
static bool is_cached_ahead(const struct wn_loop *l, const struct wn_walk *w, uint64_t window)
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
		if (wn_sys->mincore(wn_min(at, m.end - page), page, &there) < 0 || !(there & 1))
			return false;
	}
	return true;
}

static void serve(struct wn_loop *l, int index)
{
	struct wn_walk *w = &l->st->walks.slot[index];
	struct wn_engine_file *f = &l->st->engine.file[w->file];
	uint64_t window = wn_load(&l->k.track->files.slot[w->file].kernel_window);
	uint64_t floor = wn_max(wn_min(window, SOME_WINDOW), NEIGHBOURHOOD);
	uint64_t before, most;
	struct wn_order o;

	w->stirred = false;
	/* Where the program asked for no readahead, the kernel is nowhere ahead of it. */
	if (w->doubted)
		floor = wn_page_size();
	if (wn_mode() != WN_MODE_ON || w->steps < WN_WALK_STEPS ||
	    (!w->down && (w->huge || (window >= WIDE_WINDOW && !w->doubted))))
		return;
	w->cached = !w->asking && !w->read && is_cached_ahead(l, w, window);
	if (w->cached)
		return;
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
						     NEIGHBOURHOOD));
		if (o.to <= o.from)
			return;
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

/* Does it pay to see where this reader goes between its major faults? */
static uint32_t wants_progress(const struct wn_walk *w, uint64_t window)
{
	if (w->cached || (window >= WIDE_WINDOW && !w->doubted &&
			  !(w->down && w->steps >= WN_WALK_STEPS / 2)))
		return 0;
	return w->passed < FAR || w->stride > FAR_STEP ? 1 : FAR_PERIOD;
}

/* Did this fault hit what had been asked for before it?  Some are heard of late. */
static bool was_missing(const struct wn_loop *l, struct wn_walk *w, uint64_t x, uint64_t ns)
{
	bool missing = w->asking && w->settled_ns && ns > w->settled_ns &&
		       (w->down ? x >= w->settled + NEIGHBOURHOOD && x < w->first :
				  x < w->settled && x >= w->first);

	if (w->asking && (!w->settled_ns || l->now - w->settled_ns > SETTLE_NS)) {
		w->settled = w->edge;
		w->settled_ns = l->now;
	}
	return missing;
}

/* Records, a step apart that is too long for a walk: asked for one by one, and exactly. */
static bool take_stride(struct wn_loop *l, const struct wn_access *a, uint64_t least,
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
		wn_engine_ask_exactly(&l->k, id, &o);
		wn_count(&l->st->stats, walk_bytes, o.to - o.from);
	}
	return true;
}

bool wn_faults_take(struct wn_loop *l, const struct wn_access *a, uint64_t ns)
{
	struct wn_file *file = &l->k.track->files.slot[a->file];
	uint32_t serial = wn_load(&file->serial);
	struct wn_gaps g = { .minor = MINOR_GAP };
	bool exact = a->flags & WN_ACCESS_EXACT;
	struct wn_walk *w;
	bool joined, led;
	int i;

	wn_count(&l->st->stats, watched_faults, 1);
	if ((exact && wn_load(&l->k.options->value[WN_OPT_RANDOM]) == WN_RANDOM_OBEY) ||
	    !wn_engine_prepare(&l->k, a->file, a->thread))
		return false;
	/* Half of its window on each side of a fault, to the end of a neighbourhood. */
	g.major = wn_max(wn_load(&file->kernel_window), SOME_WINDOW) / 2 + NEIGHBOURHOOD;
	/* Or two huge pages, of which one is mapped. */
	if (a->flags & WN_ACCESS_HUGE)
		g.major = g.minor = 2 * huge_page();
	/* There it reads one page: only pages in a row prove anything. */
	if (exact)
		g = (struct wn_gaps){ .major = wn_page_size(), .minor = NEIGHBOURHOOD };
	i = wn_walk_fault(&l->st->walks, a, &g, serial, l->now, &joined, retired, l);
	/* A walk that is led shows in few faults, far from each other: it comes first. */
	led = joined && l->st->walks.slot[i].steps >= WN_WALK_STEPS;
	if (!led && !exact && take_stride(l, a, g.major, serial)) {
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
	wn_watch_closer(&l->st->watch, a->thread, wants_progress(w, wn_load(&file->kernel_window)));
	return joined && w->steps >= WN_WALK_STEPS && !w->cached;
}

void wn_faults_read(struct wn_loop *l, const struct wn_access *a)
{
	uint32_t serial = wn_load(&l->k.track->files.slot[a->file].serial);

	l->thread = a->thread;
	l->worked = l->now;
	l->st->reads.seen_ns[a->file] = l->now;
	if (!wn_engine_prepare(&l->k, a->file, a->thread))
		return;
	if (a->flags & WN_ACCESS_APART ||
	    wn_walk_leaves_gaps(&l->st->walks, wn_walk_read(&l->st->walks, a, serial, l->now,
							   retired, l)))
		take_stride(l, a, 1, serial);
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
	/* Reads wake us themselves. */
	if (!w->steps || w->read || w->cached)
		return UINT64_MAX;
	/* Its reader may only have lost the processor: upward nothing else would show it. */
	if (l->now - w->used_ns > WALK_QUIET_NS)
		return w->asking ? QUIET_NS : UINT64_MAX;
	l->worked = l->now;
	return w->steps >= WN_WALK_STEPS && w->passed < YOUNG ? YOUNG_NS : WALK_NS;
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

	return wn_load(&l->st->watching) && (l->st->watch.armed || !is_copying(l)) &&
	       wn_watch_tend(&l->st->watch, &use, l->now);
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
			retired(l, (int)i);
			continue;
		}
		if (w->stirred && wn_engine_prepare(&l->k, w->file, w->thread))
			serve(l, (int)i);
		rest = wn_min(rest, look_again(l, w));
	}
	return wn_max(rest, wn_watch_soonest(&l->st->watch, l->now));
}

void wn_faults_end(struct wn_loop *l)
{
	for (uint32_t i = 0; i < l->st->walks.used; i++)
		if (l->st->walks.slot[i].live)
			retired(l, (int)i);
	wn_watch_close(&l->st->watch);
}

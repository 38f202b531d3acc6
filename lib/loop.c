/* SPDX-License-Identifier: MIT */
#include "loop.h"

#include <limits.h>

#include "base/limits.h"
#include "base/sys.h"
#include "faults.h"
#include "lead.h"
#include "lease.h"
#include "runtime.h"
#include "serve.h"

#define MS 1000000u
/* How often the helper looks around while streams are active. */
#define ACTIVE_NS (50u * MS)
/* How often it looks whether the pages of a request have arrived. */
#define REQUEST_NS (1u * MS)
/* Longer copies are asked for well by themselves, unless they go down. */
#define SHORT_COPY (1024u * 1024)
/* A stream that was quiet for this long has ended. */
#define STREAM_NS (2000u * (uint64_t)MS)

static uint32_t live_streams(const struct wn_streams *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->used; i++)
		n += t->slot[i].live;
	return n;
}

void wn_streams_share(const struct wn_streams *t, struct wn_bounds *b)
{
	for (uint32_t i = 0; i < t->used; i++)
		b->ahead += wn_stream_ahead(&t->slot[i]);
	b->streams += live_streams(t);
}

static struct wn_bounds bounds_of(const struct wn_loop *l, const struct wn_engine_file *f)
{
	struct wn_bounds b = { .file_size = f->size };

	wn_streams_share(&l->st->streams, &b);
	wn_serve_share(&l->st->walks, &b);
	b.unit = wn_policy_unit(&l->st->policy, f->unit, b.streams);
	return b;
}

static void retired(void *ctx, int index)
{
	struct wn_loop *l = ctx;
	struct wn_stream *s = &l->st->streams.slot[index];

	if (s->request)
		wn_track_drop(l->k.track, &l->st->lock, s->file);
	else
		wn_engine_unused(&l->k, index, wn_above(s->asked, s->end));
	wn_engine_close_lane(&l->k, index);
	s->live = false;
}

static bool current(const struct wn_loop *l, const struct wn_stream *s)
{
	return s->live && s->serial == wn_load(&l->k.track->files.slot[s->file].serial);
}

static bool to_close(const struct wn_state *st)
{
	return wn_load(&st->released) != wn_load(&st->closed);
}

/* Closes the files that the program no longer needs. */
static void let_go(struct wn_loop *l)
{
	uint32_t number = wn_load_acquire(&l->st->released);

	if (!to_close(l->st) && !wn_load(&l->k.track->orphaned))
		return;
	wn_store(&l->k.track->orphaned, 0);
	wn_engine_close_files(&l->k, false);
	wn_store_release(&l->st->closed, number);
	wn_sys->futex_wake(&l->st->closed, INT_MAX);
}

/* Gives every order that the policy wants given for this stream now. */
static void serve(struct wn_loop *l, int index)
{
	struct wn_stream *s = &l->st->streams.slot[index];
	struct wn_engine_file *f = &l->st->engine.file[s->file];
	struct wn_bounds b;
	struct wn_order o;
	uint64_t denied = 0;

	if (wn_mode() != WN_MODE_ON || !wn_engine_prepare(&l->k, s->file, l->thread))
		return;
	/* Two readaheads in one place would collide; see kernel_serves_well() in copy.c. */
	if (!s->request && !s->exact && wn_load(&l->k.track->files.slot[s->file].wide))
		return;
	b = bounds_of(l, f);
	wn_store(&l->st->bite, (uint32_t)wn_min(b.unit, UINT32_MAX));
	if (wn_load(&l->st->tight))
		return;
	if (s->run && !s->request)
		wn_policy_pace(l->k.options, s, b.unit);
	for (;; b = bounds_of(l, f)) {
		if (!wn_policy_order(&l->st->policy, l->k.options, s, &b, &o, &denied))
			break;
		s->asked = wn_engine_ask(&l->k, index, s, &o);
		/* The rest of a guess waits until a whole window is wanted. */
		if (s->asked < o.to)
			break;
	}
	wn_count(&l->st->stats, denied_bytes, denied);
}

static void take(struct wn_loop *l, const struct wn_access *a)
{
	struct wn_streams *t = &l->st->streams;
	struct wn_stream *s;
	uint32_t serial;
	int index;

	if (a->file >= WN_FILES || !a->length)
		return;
	if (a->kind == WN_ACCESS_LEAD) {
		wn_lead_take(l, a);
		return;
	}
	if (a->kind == WN_ACCESS_FAULT) {
		wn_faults_take(l, a, l->now);
		return;
	}
	if (a->kind == WN_ACCESS_READ) {
		wn_serve_read(l, a);
		return;
	}
	l->thread = a->thread;
	if (a->kind == WN_ACCESS_BEGIN &&
	    (a->length <= SHORT_COPY || (a->flags & WN_ACCESS_DOWN)))
		wn_serve_copy(l, a);
	serial = wn_load(&l->k.track->files.slot[a->file].serial);
	index = wn_stream_access(t, a, serial, l->now, retired, l);
	if (index < 0)
		return;
	s = &t->slot[index];
	if (s->run && !s->counted)
		wn_count(&l->st->stats, streams, 1);
	s->counted = s->run;
	wn_engine_judge(&l->k, index, a->file, a->flags & WN_ACCESS_FAULTED);
	if (a->flags & WN_ACCESS_FAULTED) {
		s->asked = wn_min(s->asked, a->offset + a->length);
		s->landed = wn_min(s->landed, s->asked);
	}
	if (a->flags & WN_ACCESS_COVERED)
		wn_count(&l->st->stats, late_bytes,
			 wn_above(wn_min(a->offset + a->length, s->asked),
				  wn_max(a->offset, s->landed)));
}

/* Takes in all that was reported; true if there was anything. */
static bool listen(struct wn_loop *l)
{
	struct wn_state *st = l->st;
	struct wn_access a;
	uint64_t lost = 0;
	bool any = false;

	while (!wn_load(&wn_rt.stops) && wn_ring_pop(&st->ring, &a, l->now, &lost)) {
		take(l, &a);
		any = true;
	}
	wn_count(&st->stats, records_lost, lost);
	return any;
}

/* Readers move on while we work: each stream is served from the newest positions. */
static bool serve_stirred(struct wn_loop *l)
{
	struct wn_streams *t = &l->st->streams;
	bool any = listen(l);

	for (uint32_t i = 0; i < t->used && !wn_load(&wn_rt.stops) && !to_close(l->st); i++) {
		struct wn_stream *s = &t->slot[i];

		if (!s->live || !s->stirred)
			continue;
		s->stirred = false;
		s->landed = wn_engine_landed(&l->k, (int)i, s);
		serve(l, (int)i);
		listen(l);
	}
	return any;
}

/* The oldest request that is ready becomes a stream without a reader. */
static bool take_request(struct wn_loop *l)
{
	struct wn_request *oldest = NULL, *r;
	int index;

	for (int i = 0; i < WN_REQUESTS; i++) {
		r = &l->st->request[i];
		if (wn_load_acquire(&r->phase) == WN_REQUEST_READY &&
		    (!oldest || r->ticket < oldest->ticket))
			oldest = r;
	}
	if (!oldest || !wn_stream_room(&l->st->streams))
		return false;
	/* Whoever brought it may be taking it back. */
	if (!wn_swap32(&oldest->phase, WN_REQUEST_READY, WN_REQUEST_FILLING))
		return true;
	l->thread = oldest->thread;
	index = wn_stream_request(&l->st->streams, oldest->file,
				  wn_load(&l->k.track->files.slot[oldest->file].serial),
				  oldest->from, oldest->to, l->now);
	wn_store_release(&oldest->phase, WN_REQUEST_FREE);
	serve(l, index);
	return true;
}

/* Moves a request on as its pages arrive; true while it is not all asked for. */
static bool serve_request(struct wn_loop *l, int index)
{
	struct wn_stream *s = &l->st->streams.slot[index];
	struct wn_engine_file *f = &l->st->engine.file[s->file];
	uint64_t landed = wn_engine_landed(&l->k, index, s);

	if (landed > s->landed)
		s->used_ns = l->now;
	s->landed = landed;
	/* Where arrival cannot be seen, or never comes, what was asked for counts as arrived. */
	s->pos = f->fd1 && l->now - s->used_ns < STREAM_NS ? s->landed : s->asked;
	serve(l, index);
	if (s->asked < wn_min(s->end, f->size) && f->way != WN_NONE && wn_may_ask())
		return true;
	retired(l, index);
	return false;
}

/* Looks at every stream; true while some request is unfinished. */
static bool look_around(struct wn_loop *l, bool *active)
{
	bool unfinished = false;

	*active = false;
	for (uint32_t i = 0; i < l->st->streams.used; i++) {
		struct wn_stream *s = &l->st->streams.slot[i];

		if (!s->live)
			continue;
		if (!current(l, s) || (!s->request && l->now - s->used_ns > STREAM_NS))
			retired(l, (int)i);
		else if (s->request)
			unfinished |= serve_request(l, (int)i);
		else
			*active = true;
	}
	return unfinished;
}

void wn_loop_set_alarm(struct wn_loop *l)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < l->st->streams.used; i++) {
		const struct wn_stream *s = &l->st->streams.slot[i];

		if (s->live && !s->request && s->asked < l->st->engine.file[s->file].size)
			least = wn_min(least, wn_stream_ahead(s) / 4);
	}
	for (uint32_t i = 0; i < l->st->walks.used; i++) {
		const struct wn_walk *w = &l->st->walks.slot[i];

		if (w->read && wn_serve_goes_on(l, (int)i))
			least = wn_min(least, wn_walk_ahead(w) / 4);
	}
	if (least != UINT64_MAX)
		least = wn_max(least, 256 * 1024);
	wn_store(&l->st->wake_at, wn_load(&l->st->progress) + wn_min(least, 1u << 30));
}

bool wn_loop_news(struct wn_state *st)
{
	if (wn_ring_ready(&st->ring) || wn_load(&wn_rt.stops) || to_close(st))
		return true;
	for (int i = 0; i < WN_REQUESTS; i++)
		if (wn_load(&st->request[i].phase) == WN_REQUEST_READY)
			return wn_stream_room(&st->streams);
	return false;
}

static void settle_accounts(struct wn_loop *l)
{
	uint64_t cpu = wn_sys->cpu_ns() / 1000;

	wn_count(&l->st->stats, helper_cpu_us, cpu - l->cpu);
	l->cpu = cpu;
}

uint64_t wn_loop_round(struct wn_loop *l)
{
	struct wn_state *st = l->st;
	bool active, unfinished, busy;
	uint64_t faults;

	l->now = wn_sys->now_ns();
	wn_cover_tick(&st->cover, l->now);
	wn_lease_expire(st, l->now, STREAM_NS);
	/* Telling takes the kernel a while: not where faults are watched in vain. */
	if (!st->policy.checked_ns || live_streams(&st->streams) || wn_loop_news(st))
		wn_policy_refresh(&st->policy, l->k.options, l->now, wn_memory_headroom);
	let_go(l);
	busy = serve_stirred(l);
	while (!wn_load(&wn_rt.stops) && take_request(l))
		busy = true;
	faults = wn_faults_round(l);
	wn_store(&st->tight, wn_policy_tight(&st->policy, live_streams(&st->streams)));
	wn_engine_flush(&l->k);
	unfinished = look_around(l, &active);
	let_go(l);
	settle_accounts(l);
	if (busy || unfinished)
		l->worked = l->now;
	if (!wn_ring_empty(&st->ring))
		return REQUEST_NS;
	return wn_min(faults, unfinished ? REQUEST_NS : active ? ACTIVE_NS : UINT64_MAX);
}

void wn_loop_end(struct wn_loop *l)
{
	struct wn_access a;
	uint64_t lost = 0;

	/*
	 * What nobody has looked at is of the past when the next helper begins, and is no
	 * reason to start one: whoever stopped us may count the threads.
	 */
	while (wn_ring_pop(&l->st->ring, &a, l->now, &lost))
		;
	for (uint32_t i = 0; i < l->st->streams.used; i++)
		if (l->st->streams.slot[i].live)
			retired(l, (int)i);
	wn_faults_end(l);
	wn_lease_expire(l->st, l->now, 0);
	wn_engine_close_files(&l->k, true);
	wn_store(&l->st->tight, 0);
	settle_accounts(l);
}

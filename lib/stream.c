/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include <stddef.h>

#include "base/mem.h"

/*
 * A range may begin a little behind or before the end of the one before it and still
 * continue it: headers and padding between tensors are skipped, last bytes read twice.
 */
static bool continues(const struct wn_stream *s, uint32_t thread, uint64_t offset)
{
	uint64_t length = s->end - s->begin;

	/* What another thread is still reading, and waits for, must not be forgotten. */
	if (s->thread != thread && s->asked < s->end && s->pos + s->piece < s->end)
		return false;
	return offset >= s->end ? offset - s->end <= wn_max(length / 4, 64 * 1024) :
				  s->end - offset <= wn_max(length / 8, 64 * 1024);
}

uint64_t wn_stream_ahead(const struct wn_stream *s)
{
	return s->live ? wn_above(s->asked, s->pos) : 0;
}

uint64_t wn_stream_consumed(const struct wn_stream *s)
{
	return s->run && !s->exact ? s->run + (s->pos - s->begin) : 0;
}

/* The stream whose end this range continues; the same thread's own before any other's. */
static struct wn_stream *continued_by(struct wn_streams *t, const struct wn_access *a,
				      uint32_t serial)
{
	struct wn_stream *best = NULL;

	for (uint32_t i = 0; i < t->used; i++) {
		struct wn_stream *s = &t->slot[i];

		if (!s->live || s->request || s->file != a->file ||
		    s->serial != serial ||
		    !continues(s, a->thread, a->offset))
			continue;
		if (!best || (s->thread == a->thread && best->thread != a->thread))
			best = s;
	}
	return best;
}

/* The stream in whose range this piece lies. */
static struct wn_stream *holding(struct wn_streams *t, const struct wn_access *a,
				 uint32_t serial)
{
	struct wn_stream *best = NULL;

	for (uint32_t i = 0; i < t->used; i++) {
		struct wn_stream *s = &t->slot[i];

		if (!s->live || s->request || s->file != a->file ||
		    s->serial != serial || a->offset < s->begin ||
		    a->offset >= s->end)
			continue;
		if (!best || (s->thread == a->thread && best->thread != a->thread))
			best = s;
	}
	return best;
}

/* Requests end by themselves; a reader's stream comes back when the reader does. */
static bool older(const struct wn_stream *a, const struct wn_stream *b)
{
	return a->request != b->request ? b->request : a->used_ns < b->used_ns;
}

/* An unused slot, or the one that was quiet for longest. */
static struct wn_stream *make_room(struct wn_streams *t,
				   void (*retired)(void *ctx, int index), void *ctx)
{
	struct wn_stream *oldest = &t->slot[0];

	for (uint32_t i = 0; i < WN_STREAMS; i++) {
		struct wn_stream *s = &t->slot[i];

		if (!s->live) {
			t->used = (uint32_t)wn_max(t->used, i + 1);
			return s;
		}
		if (older(s, oldest))
			oldest = s;
	}
	if (retired)
		retired(ctx, (int)(oldest - t->slot));
	return oldest;
}

static void renew(struct wn_stream *s, const struct wn_access *a, uint32_t serial)
{
	*s = (struct wn_stream){
		.begin = a->offset,
		.pos = a->offset,
		.end = a->offset + a->length,
		.thread = a->thread,
		.serial = serial,
		.file = a->file,
		.live = true,
		.asked = a->offset,
		.landed = a->offset,
	};
}

static struct wn_stream *begin(struct wn_streams *t, const struct wn_access *a,
			       uint32_t serial, void (*retired)(void *ctx, int index),
			       void *ctx)
{
	struct wn_stream *s = continued_by(t, a, serial);

	if (!s) {
		s = make_room(t, retired, ctx);
		renew(s, a, serial);
		return s;
	}
	/* Reading the same again is no progress. */
	s->run += wn_min(s->end - s->begin, wn_above(a->offset, s->begin));
	s->begin = a->offset;
	s->pos = wn_max(s->pos, a->offset);
	s->end = a->offset + a->length;
	s->pos = wn_min(s->pos, s->end);
	/* What lies between was skipped, or asked for already. */
	s->asked = wn_max(s->asked, s->begin);
	s->landed = wn_max(s->landed, s->begin);
	s->thread = a->thread;
	return s;
}

int wn_stream_access(struct wn_streams *t, const struct wn_access *a, uint32_t serial,
		     uint64_t now_ns, void (*retired)(void *ctx, int index), void *ctx)
{
	struct wn_stream *s;

	if (a->kind == WN_ACCESS_BEGIN) {
		s = begin(t, a, serial, retired, ctx);
	} else {
		s = holding(t, a, serial);
		if (!s)
			return -1;
		s->pos = wn_max(s->pos, a->offset);
		s->piece = a->length;
	}
	s->exact = a->flags & WN_ACCESS_EXACT;
	s->stirred = true;
	s->used_ns = now_ns;
	return (int)(s - t->slot);
}

bool wn_stream_room(const struct wn_streams *t)
{
	for (uint32_t i = 0; i < WN_STREAMS; i++)
		if (!t->slot[i].live)
			return true;
	return false;
}

int wn_stream_request(struct wn_streams *t, uint16_t file, uint32_t serial, uint64_t from,
		      uint64_t to, uint64_t now_ns)
{
	struct wn_access a = { .offset = from, .length = to - from, .file = file };
	struct wn_stream *s;

	if (!wn_stream_room(t))
		return -1;
	s = make_room(t, NULL, NULL);
	renew(s, &a, serial);
	s->request = true;
	s->used_ns = now_ns;
	return (int)(s - t->slot);
}

/* SPDX-License-Identifier: MIT */
#include "policy.h"

#include "base/mem.h"

#define REFRESH_NS 100000000u
/* The part of the free memory that may be filled ahead of readers. */
#define HEADROOM_SHARE 8
/* Below this, measured in a cgroup of 64 MiB, eight threads read more than without us. */
#define LEAST_SHARE (1024u * 1024)
/* Less than this at a time costs more calls than it is worth. */
#define SMALLEST_UNIT (64u * 1024)

void wn_policy_refresh(struct wn_policy *p, const struct wn_options *o, uint64_t now_ns,
		       uint64_t (*headroom)(void))
{
	uint64_t chosen = wn_load(&o->value[WN_OPT_BUDGET]);
	uint64_t share;

	if (p->checked_ns && now_ns - p->checked_ns < REFRESH_NS)
		return;
	p->checked_ns = now_ns;
	share = headroom() / HEADROOM_SHARE;
	p->memory = share;
	p->budget = chosen ? wn_min(chosen, share) : share;
}

/* The most that this stream may be ahead: its fair share of the budget, and the setting. */
static uint64_t window_of(const struct wn_policy *p, const struct wn_options *o,
			  const struct wn_bounds *b)
{
	uint64_t share = p->budget / (b->streams ? b->streams : 1);

	return wn_min(wn_load(&o->value[WN_OPT_WINDOW]), share);
}

bool wn_policy_tight(const struct wn_policy *p, uint32_t streams)
{
	return p->memory / (streams ? streams : 1) < LEAST_SHARE;
}

uint64_t wn_policy_unit(const struct wn_policy *p, uint64_t unit, uint32_t streams)
{
	uint64_t share = p->budget / (streams ? streams : 1);

	/* A ride has up to three windows under way. */
	return share >= 3 * unit ? unit : wn_min(unit, wn_max(share / 4, SMALLEST_UNIT));
}

static uint64_t lead_of(const struct wn_options *o, const struct wn_stream *s,
			uint64_t unit)
{
	return wn_min(wn_max(s->lead, 2 * unit), wn_load(&o->value[WN_OPT_WINDOW]));
}

void wn_policy_pace(const struct wn_options *o, struct wn_stream *s, uint64_t unit)
{
	uint64_t lead = lead_of(o, s, unit);

	if (s->landed < s->pos + lead / 2)
		s->lead = lead * 2;
}

/*
 * How far to ask: to the end of what is being read for certain, and behind it as far as
 * the lead and the evidence go; never further from the reader than the window.
 */
static uint64_t goal_of(const struct wn_options *o, const struct wn_stream *s,
			uint64_t window, const struct wn_bounds *b)
{
	uint64_t guess = wn_min(lead_of(o, s, b->unit), wn_stream_outlook(s));
	uint64_t goal = wn_min(s->end + guess, s->pos + window);

	return wn_min(goal, b->file_size);
}

bool wn_policy_order(const struct wn_policy *p, const struct wn_options *o,
		     struct wn_stream *s, const struct wn_bounds *b, struct wn_order *out,
		     uint64_t *denied)
{
	uint64_t exact = wn_min(s->end, b->file_size);
	uint64_t to = goal_of(o, s, window_of(p, o, b), b);
	uint64_t left = wn_above(p->budget, b->ahead);
	/* The bytes that are needed next are asked for whatever the budget says. */
	uint64_t sure = wn_min(exact, s->pos + b->unit);
	uint64_t allowed = s->end + wn_stream_outlook(s);

	/* A reader that came here before us has got everything behind it. */
	s->asked = wn_max(s->asked, wn_min(s->pos, s->end));
	if (wn_above(to, s->asked) > left) {
		*denied += to - s->asked - left;
		to = s->asked + left;
	}
	to = wn_max(to, sure);
	if (to <= s->asked)
		return false;
	/*
	 * A whole unit or nothing, unless this is all that is left of what is certain, or the
	 * reader is about to get there.
	 */
	if (to - s->asked < b->unit && to != exact && to < b->file_size &&
	    s->asked >= s->pos + b->unit)
		return false;
	out->from = s->asked;
	out->exact = wn_max(s->asked, wn_min(exact, to));
	out->to = to;
	out->unit = b->unit;
	/* Behind `to` there may be more that is certain, or that the evidence allows. */
	out->slack = wn_max(wn_above(exact, to), wn_min(wn_above(allowed, to), 2 * b->unit));
	if (left < 2 * b->unit)
		out->slack = 0;
	return true;
}

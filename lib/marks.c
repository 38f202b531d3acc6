/* SPDX-License-Identifier: MIT */
#include "marks.h"

#include "base/arena.h"
#include "base/mem.h"

/* One that comes from elsewhere in the file by no more than so many pieces is near. */
#define BAND 16
#define PIECE_MAX (1024u * 1024)
/* So little may be skipped in a sequence. */
#define GAP (64u * 1024)

static bool is_sequel(const struct wn_mark *m, uint64_t from, uint64_t to, struct wn_access *a)
{
	uint64_t first = wn_load(&m->from), last = wn_load(&m->to);
	uint64_t unseen = wn_load(&m->granted) + GAP;

	if (!last)
		return false;
	if (from >= last && from - last <= unseen) {
		a->flags = WN_ACCESS_UP;
		a->offset = last;
		a->length = to - last;
		return true;
	}
	if (to <= first && first - to <= unseen) {
		a->flags = WN_ACCESS_DOWN;
		a->length = first - from;
		return true;
	}
	return false;
}

static bool is_near(const struct wn_mark *m, uint64_t from, uint64_t to, struct wn_access *a)
{
	uint64_t last = wn_load(&m->to), granted = wn_load(&m->granted);
	uint64_t piece = wn_min(wn_max(to - from, wn_page_size()) + granted, PIECE_MAX);

	if (!last || (from > last ? from - last : last - from) > BAND * piece)
		return false;
	/* Others have read what lies between, if this thread found its part of it warm. */
	if (from > last && granted) {
		a->offset = last;
		a->length = to - last;
	}
	return true;
}

/* Is it as far from the thread's last read as that was from the one before? */
static bool is_apart(struct wn_place *p, uint64_t from, struct wn_access *a)
{
	int64_t step = (int64_t)(from - wn_load(&p->from));
	bool same = step && step == wn_load(&p->step);

	wn_store(&p->step, step);
	wn_store(&p->from, from);
	if (same)
		a->flags = WN_ACCESS_APART;
	return same;
}

/* The next one in turn that is on no way; if all are, the next one. */
static struct wn_mark *given_up(struct wn_marks *t)
{
	uint32_t turn = wn_add(&t->turn, 1);

	for (uint32_t i = 0; i < WN_MARKS; i++)
		if (!wn_load(&t->mark[(turn + i) % WN_MARKS].run))
			return &t->mark[(turn + i) % WN_MARKS];
	return &t->mark[turn % WN_MARKS];
}

struct wn_mark *wn_marks_find(struct wn_marks *t, uint32_t thread, uint64_t from, uint64_t to,
			      struct wn_access *a, bool *told)
{
	struct wn_mark *own = &t->mark[thread % WN_MARKS];
	bool apart;

	*a = (struct wn_access){ .offset = from, .length = to - from };
	apart = is_apart(&t->place[thread % WN_MARKS], from, a);
	*told = true;
	if (is_sequel(own, from, to, a))
		return own;
	for (int i = 0; i < WN_MARKS; i++)
		if (is_sequel(&t->mark[i], from, to, a))
			return &t->mark[i];
	a->flags = 0;
	if (is_near(own, from, to, a))
		return own;
	for (int i = 0; i < WN_MARKS; i++)
		if (is_near(&t->mark[i], from, to, a))
			return &t->mark[i];
	a->flags = apart ? WN_ACCESS_APART : 0;
	*told = apart;
	return given_up(t);
}

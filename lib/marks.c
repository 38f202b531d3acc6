/* SPDX-License-Identifier: MIT */
#include "marks.h"

#include <stddef.h>

#include "base/arena.h"
#include "base/mem.h"

void wn_marks_clear(struct wn_marks *t)
{
	for (int i = 0; i < WN_MARKS; i++) {
		wn_store(&t->mark[i].from, 0);
		wn_store(&t->mark[i].to, 0);
		wn_store(&t->mark[i].run, 0);
		wn_store(&t->mark[i].granted, 0);
		wn_store(&t->mark[i].since, 0);
		wn_store(&t->mark[i].warm, 0);
		wn_store(&t->place[i].from, 0);
		wn_store(&t->place[i].step, 0);
		wn_store(&t->place[i].mark, 0);
	}
}

static bool is_sequel(const struct wn_mark *m, uint64_t from, uint64_t to, uint64_t skipped,
		      struct wn_access *a)
{
	uint64_t first = wn_load(&m->from), last = wn_load(&m->to);
	uint64_t unseen = wn_load(&m->granted) + skipped;

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
	uint64_t piece = wn_min(wn_max(to - from, wn_page_size()) + granted, WN_READ_PIECE);

	if (!last || (from > last ? from - last : last - from) > WN_READ_BAND * piece)
		return false;
	/* Others have read what lies between, if this thread found its part of it warm. */
	if (from > last && granted) {
		a->offset = last;
		a->length = to - last;
	}
	return true;
}

/* Is it as far from the thread's last read as that was from the one before? */
static bool is_apart(struct wn_place *p, uint64_t from)
{
	int64_t step = (int64_t)(from - wn_load(&p->from));
	bool same = step && step == wn_load(&p->step);

	wn_store(&p->step, step);
	wn_store(&p->from, from);
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

static struct wn_mark *find(struct wn_marks *t, struct wn_mark *last, uint64_t from, uint64_t to,
			    struct wn_access *a)
{
	if (is_sequel(last, from, to, WN_READ_GAP, a))
		return last;
	/* To come close to one of so many may be chance. */
	for (int i = 0; i < WN_MARKS; i++)
		if (is_sequel(&t->mark[i], from, to, 0, a))
			return &t->mark[i];
	a->flags = 0;
	return is_near(last, from, to, a) ? last : NULL;
}

struct wn_mark *wn_marks_find(struct wn_marks *t, uint32_t thread, uint64_t from, uint64_t to,
			      struct wn_access *a, bool *told)
{
	struct wn_place *p = &t->place[thread % WN_MARKS];
	bool apart;
	struct wn_mark *m;

	*a = (struct wn_access){ .offset = from, .length = to - from };
	apart = is_apart(p, from);
	m = find(t, &t->mark[wn_load(&p->mark) % WN_MARKS], from, to, a);
	*told = m || apart;
	if (!m) {
		a->flags = apart ? WN_ACCESS_APART : 0;
		m = given_up(t);
	}
	wn_store(&p->mark, (uint64_t)(m - t->mark));
	return m;
}

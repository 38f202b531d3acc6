/* SPDX-License-Identifier: MIT */
#include "due.h"

#include "runtime.h"

/*
 * What the helper does for the end of a file, from opening it until it has let go, costs a
 * reader that gains nothing up to 0.3 ms: a twentieth of so many ticks, of a ms.
 */
#define WORTH_TICKS 6u

/* A thread whose clock is a tick ahead may have written the other. */
static uint32_t ticks_since(uint32_t now, uint32_t then)
{
	int32_t ticks = (int32_t)(now - then);

	return ticks > 0 ? (uint32_t)ticks : 0;
}

static void take_pace(struct wn_due *d, uint32_t now, uint64_t bytes)
{
	uint32_t since = wn_load(&d->since);

	if (wn_add(&d->paced, bytes) + bytes < WN_DUE_BYTES)
		return;
	wn_store(&d->paced, 0);
	if (since && ticks_since(now, since))
		wn_store(&d->pace, ticks_since(now, since));
	wn_store(&d->since, now);
}

/* At this reader's pace or, since devices may be fast now and slow then, that of all. */
bool wn_due_worth(const struct wn_due *d, uint64_t ticks, uint64_t run, uint64_t left)
{
	uint64_t all = run + left;

	if (!left || left > run)
		return false;
	return ticks * all >= WORTH_TICKS * run ||
	       wn_load(&d->pace) * all >= WORTH_TICKS * (uint64_t)WN_DUE_BYTES;
}

bool wn_due(struct wn_state *st, const struct wn_file *f, const struct wn_mark *m,
	    const struct wn_access *a, uint64_t left)
{
	uint64_t chunk = wn_max(wn_load(&f->chunk), WN_SOME_WINDOW);
	struct wn_due *d = &st->reads.due;
	uint32_t now = wn_load(&st->cover.now);
	uint64_t unheard = wn_add(&d->unheard, a->length) + a->length;
	uint64_t run = wn_load(&m->run);
	uint32_t ticks = ticks_since(now, (uint32_t)wn_load(&m->since));

	take_pace(d, now, a->length);
	/*
	 * Upward the helper asks for nothing that is shorter than a call of advice, but for
	 * the rest of a file.  Of these `whole` is to hear as well, now and then; of all other
	 * reads it hears each one.
	 */
	if (a->flags == WN_ACCESS_UP && run < chunk &&
	    !wn_due_worth(d, ticks, run, left) && unheard < WN_DUE_BYTES)
		return false;
	wn_store(&d->unheard, 0);
	return true;
}

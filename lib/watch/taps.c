/* SPDX-License-Identifier: MIT */
#include "watch/taps.h"

#include <errno.h>
#include <fcntl.h>

#include "base/file_io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "base/text.h"
#include "watch/watch.h"

#define MS 1000000u
/*
 * So many faults that were of no use shut a tap, and one that was makes up for so many.
 * (A program may fill fresh memory, a fault a page, with what it reads.)
 */
#define USELESS 64u
#define USEFUL 32u
/* Where none has been of use since the last pause, fewer will do. */
#define USELESS_AGAIN 8u
/* Between two looks whether there are new threads; longer while they come and go. */
#define LIST_MIN_NS (4u * MS)
#define LIST_USELESS_NS (32u * MS)
/*
 * After taps have been opened so many times as long goes by as that took of the processor:
 * threads that come and go are not to keep us busy.  Fewer where faults are of use.
 */
#define SHARE 200
#define USEFUL_SHARE 10
/* Nor does a look open more than so many, before any fault was of use. */
#define AT_ONCE 16u
/*
 * A program that begins to walk is found when the pause is over.  Pauses of several threads
 * end together, since what costs most is to wake up, and are longer the more threads there
 * are to look at.
 */
#define PAUSE_MIN_NS (16u * MS)
#define PAUSE_MAX_NS (64u * MS)
#define PAUSE_THREADS 8u
/* Then it is looked what a few faults were, after so long, twice as long, and so on. */
#define PEEK_NS (2u * MS)

static struct wn_tap *tap_of(struct wn_taps *p, uint32_t thread)
{
	for (uint32_t i = 0; i < p->used; i++)
		if (p->tap[i].thread == thread)
			return &p->tap[i];
	return NULL;
}

static int open_tap(struct wn_taps *p, struct wn_tap *t, struct wn_waker *k)
{
	int r;

	if (!p->useful && p->opened == AT_ONCE)
		return 0;
	p->opened++;
	t->waits = false;
	r = wn_tap_open(t);
	if (r < 0) {
		*t = (struct wn_tap){ 0 };
		/* It has ended meanwhile. */
		return r == -ESRCH ? 0 : r;
	}
	r = wn_waker_add(k, (int)t->major1 - 1);
	if (r < 0) {
		wn_tap_close(t);
		return r;
	}
	/* Its first major fault may have been before this, and the only one. */
	if (wn_tap_open_minor(t) < 0)
		t->closer = 0;
	wn_tap_run(t, true);
	return 0;
}

static int add(struct wn_taps *p, struct wn_waker *k, uint32_t thread)
{
	struct wn_tap *t = NULL;

	for (uint32_t i = 0; i < WN_TAPS && !t; i++)
		if (!p->tap[i].thread)
			t = &p->tap[i];
	/* More threads than taps: those that came first are watched. */
	if (!t)
		return 0;
	*t = (struct wn_tap){ .thread = thread, .seen = true, .closer = 1 };
	p->used = (uint32_t)wn_max(p->used, (uint64_t)(t - p->tap) + 1);
	/*
	 * Some programs start threads all the time, which are over before they are of any
	 * interest: one has to be there for two lists, unless readers are being led.
	 */
	t->waits = true;
	return p->useful || !p->threads ? open_tap(p, t, k) : 0;
}

static int list_threads(struct wn_taps *p, struct wn_waker *k, int folder)
{
	_Alignas(8) char buf[2048];
	uint64_t self = (uint64_t)wn_sys->gettid(), id;
	ssize_t n;
	int r = 0;

	while (r >= 0 && (n = wn_sys->getdents(folder, buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < n && r >= 0;) {
			const struct wn_entry *e = (const struct wn_entry *)(void *)(buf + at);
			const char *name = e->name;
			struct wn_tap *t;

			at += e->length;
			if (!wn_digits(&name, 10, &id) || id == self || id == k->last)
				continue;
			t = tap_of(p, (uint32_t)id);
			if (!t)
				r = add(p, k, (uint32_t)id);
			else if (t->waits)
				r = open_tap(p, t, k);
			if (t)
				t->seen = true;
		}
	}
	return r;
}

/* The folder's link count tells how many threads there are: listing them is rarely needed. */
static int find_threads(struct wn_taps *p, struct wn_waker *k, bool *news)
{
	int folder = wn_sys->open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t began;
	struct stat st;
	int r;

	if (folder < 0)
		return folder;
	r = wn_sys->fstat(folder, &st);
	if (r >= 0 && (st.st_nlink != p->threads || p->waiting || wn_load(&k->hung))) {
		wn_store(&k->hung, 0);
		began = wn_sys->cpu_ns();
		p->opened = 0;
		for (uint32_t i = 0; i < p->used; i++)
			p->tap[i].seen = false;
		r = list_threads(p, k, folder);
		for (uint32_t i = 0; i < p->used; i++)
			if (p->tap[i].thread && !p->tap[i].seen)
				p->tap[i].ended = true;
		p->waiting = false;
		for (uint32_t i = 0; i < p->used; i++)
			p->waiting |= p->tap[i].waits && p->tap[i].seen;
		p->threads = st.st_nlink;
		began = wn_sys->cpu_ns() - began;
		p->list_cost_ns = began;
		p->useful = false;
		*news = true;
	}
	wn_sys->close(folder);
	return r;
}

static void end_pauses(struct wn_taps *p, uint64_t now_ns)
{
	if (now_ns >= p->peek_ns) {
		p->peek_rest_ns *= 2;
		p->peek_ns = now_ns + p->peek_rest_ns;
	}
	for (uint32_t i = 0; i < p->used; i++) {
		struct wn_tap *t = &p->tap[i];

		if (!t->paused_until || now_ns < t->paused_until)
			continue;
		t->paused_until = 0;
		if (!wn_tap_run_quiet(t))
			wn_tap_run(t, true);
		p->peek_rest_ns = PEEK_NS;
		p->peek_ns = now_ns + PEEK_NS;
	}
}

int wn_taps_tend(struct wn_taps *p, struct wn_waker *k, uint64_t now_ns, bool *news)
{
	uint64_t pause;

	end_pauses(p, now_ns);
	pause = p->list_cost_ns * (p->useful ? USEFUL_SHARE : SHARE);
	pause = wn_max(pause, p->shut && !p->useful ? LIST_USELESS_NS : LIST_MIN_NS);
	if (p->listed_ns && now_ns - p->listed_ns < pause)
		return 0;
	p->list_cost_ns = 0;
	p->listed_ns = now_ns;
	return find_threads(p, k, news);
}

bool wn_taps_next(struct wn_taps *p, struct wn_fault *out)
{
	for (uint32_t i = 0; i < p->used; i++) {
		uint32_t n = (p->next + i) % p->used;
		struct wn_tap *t = &p->tap[n];

		if (!t->thread)
			continue;
		if (t->ring && wn_tap_read(t, out)) {
			out->tap = n;
			p->next = n;
			return true;
		}
		if (t->ended)
			wn_tap_close(t);
	}
	return false;
}

void wn_taps_judge(struct wn_taps *p, uint32_t tap, bool useful, uint64_t now_ns)
{
	struct wn_tap *t = &p->tap[tap];

	if (useful) {
		t->useless = (uint32_t)wn_above(t->useless, USEFUL);
		t->pause_ns /= 2;
		p->useful = true;
		p->shut = false;
		if (t->quiet)
			wn_tap_run(t, true);
		return;
	}
	if (++t->useless < (t->pause_ns ? USELESS_AGAIN : USELESS) || t->paused_until)
		return;
	t->useless = 0;
	t->closer = 0;
	t->pause_ns = wn_min(wn_max(2 * t->pause_ns, PAUSE_MIN_NS),
			     PAUSE_MAX_NS * (1 + p->used / PAUSE_THREADS));
	t->paused_until = (now_ns / t->pause_ns + 1) * t->pause_ns;
	wn_tap_run(t, false);
	wn_tap_skip(t);
	p->shut = true;
}

void wn_taps_closer(struct wn_taps *p, uint32_t thread, uint32_t period)
{
	struct wn_tap *t = tap_of(p, thread);
	bool ran = t && t->closer;

	if (!t || !t->ring || t->closer == period || t->paused_until || t->quiet)
		return;
	/* Without it progress shows in major faults only. */
	if (period && wn_tap_open_minor(t) < 0)
		return;
	t->closer = period;
	if (period)
		wn_tap_period(t);
	if (ran != (period != 0))
		wn_tap_run(t, true);
}

uint64_t wn_taps_due(const struct wn_taps *p)
{
	uint64_t due = UINT64_MAX;

	for (uint32_t i = 0; i < p->used; i++)
		if (p->tap[i].thread && (p->tap[i].paused_until || p->tap[i].quiet))
			due = wn_min(due, p->tap[i].quiet ? p->peek_ns :
							    p->tap[i].paused_until);
	return due;
}

void wn_taps_close(struct wn_taps *p)
{
	for (uint32_t i = 0; i < p->used; i++)
		wn_tap_close(&p->tap[i]);
	*p = (struct wn_taps){ 0 };
}

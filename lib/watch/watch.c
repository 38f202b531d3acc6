/* SPDX-License-Identifier: MIT */
#include "watch/watch.h"

#include <errno.h>

#include "base/mem.h"
#include "base/sys.h"

#define MS 1000000u
#define REST_MIN_NS (2u * MS)
/* Threads that are new are seen when the helper wakes up. */
#define REST_MAX_NS (32u * (uint64_t)MS)

static int arm(struct wn_watch *w, const struct wn_watch_use *u)
{
	if (w->sense == WN_WATCH_PERF)
		return wn_waker_start(&w->waker, u->sleeping, u->stack_top, u->stats);
	return wn_scan_open(&w->scan, w->sense == WN_WATCH_SCAN);
}

static int tend(struct wn_watch *w, const struct wn_watch_use *u, uint64_t now_ns)
{
	bool news = false;
	int r = w->armed ? 0 : arm(w, u);

	if (r < 0)
		return r;
	w->armed = true;
	wn_store(&w->waker.rang, 0);
	if (w->sense == WN_WATCH_PERF)
		r = wn_taps_tend(&w->taps, &w->waker, now_ns, &news);
	else
		r = wn_scan_tend(&w->scan, u, now_ns, &w->busy);
	if (news)
		w->rest_ns = REST_MIN_NS;
	return r;
}

/* From the best sense to the one that works nearly everywhere. */
static bool next_sense(struct wn_watch *w, enum wn_watch_choice choice)
{
	wn_watch_close(w);
	if (choice == WN_WATCH_AUTO && w->sense + 1 < WN_WATCH_OFF)
		w->sense++;
	else
		w->failed = true;
	return !w->failed;
}

bool wn_watch_tend(struct wn_watch *w, const struct wn_watch_use *u, uint64_t now_ns)
{
	enum wn_watch_choice choice =
		(enum wn_watch_choice)wn_load(&u->options->value[WN_OPT_WATCH]);

	if (w->failed || choice == WN_WATCH_OFF)
		return false;
	if (w->sense == WN_WATCH_AUTO)
		w->sense = choice == WN_WATCH_AUTO ? WN_WATCH_PERF : choice;
	w->busy = false;
	do {
		if (tend(w, u, now_ns) >= 0)
			return true;
		wn_count(u->stats, facility_failures, 1);
	} while (next_sense(w, choice));
	return false;
}

bool wn_watch_next(struct wn_watch *w, struct wn_fault *out)
{
	return w->sense == WN_WATCH_PERF ? wn_taps_next(&w->taps, out) :
					   wn_scan_next(&w->scan, out);
}

void wn_watch_judge(struct wn_watch *w, uint32_t tap, bool useful, uint64_t now_ns)
{
	if (useful)
		w->rest_ns = REST_MIN_NS;
	wn_store(&w->waker.useless, useful ? 0 : w->waker.useless + 1);
	if (w->sense == WN_WATCH_PERF)
		wn_taps_judge(&w->taps, tap, useful, now_ns);
	else
		wn_scan_judge(&w->scan, useful);
}

void wn_watch_closer(struct wn_watch *w, uint32_t thread, uint32_t period)
{
	if (w->sense == WN_WATCH_PERF)
		wn_taps_closer(&w->taps, thread, period);
}

uint64_t wn_watch_soonest(const struct wn_watch *w, uint64_t now_ns)
{
	return w->armed ? wn_above(w->scan.due_ns, now_ns) : 0;
}

uint64_t wn_watch_rest(const struct wn_watch *w, uint64_t ns)
{
	uint64_t due;

	if (!w->armed)
		return ns;
	if (w->sense != WN_WATCH_PERF)
		return wn_min(ns, wn_max(w->scan.rest_ns,
					 wn_above(w->scan.due_ns, wn_sys->now_ns())));
	ns = wn_min(ns, wn_max(w->rest_ns, REST_MIN_NS));
	due = wn_taps_due(&w->taps);
	if (due != UINT64_MAX)
		ns = wn_min(ns, wn_above(due, wn_sys->now_ns()) + 1000);
	return ns;
}

bool wn_watch_news(const struct wn_watch *w)
{
	return wn_load(&w->waker.rang);
}

void wn_watch_quiet(struct wn_watch *w)
{
	w->rest_ns = wn_min(2 * wn_max(w->rest_ns, REST_MIN_NS), REST_MAX_NS);
}

void wn_watch_close(struct wn_watch *w)
{
	wn_taps_close(&w->taps);
	wn_waker_stop(&w->waker);
	wn_scan_close(&w->scan);
	w->rest_ns = 0;
	w->armed = false;
	w->busy = false;
}

/* SPDX-License-Identifier: MIT */
#include "watch/watch.h"

#include <errno.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/sys.h"
#include "log.h"

#define MS 1000000u
#define REST_MIN_NS (2u * MS)
/*
 * A reader that goes up takes its one major fault before anything is watched, and minor
 * ones wake nobody: so at the beginning they are looked for without being woken.
 */
#define EAGER_NS (16u * MS)
#define EAGER_REST_NS (MS / 4)
#define EAGER_USELESS 8u
/* Threads that are new are seen when the helper wakes up. */
#define REST_MAX_NS (32u * (uint64_t)MS)
/* The same where what is seen is of no use. */
#define LULL_NS (128u * (uint64_t)MS)
#define USELESS 24u

/*
 * Rings of perf count as locked memory of the user, whose other programs may need it for
 * their own.  They take an eighth of it at most, or auto does without them.
 */
static bool affordable(void)
{
	return wn_sys->memlock_limit() / 8 >= WN_TAPS * 2 * wn_page_size();
}

static void tell(const struct wn_watch *w, const struct wn_watch_use *u, const char *what,
		 int error)
{
	static const char names[][8] = { "", "perf", "scan", "pagemap", "" };
	struct wn_line l;

	if (!wn_line_begin(&l, u->options))
		return;
	wn_text_add(&l.text, "watch: ");
	wn_text_add(&l.text, names[w->sense]);
	wn_text_add(&l.text, what);
	if (error) {
		wn_text_add(&l.text, ", errno ");
		wn_text_number(&l.text, (uint64_t)-error);
	}
	wn_line_end(&l);
}

static int arm(struct wn_watch *w, const struct wn_watch_use *u)
{
	int r;

	if (w->sense != WN_WATCH_PERF)
		return wn_scan_open(&w->scan, w->sense == WN_WATCH_SCAN);
	r = wn_waker_start(&w->waker, u->sleeping, u->stack_top, u->stats, wn_tap_first);
	if (r < 0)
		return r;
	/* Readers do not wait until perf is there: the page table shows where they begin. */
	if (wn_scan_open(&w->scan, true) < 0 && wn_scan_open(&w->scan, false) < 0)
		wn_count(u->stats, facility_failures, 1);
	return 0;
}

/* Is it the page table that is looked at, if only until perf has been set up? */
static bool scans(const struct wn_watch *w)
{
	return w->scan.pages.fd1;
}

static int tend_perf(struct wn_watch *w, const struct wn_watch_use *u, uint64_t now_ns)
{
	bool news = false;
	int r = wn_waker_begun(&w->waker);

	if (r < 0)
		return r;
	if (r > 0) {
		r = wn_taps_tend(&w->taps, &w->waker, now_ns, &news);
		if (news)
			w->rest_ns = REST_MIN_NS;
		if (!w->began_ns)
			w->began_ns = now_ns;
		if (r < 0 || !scans(w))
			return r;
		/* What was read meanwhile is told once more. */
		w->last_look = true;
	}
	if (scans(w) && wn_scan_tend(&w->scan, u, now_ns, &w->busy) < 0)
		wn_scan_close(&w->scan);
	return 0;
}

static int tend(struct wn_watch *w, const struct wn_watch_use *u, uint64_t now_ns)
{
	int r = w->armed ? 0 : arm(w, u);

	if (r < 0)
		return r;
	if (!w->armed)
		tell(w, u, " sees page faults", 0);
	w->armed = true;
	wn_store(&w->waker.rang, 0);
	return w->sense == WN_WATCH_PERF ? tend_perf(w, u, now_ns) :
					   wn_scan_tend(&w->scan, u, now_ns, &w->busy);
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
	int r;

	if (w->failed || choice == WN_WATCH_OFF)
		return false;
	if (w->sense == WN_WATCH_AUTO) {
		w->sense = choice != WN_WATCH_AUTO ? choice : WN_WATCH_PERF;
		if (choice == WN_WATCH_AUTO && !affordable()) {
			tell(w, u, " is left out: an eighth of RLIMIT_MEMLOCK is too little", 0);
			w->sense = WN_WATCH_SCAN;
		}
	}
	w->busy = false;
	w->eager = w->began_ns && now_ns - w->began_ns < EAGER_NS &&
		   w->waker.useless < EAGER_USELESS;
	do {
		r = tend(w, u, now_ns);
		if (r >= 0)
			return true;
		wn_count(u->stats, facility_failures, 1);
		tell(w, u, " cannot be had", r);
	} while (next_sense(w, choice));
	return false;
}

bool wn_watch_next(struct wn_watch *w, struct wn_fault *out)
{
	if (scans(w) && wn_scan_next(&w->scan, out))
		return true;
	if (w->last_look) {
		wn_scan_close(&w->scan);
		w->last_look = false;
	}
	return wn_taps_next(&w->taps, out);
}

void wn_watch_judge(struct wn_watch *w, uint32_t tap, bool useful, uint64_t now_ns)
{
	if (useful)
		w->rest_ns = REST_MIN_NS;
	wn_store(&w->waker.useless, useful ? 0 : w->waker.useless + 1);
	if (tap != WN_NO_TAP)
		wn_taps_judge(&w->taps, tap, useful, now_ns);
	else
		wn_scan_judge(&w->scan, useful, now_ns);
}

void wn_watch_closer(struct wn_watch *w, uint32_t thread, uint32_t period)
{
	if (w->sense == WN_WATCH_PERF)
		wn_taps_closer(&w->taps, thread, period);
}

uint64_t wn_watch_soonest(const struct wn_watch *w, uint64_t now_ns)
{
	return w->armed ? wn_above(w->scan.look.due_ns, now_ns) : 0;
}

uint64_t wn_watch_rest(const struct wn_watch *w, uint64_t ns)
{
	uint64_t due;

	if (!w->armed)
		return ns;
	if (scans(w))
		return wn_min(ns, wn_max(w->scan.rest_ns,
					 wn_above(w->scan.look.due_ns, wn_sys->now_ns())));
	ns = wn_min(ns, w->eager ? EAGER_REST_NS : wn_max(w->rest_ns, REST_MIN_NS));
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
	w->rest_ns = wn_min(2 * wn_max(w->rest_ns, REST_MIN_NS),
			    w->waker.useless < USELESS ? REST_MAX_NS : LULL_NS);
}

void wn_watch_close(struct wn_watch *w)
{
	wn_taps_close(&w->taps);
	wn_waker_stop(&w->waker);
	wn_scan_close(&w->scan);
	w->rest_ns = 0;
	w->began_ns = 0;
	w->eager = false;
	w->armed = false;
	w->busy = false;
	w->last_look = false;
}

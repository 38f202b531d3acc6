/* SPDX-License-Identifier: MIT */
#include "watch/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "base/file_io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "base/text.h"

#define MS 1000000u
/*
 * So many faults that were of no use shut a tap, and one that was makes up for so many.
 * (A program may fill fresh memory, a fault a page, with what it reads.)
 */
#define USELESS 64u
#define USEFUL 32u
/* Between two looks whether there are new threads. */
#define LIST_NS (4u * MS)
#define PAUSE_MIN_NS (20u * MS)
#define PAUSE_MAX_NS (1000u * (uint64_t)MS)
#define REST_MIN_NS (2u * MS)
#define REST_MAX_NS (500u * (uint64_t)MS)
#define DEAF_NS (2u * MS)
#define DEAF_ROUNDS 50
#define SENT_NS (1u * MS)
/* Ignored unless the program cares for it, and blocked in the helper in any case. */
#define WAKE_SIGNAL SIGURG

static struct wn_tap *tap_of(struct wn_watch *w, uint32_t thread)
{
	for (uint32_t i = 0; i < w->used; i++)
		if (w->tap[i].thread == thread)
			return &w->tap[i];
	return NULL;
}

/* False: no thread can be watched here. */
static bool add(struct wn_watch *w, uint32_t thread)
{
	struct wn_tap *t = NULL;
	int r;

	for (uint32_t i = 0; i < WN_TAPS && !t; i++)
		if (!w->tap[i].thread)
			t = &w->tap[i];
	/* More threads than taps: those that came first are watched. */
	if (!t)
		return true;
	*t = (struct wn_tap){ .thread = thread, .seen = true, .closer = 1 };
	r = wn_tap_open(t);
	if (r < 0) {
		*t = (struct wn_tap){ 0 };
		/* It has ended meanwhile. */
		return r == -ESRCH;
	}
	/* Its first major fault may have been before this, and the only one. */
	if (wn_tap_open_minor(t) < 0)
		t->closer = 0;
	wn_tap_run(t, true);
	w->used = (uint32_t)wn_max(w->used, (uint64_t)(t - w->tap) + 1);
	return true;
}

static bool list_threads(struct wn_watch *w, int folder)
{
	_Alignas(8) char buf[2048];
	uint64_t self = (uint64_t)wn_sys->gettid(), id;
	bool good = true;
	ssize_t n;

	while (good && (n = wn_sys->getdents(folder, buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < n && good;) {
			const struct wn_entry *e = (const struct wn_entry *)(void *)(buf + at);
			const char *name = e->name;
			struct wn_tap *t;

			at += e->length;
			if (!wn_digits(&name, 10, &id) || id == self)
				continue;
			t = tap_of(w, (uint32_t)id);
			if (t)
				t->seen = true;
			else
				good = add(w, (uint32_t)id);
		}
	}
	return good;
}

/* The folder's link count tells how many threads there are: listing them is rarely needed. */
static bool find_threads(struct wn_watch *w)
{
	int folder = wn_sys->open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	bool good;

	if (folder < 0)
		return false;
	good = wn_sys->fstat(folder, &st) >= 0;
	if (good && st.st_nlink != w->threads) {
		for (uint32_t i = 0; i < w->used; i++)
			w->tap[i].seen = false;
		good = list_threads(w, folder);
		for (uint32_t i = 0; i < w->used; i++)
			if (w->tap[i].thread && !w->tap[i].seen)
				w->tap[i].ended = true;
		w->threads = st.st_nlink;
		w->rest_ns = REST_MIN_NS;
	}
	wn_sys->close(folder);
	return good;
}

static bool arm(struct wn_watch *w)
{
	int fd = wn_sys->signalfd((uint64_t)1 << (WAKE_SIGNAL - 1));

	if (fd < 0)
		return false;
	w->signal1 = (uint32_t)fd + 1;
	w->rest_ns = REST_MIN_NS;
	w->armed = true;
	return true;
}

bool wn_watch_tend(struct wn_watch *w, const struct wn_options *o,
		   struct willneed_stats *stats, uint64_t now_ns)
{
	if (w->failed || wn_load(&o->value[WN_OPT_WATCH]) == WN_WATCH_OFF)
		return false;
	if (w->armed && now_ns - w->listed_ns < LIST_NS)
		return true;
	w->listed_ns = now_ns;
	if ((!w->armed && !arm(w)) || !find_threads(w)) {
		wn_count(stats, facility_failures, 1);
		wn_watch_close(w);
		w->failed = true;
		return false;
	}
	for (uint32_t i = 0; i < w->used; i++) {
		struct wn_tap *t = &w->tap[i];

		if (!t->paused_until || now_ns < t->paused_until)
			continue;
		t->paused_until = 0;
		t->opened_ns = now_ns;
		wn_tap_run(t, true);
	}
	return true;
}

bool wn_watch_next(struct wn_watch *w, struct wn_fault *out)
{
	for (uint32_t i = 0; i < w->used; i++) {
		uint32_t n = (w->next + i) % w->used;
		struct wn_tap *t = &w->tap[n];

		if (!t->thread)
			continue;
		if (wn_tap_read(t, out)) {
			out->tap = n;
			w->next = n;
			return true;
		}
		if (t->ended)
			wn_tap_close(t);
	}
	return false;
}

void wn_watch_judge(struct wn_watch *w, uint32_t tap, bool useful, uint64_t now_ns)
{
	struct wn_tap *t = &w->tap[tap];

	if (useful) {
		t->useless = (uint32_t)wn_above(t->useless, USEFUL);
		t->pause_ns /= 2;
		w->rest_ns = REST_MIN_NS;
		return;
	}
	if (++t->useless < USELESS || t->paused_until)
		return;
	t->useless = 0;
	t->closer = 0;
	t->pause_ns = wn_min(wn_max(2 * t->pause_ns, PAUSE_MIN_NS), PAUSE_MAX_NS);
	t->paused_until = now_ns + t->pause_ns;
	wn_tap_run(t, false);
}

void wn_watch_closer(struct wn_watch *w, uint32_t thread, uint32_t period)
{
	struct wn_tap *t = tap_of(w, thread);
	bool ran = t && t->closer;

	if (!t || t->closer == period || t->paused_until)
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

/* Until a pause ends, if that comes first. */
static uint64_t until_due(const struct wn_watch *w, uint64_t ns)
{
	uint64_t now = wn_sys->now_ns();

	for (uint32_t i = 0; i < w->used; i++)
		if (w->tap[i].thread && w->tap[i].paused_until)
			ns = wn_min(ns, wn_above(w->tap[i].paused_until, now) + 1000);
	return ns;
}

void wn_watch_wait(struct wn_watch *w, uint64_t ns)
{
	struct pollfd fds[WN_TAPS + 1];
	struct wn_tap *tap[WN_TAPS + 1];
	unsigned n = 1;
	int r;

	fds[0] = (struct pollfd){ .fd = (int)w->signal1 - 1, .events = POLLIN };
	/* A signal that was meant for the program is left alone: hear nothing meanwhile. */
	if (w->deaf) {
		fds[0].fd = -1;
		ns = wn_min(ns, DEAF_NS);
		w->deaf--;
	}
	for (uint32_t i = 0; i < w->used; i++) {
		struct wn_tap *t = &w->tap[i];

		if (!t->thread || t->paused_until)
			continue;
		tap[n] = t;
		fds[n++] = (struct pollfd){ .fd = (int)t->major1 - 1, .events = POLLIN };
	}
	ns = until_due(w, wn_min(ns, w->rest_ns));
	r = wn_sys->poll(fds, n, ns);
	if (r == 0)
		w->rest_ns = wn_min(2 * w->rest_ns, REST_MAX_NS);
	if (r <= 0)
		return;
	w->heard = fds[0].revents;
	for (unsigned i = 1; i < n; i++)
		if (fds[i].revents & (POLLHUP | POLLERR | POLLNVAL))
			tap[i]->ended = true;
}

void wn_watch_woken(struct wn_watch *w, bool sent)
{
	siginfo_t info;

	if (!sent) {
		w->deaf = w->heard ? DEAF_ROUNDS : w->deaf;
		return;
	}
	/* It was sent, or is about to be.  What was sent to all is not for us. */
	if (wn_sys->sigtake(WAKE_SIGNAL, &info, SENT_NS) < 0)
		return;
	if (info.si_code != SI_TKILL) {
		wn_sys->sigput(WAKE_SIGNAL, &info);
		w->deaf = DEAF_ROUNDS;
	}
}

void wn_watch_wake(uint32_t helper_tid)
{
	wn_sys->tgkill((int)helper_tid, WAKE_SIGNAL);
}

void wn_watch_close(struct wn_watch *w)
{
	for (uint32_t i = 0; i < w->used; i++)
		wn_tap_close(&w->tap[i]);
	if (w->signal1)
		wn_sys->close((int)w->signal1 - 1);
	*w = (struct wn_watch){ .failed = w->failed };
}

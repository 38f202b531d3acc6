/* SPDX-License-Identifier: MIT */
#include "helper.h"

#include <errno.h>
#include <linux/close_range.h>

#include "base/arch.h"
#include "base/sys.h"
#include "base/thread.h"
#include "log.h"
#include "loop.h"
#include "runtime.h"
#include "why.h"

#define MS 1000000u
/* So long a helper that is stuck in a system call is waited for. */
#define STOP_NS (2000 * (uint64_t)MS)

static void rest(struct wn_loop *l, uint64_t ns)
{
	struct wn_state *st = l->st;
	int r = 0;

	wn_loop_set_alarm(l);
	ns = wn_watch_rest(&st->watch, ns);
	__atomic_store_n(&st->sleeping, 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!wn_loop_news(st) && !wn_watch_news(&st->watch))
		r = wn_sys->futex_wait(&st->sleeping, 1, ns);
	wn_store(&st->sleeping, 0);
	if (r == -ETIMEDOUT)
		wn_watch_quiet(&st->watch);
}

/*
 * Whoever brings work after the last look finds `ending` set, and does not count on us.
 */
static bool may_end(struct wn_state *st)
{
	wn_store(&st->ending, 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!wn_loop_news(st))
		return true;
	wn_store(&st->ending, 0);
	return false;
}

static void deny(struct wn_state *st, int error)
{
	wn_store(&st->helper_denied, 1);
	wn_count(&st->stats, facility_failures, 1);
	wn_why_process(&wn_rt.options, WN_WHY_NO_HELPER, error);
}

static void helper_main(void *arg)
{
	struct wn_loop l = { .st = arg, .k = wn_kernel_of(arg) };
	struct wn_state *st = l.st;
	int r;

	wn_thread_be_ordinary("willneed");
	/* An empty table of our own: the program's descriptors are never held. */
	r = (int)wn_raw(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE);
	if (r < 0) {
		deny(st, -r);
		return;
	}
	l.worked = wn_sys->now_ns();
	wn_log(l.k.options, "helper started, thread ", "", (uint64_t)wn_sys->gettid());
	while (!wn_load(&wn_rt.stops)) {
		uint64_t idle = wn_load(&l.k.options->value[WN_OPT_IDLE]) * MS;
		uint64_t ns = wn_loop_round(&l);

		if (l.now - l.worked >= idle && may_end(st))
			break;
		rest(&l, wn_min(ns, idle));
	}
	wn_loop_end(&l);
}

static bool start_claimed(struct wn_state *st)
{
	int r;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	/* The last one may still be on its stack. */
	if (wn_load_acquire(&st->helper_tid) || wn_load(&wn_rt.stops))
		return false;
	wn_store(&st->ending, 0);
	r = wn_thread_start(helper_main, st, wn_rt.arena.stack_top, &st->helper_tid);
	if (r > 0) {
		wn_store(&st->helper_last, (uint32_t)r);
		wn_count(&st->stats, helper_starts, 1);
		return true;
	}
	deny(st, -r);
	return false;
}

static bool start(struct wn_state *st)
{
	uint32_t pid = (uint32_t)wn_sys->getpid();
	uint64_t all = ~(uint64_t)0, before;
	/* Somebody else is at it. */
	bool started = true;

	/* A forked child finds 0. */
	wn_swap32(&st->pid, 0, pid);
	/* Another pid but the parent's memory: the child of a vfork(), which borrows it. */
	if (wn_load(&st->pid) != pid)
		return false;
	/* A handler that leaves by a jump must not take the claim with it. */
	if (wn_raw(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, &before, sizeof(all)) < 0)
		return false;
	if (wn_swap32(&st->helper_start, 0, 1)) {
		started = start_claimed(st);
		wn_store_release(&st->helper_start, 0);
	}
	wn_raw(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &before, NULL, sizeof(before));
	return started;
}

bool wn_helper_expected(const struct wn_state *st)
{
	return wn_rt.options.value[WN_OPT_ENGINE] != WN_ENGINE_INLINE &&
	       !wn_load(&st->helper_denied);
}

void wn_helper_wake(struct wn_state *st)
{
	/* Orders what was written before against the helper's last look before it sleeps. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (wn_load(&st->sleeping) && wn_swap32(&st->sleeping, 1, 0))
		wn_sys->futex_wake(&st->sleeping, 1);
}

bool wn_helper_kick(struct wn_state *st)
{
	if (!wn_helper_expected(st))
		return false;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!wn_load(&st->helper_tid))
		return start(st);
	if (wn_load(&st->ending))
		return false;
	wn_helper_wake(st);
	return true;
}

static void wait_until_gone(struct wn_state *st, uint64_t limit_ns)
{
	uint64_t start = wn_sys->now_ns();
	uint32_t never = 0;

	while (wn_sys->thread_alive((int)wn_load(&st->helper_last)) &&
	       wn_sys->now_ns() - start < limit_ns) {
		wn_helper_wake(st);
		wn_sys->futex_wait(&never, 0, 20000);
	}
}

/*
 * The count lives outside the state, which may not exist yet and which a forked child finds
 * empty.  In the child of a vfork() nothing is found to wait for: the id is not its own.
 */
void wn_helper_stop(void)
{
	wn_helper_stop_within(STOP_NS);
}

void wn_helper_stop_within(uint64_t limit_ns)
{
	struct wn_state *st;

	wn_add(&wn_rt.stops, 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	st = wn_load_acquire(&wn_rt.state);
	if (!st)
		return;
	/* A thread that is just being started has an id soon. */
	for (int tries = 0; wn_load_acquire(&st->helper_start) && tries < 1000000; tries++)
		wn_pause();
	if (wn_load_acquire(&st->helper_tid))
		wait_until_gone(st, limit_ns);
	/*
	 * The id is zeroed a moment before the kernel stops counting the thread; much later
	 * it may be the id of a thread of the program.
	 */
	if (wn_load(&st->helper_last))
		wait_until_gone(st, MS);
	wn_store(&st->helper_last, 0);
}

void wn_helper_allow(void)
{
	struct wn_state *st = wn_awake();

	if (__atomic_fetch_sub(&wn_rt.stops, 1, __ATOMIC_RELAXED) == 1 && st && wn_loop_news(st))
		wn_helper_kick(st);
}

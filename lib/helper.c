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

#define MS 1000000u

static void rest(struct wn_loop *l, uint64_t ns)
{
	struct wn_state *st = l->st;

	uint32_t how = st->watch.armed ? 2 : 1;

	wn_loop_set_alarm(l);
	__atomic_store_n(&st->sleeping, how, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!wn_loop_news(st)) {
		if (how == 2)
			wn_watch_wait(&st->watch, ns);
		else
			wn_sys->futex_wait(&st->sleeping, 1, ns);
	}
	if (how == 2)
		wn_watch_woken(&st->watch, !wn_swap32(&st->sleeping, 2, 0));
	wn_store(&st->sleeping, 0);
}

static void helper_main(void *arg)
{
	struct wn_loop l = { .st = arg, .k = wn_kernel_of(arg) };
	struct wn_state *st = l.st;

	wn_thread_be_ordinary("willneed");
	/* An empty table of our own: the program's descriptors are never held. */
	if (wn_raw(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) < 0) {
		wn_store(&st->helper_denied, 1);
		wn_count(&st->stats, facility_failures, 1);
		return;
	}
	l.worked = wn_sys->now_ns();
	wn_log(l.k.options, "helper started, thread ", "", (uint64_t)wn_sys->gettid());
	while (!wn_load(&st->quit)) {
		uint64_t idle = wn_load(&l.k.options->value[WN_OPT_IDLE]) * MS;
		uint64_t ns = wn_loop_round(&l);

		if (l.now - l.worked >= idle && !wn_loop_news(st))
			break;
		rest(&l, wn_min(ns, idle));
	}
	wn_loop_end(&l);
}

static void start(struct wn_state *st)
{
	uint32_t pid = (uint32_t)wn_sys->getpid();
	int r;

	wn_swap32(&st->pid, 0, pid);
	/* Another pid but the parent's memory: the child of a vfork(), which borrows it. */
	if (wn_load(&st->pid) != pid)
		return;
	/* The last one may still be on its stack. */
	if (wn_load_acquire(&st->helper_tid) || !wn_swap32(&st->helper_start, 0, 1))
		return;
	if (!wn_load_acquire(&st->helper_tid) && !wn_load(&st->quit)) {
		r = wn_thread_start(helper_main, st, wn_rt.arena.stack_top, &st->helper_tid);
		wn_count(&st->stats, helper_starts, r == 0);
		if (r < 0) {
			wn_store(&st->helper_denied, 1);
			wn_count(&st->stats, facility_failures, 1);
			wn_log(&wn_rt.options, "no helper thread, errno ", "", (uint64_t)-r);
		}
	}
	wn_store_release(&st->helper_start, 0);
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
	switch (wn_load(&st->sleeping)) {
	case 1:
		if (wn_swap32(&st->sleeping, 1, 0))
			wn_sys->futex_wake(&st->sleeping, 1);
		break;
	case 2:
		if (wn_swap32(&st->sleeping, 2, 0))
			wn_watch_wake(wn_load(&st->helper_tid));
	}
}

void wn_helper_kick(struct wn_state *st)
{
	if (!wn_helper_expected(st))
		return;
	if (wn_load(&st->helper_tid))
		wn_helper_wake(st);
	else
		start(st);
}

void wn_helper_stop(void)
{
	struct wn_state *st = wn_load_acquire(&wn_rt.state);
	uint32_t tid;

	if (!st || wn_load(&st->pid) != (uint32_t)wn_sys->getpid())
		return;
	wn_store(&st->quit, 1);
	/* A thread that is just being started has an id soon. */
	for (int tries = 0; wn_load_acquire(&st->helper_start) && tries < 1000000; tries++)
		wn_pause();
	tid = wn_load_acquire(&st->helper_tid);
	/* The id is zeroed a moment before the kernel stops counting the thread. */
	while (tid && wn_sys->thread_alive((int)tid)) {
		uint32_t never = 0;

		wn_helper_wake(st);
		wn_sys->futex_wait(&never, 0, 20000);
	}
	wn_store(&st->quit, 0);
}

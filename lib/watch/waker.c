/* SPDX-License-Identifier: MIT */
#include "watch/waker.h"

#include <errno.h>
#include <sys/epoll.h>

#include "base/mem.h"
#include "base/sys.h"
#include "base/thread.h"

#define MS 1000000u
#define STOP 1u
/*
 * What happens shortly after an event waits for the next one: faults may come by the
 * thousand, and each would cost two wake-ups.
 */
#define NAP_NS (MS / 2)
/* The first of them tell whether it is a walk: these are wanted at once. */
#define SHORT_NAP_NS (MS / 16)
#define FIRST 8u
#define LONG_NAP_NS (4u * MS)
#define USELESS 24u

/* The helper looks at `rang` when it has said that it sleeps, and before it does. */
static void ring(struct wn_waker *k)
{
	__atomic_store_n(&k->rang, 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (wn_load(k->sleeping) && wn_swap32(k->sleeping, 1, 0))
		wn_sys->futex_wake(k->sleeping, 1);
}

static uint64_t nap(uint32_t useless)
{
	if (useless < FIRST)
		return SHORT_NAP_NS;
	return useless < USELESS ? NAP_NS : LONG_NAP_NS;
}

static void waker_main(void *arg)
{
	struct wn_waker *k = arg;
	struct epoll_event e[8];
	uint64_t before = 0, cpu;
	int n;

	wn_thread_be_ordinary("willneed");
	n = k->first();
	wn_store_release(&k->begun, n >= 0 ? n + 1 : n);
	ring(k);
	while ((n = wn_sys->epoll_wait((int)k->epoll1 - 1, e, 8)) >= 0 || n == -EINTR) {
		for (int i = 0; i < n; i++) {
			if (e[i].data.u32 == STOP)
				return;
			if (e[i].events & (EPOLLHUP | EPOLLERR))
				wn_store(&k->hung, 1);
		}
		ring(k);
		cpu = wn_sys->cpu_ns() / 1000;
		wn_count(k->stats, helper_cpu_us, cpu - before);
		before = cpu;
		wn_sys->futex_wait(&k->stopping, 0, nap(wn_load(&k->useless)));
	}
}

static int add(struct wn_waker *k, int fd, uint32_t what)
{
	/* An edge is enough: what has rung is not asked about before it rings again. */
	struct epoll_event e = { .events = EPOLLIN | EPOLLET, .data.u32 = what };

	return wn_sys->epoll_add((int)k->epoll1 - 1, fd, &e);
}

int wn_waker_start(struct wn_waker *k, uint32_t *sleeping, char *stack_top,
		   struct willneed_stats *stats, int (*first)(void))
{
	int r;

	/* The last one may still be on its stack. */
	if (wn_load_acquire(&k->tid))
		return -EBUSY;
	r = wn_sys->epoll_create();
	if (r < 0)
		return r;
	k->sleeping = sleeping;
	k->stats = stats;
	k->first = first;
	k->begun = 0;
	k->stopping = 0;
	k->epoll1 = (uint32_t)r + 1;
	r = wn_sys->eventfd();
	if (r >= 0) {
		k->stop1 = (uint32_t)r + 1;
		r = add(k, r, STOP);
	}
	if (r >= 0)
		r = wn_thread_start(waker_main, k, stack_top, &k->tid);
	if (r < 0) {
		wn_waker_stop(k);
		return r;
	}
	k->last = (uint32_t)r;
	return 0;
}

int wn_waker_begun(const struct wn_waker *k)
{
	int32_t begun = wn_load_acquire(&k->begun);

	return begun > 0 ? 1 : begun;
}

int wn_waker_add(struct wn_waker *k, int fd)
{
	return add(k, fd, 0);
}

/*
 * The kernel zeroes the id a moment before it stops counting the thread, and a moment
 * later it may be the id of a thread of the program.
 */
static void wait_until_gone(const struct wn_waker *k)
{
	uint64_t begin = wn_sys->now_ns();
	uint32_t never = 0;

	while (wn_load_acquire(&k->tid) && wn_sys->now_ns() - begin < 1000 * (uint64_t)MS)
		wn_sys->futex_wait(&never, 0, 20000);
	begin = wn_sys->now_ns();
	while (wn_sys->thread_alive((int)k->last) && wn_sys->now_ns() - begin < MS)
		wn_sys->futex_wait(&never, 0, 20000);
}

void wn_waker_stop(struct wn_waker *k)
{
	const uint64_t one = 1;

	if (k->last) {
		wn_sys->write((int)k->stop1 - 1, &one, sizeof(one));
		wn_store(&k->stopping, 1);
		wn_sys->futex_wake(&k->stopping, 1);
		wait_until_gone(k);
	}
	if (k->begun > 0)
		wn_sys->close(k->begun - 1);
	if (k->stop1)
		wn_sys->close((int)k->stop1 - 1);
	if (k->epoll1)
		wn_sys->close((int)k->epoll1 - 1);
	/* Its id is for the kernel to zero. */
	k->last = 0;
	k->begun = 0;
	k->stop1 = 0;
	k->epoll1 = 0;
	k->hung = 0;
	k->useless = 0;
	k->rang = 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * waker.h - a second thread, which waits for what a futex cannot wait for.
 * Calls base and stats.  The helper sleeps on its futex, where the program's threads, which
 * have no descriptor of ours, can reach it.  Events of the kernel come through descriptors.
 * So while some are watched, this thread waits for them, in the helper's own descriptor
 * table, and passes each on to the futex.  Promise: it does nothing else, and has been
 * removed by the kernel when wn_waker_stop() returns.
 */
#ifndef WN_WAKER_H
#define WN_WAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "stats.h"

struct wn_waker {
	uint32_t *sleeping; /* the helper's futex: 1 while it sleeps there */
	uint32_t tid;	    /* zeroed by the kernel */
	uint32_t last;	    /* its id even then */
	uint32_t epoll1;    /* descriptors, plus one */
	uint32_t stop1;
	uint32_t rang;	    /* something happened since the helper last looked */
	uint32_t hung;	    /* and one of the descriptors will never ring again */
	uint32_t stopping;
	int32_t begun;	    /* what `first` has returned; 0: it has not yet */
	int (*first)(void);
	uint32_t useless;   /* events in a row: after some of them it is slow to ring again */
	struct willneed_stats *stats;
};

/*
 * 0 or a negative errno, and then nothing is left open.  first() may take the kernel long:
 * it is called by the new thread, and returns a descriptor, which is kept, or a negative
 * errno.
 */
int wn_waker_start(struct wn_waker *k, uint32_t *sleeping, char *stack_top,
		   struct willneed_stats *stats, int (*first)(void));
/* 1: first() has worked; 0: it takes its time; or its negative errno. */
int wn_waker_begun(const struct wn_waker *k);
int wn_waker_add(struct wn_waker *k, int fd);
void wn_waker_stop(struct wn_waker *k);

#endif

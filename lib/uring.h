/* SPDX-License-Identifier: MIT */
/*
 * uring.h - io_uring as another way to reach the kernel.
 * For the helper only: the ring's descriptor is in its table.  No SQPOLL, two workers at
 * most, never waited for: completions are picked up when the helper passes by.  Advice is
 * carried out by the kernel's workers, so that one slow file system does not hold up the
 * others; a read of one byte completes when its page has arrived.
 */
#ifndef WN_URING_H
#define WN_URING_H

#include <stdbool.h>
#include <stdint.h>

struct wn_uring {
	_Alignas(16) unsigned char room[320]; /* struct io_uring, if we were built with it */
	bool tried;
	bool on;
};

/* Opens the ring at the first call; false where there is none to be had. */
bool wn_uring_ready(struct wn_uring *u);

/* Queues POSIX_FADV_WILLNEED; false when the queue is full. */
bool wn_uring_advise(struct wn_uring *u, int fd, uint64_t offset, uint64_t length);

/* Queues a read of one byte, which will be told to arrived() with this tag. */
bool wn_uring_watch(struct wn_uring *u, int fd, uint64_t offset, char *byte, uint64_t tag);

/* Hands what is queued to the kernel, in one call. */
void wn_uring_submit(struct wn_uring *u);

/* Picks up what has completed since; result is that of the read. */
void wn_uring_reap(struct wn_uring *u, void (*arrived)(void *ctx, uint64_t tag, int result),
		   void *ctx);

void wn_uring_close(struct wn_uring *u);

#endif

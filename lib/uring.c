/* SPDX-License-Identifier: MIT */
#include "uring.h"

#include <config.h>

#ifdef HAVE_LIBURING

#include <fcntl.h>
#include <liburing.h>

#define ENTRIES 64
/* Advice completes without anybody waiting for it. */
#define NO_TAG UINT64_MAX

_Static_assert(sizeof(struct io_uring) <= sizeof(((struct wn_uring *)0)->room),
	       "room for the ring");

static struct io_uring *ring_of(struct wn_uring *u)
{
	return (struct io_uring *)(void *)u->room;
}

bool wn_uring_ready(struct wn_uring *u)
{
	unsigned workers[2] = { 2, 2 };

	if (u->tried)
		return u->on;
	u->tried = true;
	if (io_uring_queue_init(ENTRIES, ring_of(u), 0) < 0)
		return false;
	/* Each worker is a thread of the program's; a kernel that cannot limit them is out. */
	u->on = io_uring_register_iowq_max_workers(ring_of(u), workers) >= 0;
	if (!u->on)
		io_uring_queue_exit(ring_of(u));
	return u->on;
}

/* A free entry; what is queued is submitted first when there is none. */
static struct io_uring_sqe *entry(struct wn_uring *u)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring_of(u));

	if (sqe)
		return sqe;
	io_uring_submit(ring_of(u));
	return io_uring_get_sqe(ring_of(u));
}

bool wn_uring_advise(struct wn_uring *u, int fd, uint64_t offset, uint64_t length)
{
	struct io_uring_sqe *sqe = entry(u);

	if (!sqe)
		return false;
	io_uring_prep_fadvise(sqe, fd, offset, (off_t)length, POSIX_FADV_WILLNEED);
	sqe->user_data = NO_TAG;
	return true;
}

bool wn_uring_watch(struct wn_uring *u, int fd, uint64_t offset, char *byte, uint64_t tag)
{
	struct io_uring_sqe *sqe = entry(u);

	if (!sqe)
		return false;
	io_uring_prep_read(sqe, fd, byte, 1, offset);
	sqe->user_data = tag;
	return true;
}

void wn_uring_submit(struct wn_uring *u)
{
	if (u->on && io_uring_sq_ready(ring_of(u)))
		io_uring_submit(ring_of(u));
}

void wn_uring_reap(struct wn_uring *u, void (*arrived)(void *ctx, uint64_t tag, int result),
		   void *ctx)
{
	struct io_uring_cqe *cqe;

	if (!u->on)
		return;
	while (!io_uring_peek_cqe(ring_of(u), &cqe)) {
		uint64_t tag = cqe->user_data;
		int result = cqe->res;

		io_uring_cqe_seen(ring_of(u), cqe);
		if (tag != NO_TAG)
			arrived(ctx, tag, result);
	}
}

void wn_uring_close(struct wn_uring *u)
{
	/* What failed once is not tried again. */
	if (!u->on)
		return;
	io_uring_queue_exit(ring_of(u));
	u->on = false;
	u->tried = false;
}

#else /* built without liburing: there is no ring to be had */

bool wn_uring_ready(struct wn_uring *u)
{
	(void)u;
	return false;
}

bool wn_uring_advise(struct wn_uring *u, int fd, uint64_t offset, uint64_t length)
{
	(void)u, (void)fd, (void)offset, (void)length;
	return false;
}

bool wn_uring_watch(struct wn_uring *u, int fd, uint64_t offset, char *byte, uint64_t tag)
{
	(void)u, (void)fd, (void)offset, (void)byte, (void)tag;
	return false;
}

void wn_uring_submit(struct wn_uring *u)
{
	(void)u;
}

void wn_uring_reap(struct wn_uring *u, void (*arrived)(void *ctx, uint64_t tag, int result),
		   void *ctx)
{
	(void)u, (void)arrived, (void)ctx;
}

void wn_uring_close(struct wn_uring *u)
{
	(void)u;
}

#endif

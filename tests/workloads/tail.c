/* SPDX-License-Identifier: MIT */
/* A log: the first thread writes a file, the others follow it. */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

/* So often the writer waits until the file is on the disk: what is dirty stays cached. */
enum { SYNC_BYTES = 4 << 20 };

/* Each word tells its place, for the sum that the readers make. */
static void write_words(struct wl_thread *t, const struct wl_piece *piece)
{
	for (uint64_t i = 0; i + 8 <= piece->length; i += 8) {
		uint64_t word = (piece->offset + i) * 0x9e3779b97f4a7c15u;

		__builtin_memcpy(t->dst + i, &word, sizeof(word));
	}
}

static int grow(struct wl_thread *t)
{
	struct wl_piece piece;
	uint64_t synced = 0;

	while (wl_next(t, &piece)) {
		uint64_t end = piece.offset + piece.length;

		write_words(t, &piece);
		if (pwrite(t->fd, t->dst, piece.length, (off_t)piece.offset) !=
		    (ssize_t)piece.length)
			return -EIO;
		atomic_store(&t->w->progress, end);
		if (end - synced >= SYNC_BYTES && fdatasync(t->fd) < 0)
			return -errno;
		if (end - synced >= SYNC_BYTES)
			synced = end;
	}
	return 0;
}

/* The first reader is at the end of the file, each other one some way behind it. */
static int follow(struct wl_thread *t)
{
	const struct timespec pause = { .tv_nsec = 50000 };
	uint64_t behind = (t->index - 1) * t->w->p.ahead;
	struct wl_piece piece;

	while (wl_next(t, &piece)) {
		uint64_t wait_for = piece.offset + piece.length + behind;
		int err;

		if (wait_for > t->end)
			wait_for = t->end;
		while (atomic_load(&t->w->progress) < wait_for)
			nanosleep(&pause, NULL);
		err = wl_read_piece(t, &piece, wl_by_dontcache);
		if (err)
			return err;
	}
	return 0;
}

int wl_tail(struct wl_thread *t)
{
	int err;

	if (t->w->p.threads < 2 || t->w->p.split != WL_SAME || t->begin)
		return -EINVAL;
	if (t->index)
		return follow(t);
	err = grow(t);
	/* A writer that fails must not leave its readers waiting: they find the end. */
	atomic_store(&t->w->progress, UINT64_MAX);
	return err;
}

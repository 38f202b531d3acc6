/* SPDX-License-Identifier: MIT */
/* The patterns of descriptors: how each piece is read. */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80
#endif

/* What one call for advice asks for; the kernel cuts off what its device cannot do. */
enum { ADVICE_STEP = 128 << 10 };

int wl_read_piece(struct wl_thread *t, const struct wl_piece *piece, wl_read_fn read_some)
{
	uint64_t done = 0;

	while (done < piece->length) {
		ssize_t got = read_some(t, t->dst + done, piece->length - done,
					(off_t)(piece->offset + done));

		if (got < 0)
			return -errno;
		if (got == 0)
			return -EIO;
		done += (uint64_t)got;
	}
	wl_account(t, t->dst, piece);
	return 0;
}

static int read_pieces(struct wl_thread *t, wl_read_fn read_some)
{
	struct wl_piece piece;
	int err = 0;

	while (!err && wl_next(t, &piece))
		err = wl_read_piece(t, &piece, read_some);
	return err;
}

static ssize_t by_pread(struct wl_thread *t, void *to, size_t length, off_t offset)
{
	return pread(t->fd, to, length, offset);
}

/* The descriptor is where the last read has left it; other threads must not share it. */
static ssize_t by_read(struct wl_thread *t, void *to, size_t length, off_t offset)
{
	ssize_t got;

	if (t->position != (uint64_t)offset && lseek(t->fd, offset, SEEK_SET) < 0)
		return -1;
	got = read(t->fd, to, length);
	t->position = (uint64_t)offset + (got > 0 ? (uint64_t)got : 0);
	return got;
}

static ssize_t by_seekread(struct wl_thread *t, void *to, size_t length, off_t offset)
{
	if (lseek(t->fd, offset, SEEK_SET) < 0)
		return -1;
	return read(t->fd, to, length);
}

/* The same of a stream of libc, which stays open: its descriptor is closed by others. */
static ssize_t by_fread(struct wl_thread *t, void *to, size_t length, off_t offset)
{
	size_t got;

	if (!t->stream)
		t->stream = fdopen(t->fd, "r");
	if (!t->stream || (t->position != (uint64_t)offset && fseeko(t->stream, offset, SEEK_SET)))
		return -1;
	got = fread(to, 1, length, t->stream);
	t->position = (uint64_t)offset + got;
	return got || !ferror(t->stream) ? (ssize_t)got : -1;
}

ssize_t wl_by_dontcache(struct wl_thread *t, void *to, size_t length, off_t offset)
{
	struct iovec iov = { .iov_base = to, .iov_len = length };

	return preadv2(t->fd, &iov, 1, offset, RWF_DONTCACHE);
}

static ssize_t by_readahead(struct wl_thread *t, void *to, size_t length, off_t offset)
{
	if (readahead(t->fd, offset, length) < 0)
		return -1;
	return pread(t->fd, to, length, offset);
}

/* One step of advice ahead of the reader, as a program that knows its trade does it. */
static ssize_t by_willneed(struct wl_thread *t, void *to, size_t length, off_t offset)
{
	uint64_t want = (uint64_t)offset + length + t->w->p.ahead;

	if (t->asked < (uint64_t)offset)
		t->asked = (uint64_t)offset;
	for (; t->asked < want && t->asked < t->end; t->asked += ADVICE_STEP)
		posix_fadvise(t->fd, (off_t)t->asked, ADVICE_STEP, POSIX_FADV_WILLNEED);
	return pread(t->fd, to, length, offset);
}

int wl_pread(struct wl_thread *t)
{
	return read_pieces(t, by_pread);
}

int wl_read(struct wl_thread *t)
{
	return read_pieces(t, by_read);
}

int wl_fread(struct wl_thread *t)
{
	return read_pieces(t, by_fread);
}

int wl_willneed(struct wl_thread *t)
{
	return read_pieces(t, by_willneed);
}

/* What the scout reads is not accounted: it is the reader's data. */
static int scout_ahead(struct wl_thread *t)
{
	const struct timespec pause = { .tv_nsec = 50000 };
	struct wl_piece piece;

	while (wl_next(t, &piece)) {
		while (piece.offset > atomic_load(&t->w->progress) + t->w->p.ahead)
			nanosleep(&pause, NULL);
		if (pread(t->fd, t->dst, piece.length, (off_t)piece.offset) < 0)
			return -errno;
	}
	return 0;
}

static ssize_t by_scouted(struct wl_thread *t, void *to, size_t length, off_t offset)
{
	atomic_store(&t->w->progress, (uint64_t)offset);
	return pread(t->fd, to, length, offset);
}

int wl_scout(struct wl_thread *t)
{
	int err;

	if (t->w->p.threads != 2 || t->w->p.split != WL_SAME || t->w->p.order)
		return -EINVAL;
	if (t->index == 1)
		return scout_ahead(t);
	err = read_pieces(t, by_scouted);
	/* A reader that fails must not leave its scout waiting. */
	atomic_store(&t->w->progress, UINT64_MAX - t->w->p.ahead);
	return err;
}

int wl_seekread(struct wl_thread *t)
{
	return read_pieces(t, by_seekread);
}

int wl_dontcache(struct wl_thread *t)
{
	return read_pieces(t, wl_by_dontcache);
}

int wl_readahead(struct wl_thread *t)
{
	return read_pieces(t, by_readahead);
}

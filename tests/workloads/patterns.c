/* SPDX-License-Identifier: MIT */
/* The patterns: what is done with each piece. */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80
#endif

/* Through volatile pointers: a compiler may not replace the call by its own code, so the
 * exported symbol is called, which is the one that a preload library can see. */
void *(*volatile wl_memcpy)(void *, const void *, size_t) = memcpy;
void *(*volatile wl_memmove)(void *, const void *, size_t) = memmove;

int wl_copy(struct wl_thread *t)
{
	struct wl_piece piece;

	while (wl_next(t, &piece)) {
		wl_memcpy(t->dst, t->w->map + piece.offset, piece.length);
		wl_account(t, t->dst, &piece);
	}
	return 0;
}

int wl_load(struct wl_thread *t)
{
	bool backward = t->w->p.order == WL_BACKWARD;
	uint64_t step = t->w->p.step;
	struct wl_piece piece;

	while (wl_next(t, &piece)) {
		const unsigned char *base = t->w->map + piece.offset;
		uint64_t count = (piece.length + step - 1) / step;
		uint64_t sum = 0;

		for (uint64_t i = 0; i < count; i++) {
			uint64_t at = (backward ? count - 1 - i : i) * step;

			sum += *(const volatile unsigned char *)(base + at) *
			       ((piece.offset + at) / 8 * 2 + 1);
		}
		t->sum += sum;
		t->bytes += piece.length;
		t->calls += count;
	}
	return 0;
}

int wl_move(struct wl_thread *t)
{
	struct wl_piece moved = { .offset = t->begin, .length = t->end - t->begin };
	uint64_t shift = t->w->p.shift;

	if (moved.length <= shift)
		return -EINVAL;
	moved.length -= shift;
	wl_memmove(t->w->map + t->begin + shift, t->w->map + t->begin, moved.length);
	wl_account(t, t->w->map + t->begin + shift, &moved);
	return 0;
}

/* How one piece is read; the rest of a short read is asked for again. */
typedef ssize_t (*read_fn)(struct wl_thread *t, void *to, size_t length, off_t offset);

static int read_pieces(struct wl_thread *t, read_fn read_some)
{
	struct wl_piece piece;

	while (wl_next(t, &piece)) {
		uint64_t done = 0;

		while (done < piece.length) {
			ssize_t got = read_some(t, t->dst + done, piece.length - done,
						(off_t)(piece.offset + done));

			if (got < 0)
				return -errno;
			if (got == 0)
				return -EIO;
			done += (uint64_t)got;
		}
		wl_account(t, t->dst, &piece);
	}
	return 0;
}

static ssize_t by_pread(struct wl_thread *t, void *to, size_t length, off_t offset)
{
	return pread(t->fd, to, length, offset);
}

static ssize_t by_seekread(struct wl_thread *t, void *to, size_t length, off_t offset)
{
	if (lseek(t->fd, offset, SEEK_SET) < 0)
		return -1;
	return read(t->fd, to, length);
}

static ssize_t by_dontcache(struct wl_thread *t, void *to, size_t length, off_t offset)
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

int wl_pread(struct wl_thread *t)
{
	return read_pieces(t, by_pread);
}

int wl_seekread(struct wl_thread *t)
{
	return read_pieces(t, by_seekread);
}

int wl_dontcache(struct wl_thread *t)
{
	return read_pieces(t, by_dontcache);
}

int wl_readahead(struct wl_thread *t)
{
	return read_pieces(t, by_readahead);
}

static double small_batch(struct wl_thread *t, size_t size, uint64_t calls)
{
	const unsigned char *src = t->w->map + t->begin;
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (uint64_t i = 0; i < calls; i++)
		wl_memcpy(t->dst, src + (i & 63) * 64, size);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) /
	       (double)calls;
}

int wl_small(struct wl_thread *t)
{
	enum { BATCHES = 20 };
	struct wl_piece piece = { .offset = t->begin, .length = 2 * WL_PAGE };
	uint64_t calls = t->w->p.calls / BATCHES;

	if (t->end - t->begin < piece.length || t->w->p.piece < piece.length || !calls)
		return -EINVAL;
	for (unsigned s = 0; s < WL_SMALL_SIZES; s++) {
		double best = 0;

		/* The least of many short batches is the time without interruptions. */
		for (unsigned i = 0; i < BATCHES; i++) {
			double ns = small_batch(t, (size_t)8 << s, calls);

			if (i == 0 || ns < best)
				best = ns;
		}
		t->w->small_ns[s] = best;
		t->calls += calls * BATCHES;
	}
	wl_memcpy(t->dst, t->w->map + t->begin, piece.length);
	wl_account(t, t->dst, &piece);
	return 0;
}

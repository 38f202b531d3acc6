/* SPDX-License-Identifier: MIT */
/* What a call costs that has nothing to wait for. */
#include "workload.h"

#include <errno.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	BATCH_READS = 4096,	/* as many bytes fit into every pipe and socket */
	WARM_PAGES = 64,	/* 256 KiB, that stay in the processor's cache */
};

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* The least of many short batches is the time without interruptions. */
static void keep_least(struct wl_thread *t, unsigned slot, double ns)
{
	if (slot == t->w->ns_count)
		t->w->ns[t->w->ns_count++] = ns;
	else if (ns < t->w->ns[slot])
		t->w->ns[slot] = ns;
}

static double small_batch(struct wl_thread *t, size_t size, uint64_t calls)
{
	const unsigned char *src = t->w->map + t->begin;
	double begin = now_ns();

	for (uint64_t i = 0; i < calls; i++)
		wl_memcpy(t->dst, src + (i & 63) * 64, size);
	return (now_ns() - begin) / (double)calls;
}

int wl_small(struct wl_thread *t)
{
	enum { BATCHES = 20 };
	struct wl_piece piece = { .offset = t->begin, .length = 2 * WL_PAGE };
	uint64_t calls = t->w->p.calls / BATCHES;

	if (t->end - t->begin < piece.length || t->w->p.piece < piece.length || !calls)
		return -EINVAL;
	for (unsigned s = 0; s < WL_NS_MAX; s++) {
		for (unsigned i = 0; i < BATCHES; i++)
			keep_least(t, s, small_batch(t, (size_t)8 << s, calls));
		t->calls += calls * BATCHES;
	}
	wl_memcpy(t->dst, t->w->map + t->begin, piece.length);
	wl_account(t, t->dst, &piece);
	return 0;
}

int wl_warm(struct wl_thread *t)
{
	uint64_t pages = (t->end - t->begin) / WL_PAGE;
	struct wl_piece piece = { .offset = t->begin, .length = WL_PAGE };

	if (!pages || t->w->p.piece < WL_PAGE)
		return -EINVAL;
	if (pages > WARM_PAGES)
		pages = WARM_PAGES;
	for (uint64_t done = 0; done < t->w->p.calls; done += BATCH_READS) {
		double begin = now_ns();

		for (uint64_t i = 0; i < BATCH_READS; i++) {
			off_t at = (off_t)(t->begin + i % pages * WL_PAGE);

			if (pread(t->fd, t->dst, WL_PAGE, at) != WL_PAGE)
				return -EIO;
		}
		keep_least(t, 0, (now_ns() - begin) / BATCH_READS);
		t->calls += BATCH_READS;
	}
	if (pread(t->fd, t->dst, WL_PAGE, (off_t)t->begin) != WL_PAGE)
		return -EIO;
	wl_account(t, t->dst, &piece);
	return 0;
}

/* Read byte by byte what was written at once; the write is not timed. */
static int read_bytes_of(struct wl_thread *t, int from, int to)
{
	static const char bytes[BATCH_READS];
	char byte;

	for (uint64_t done = 0; done < t->w->p.calls; done += BATCH_READS) {
		double begin;

		if (write(to, bytes, BATCH_READS) != BATCH_READS)
			return -EIO;
		begin = now_ns();
		for (unsigned i = 0; i < BATCH_READS; i++) {
			if (read(from, &byte, 1) != 1)
				return -EIO;
		}
		keep_least(t, 0, (now_ns() - begin) / BATCH_READS);
		t->calls += BATCH_READS;
	}
	return 0;
}

int wl_pipe(struct wl_thread *t)
{
	int ends[2], err;

	if (pipe(ends) < 0)
		return -errno;
	err = read_bytes_of(t, ends[0], ends[1]);
	close(ends[0]);
	close(ends[1]);
	return err;
}

int wl_socket(struct wl_thread *t)
{
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return -errno;
	err = read_bytes_of(t, ends[0], ends[1]);
	close(ends[0]);
	close(ends[1]);
	return err;
}

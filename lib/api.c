/* SPDX-License-Identifier: MIT */
/* The public functions of include/willneed.h; each documented there. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <willneed.h>

#include "base/sys.h"
#include "base/text.h"
#include "copy.h"
#include "helper.h"
#include "repeat.h"
#include "request.h"
#include "runtime.h"

#define EXPORT __attribute__((visibility("default")))

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

/* Between two looks at pages that have not arrived. */
#define WAIT_NS 200000u

static int check_range(off_t offset, off_t length)
{
	off_t sum;

	return offset < 0 || length < 0 || __builtin_add_overflow(offset, length, &sum) ?
		       -EINVAL :
		       0;
}

/* Is fd open for reading on a regular file?  Fills in st. */
static int check_file(int fd, struct stat *st)
{
	int flags = wn_sys->fcntl_getfl(fd);
	int r;

	if (flags < 0)
		return flags;
	if ((flags & O_ACCMODE) == O_WRONLY || (flags & O_PATH))
		return -EBADF;
	r = wn_sys->fstat(fd, st);
	if (r < 0)
		return r;
	return S_ISREG(st->st_mode) ? 0 : -ESPIPE;
}

static uint64_t chunk_of(const struct wn_file *f)
{
	uint64_t chunk = wn_load(&f->chunk);

	return chunk ? chunk : WN_SOME_WINDOW;
}

/*
 * Queue full, or no helper to be had: the caller asks for it, but for what was asked for a
 * moment ago.
 */
static int ask_here(struct wn_state *st, uint16_t slot, int fd, uint64_t from, uint64_t to)
{
	const struct wn_file *f = &wn_rt.track->files.slot[slot];
	struct wn_cover_file id = { .file = slot, .serial = wn_load(&f->serial) };
	uint64_t length;

	wn_cover_tick(&st->cover, wn_sys->now_ns());
	for (; from < to; from += length) {
		length = wn_cover_asked(&st->cover, id, from, to);
		if (length) {
			wn_count(&st->stats, duplicate_bytes, length);
			continue;
		}
		length = wn_min(chunk_of(f), to - from);
		wn_cover_mark(&st->cover, id, from, from + length);
		wn_count(&st->stats, kernel_calls, 1);
		if (wn_sys->fadvise(fd, (off_t)from, (off_t)length, POSIX_FADV_WILLNEED) < 0)
			return -EOPNOTSUPP;
		wn_count(&st->stats, inline_bytes, length);
		wn_count(&st->stats, asked_bytes, length);
	}
	return 0;
}

/* The watched mapping that holds all of this, with a reference to its file. */
static bool hold_mapping(struct wn_state *st, uint64_t from, uint64_t to, struct wn_map *m)
{
	bool found;

	if (!wn_track_lock(wn_rt.track, &st->lock))
		return false;
	found = wn_map_find(wn_rt.track, from, m) && to <= m->end;
	if (found)
		wn_file_ref(&wn_rt.track->files, m->file);
	wn_track_unlock(&st->lock);
	return found;
}

static int prefetch_one(struct wn_state *st, const struct stat *file, int fd, off_t offset,
			off_t length)
{
	uint64_t from = (uint64_t)offset;
	uint64_t to = wn_min(from + (uint64_t)length, (uint64_t)file->st_size);
	uint16_t slot;
	int r;

	if (from >= to || !wn_may_ask())
		return 0;
	slot = wn_request_hold(st, file, fd);
	if (slot == WN_NO_FILE)
		return -ENOSPC;
	if (wn_load(&wn_rt.track->files.slot[slot].useless)) {
		wn_request_let_go(st, slot);
		return -EOPNOTSUPP;
	}
	if (wn_request(st, slot, from, to))
		return 0;
	r = ask_here(st, slot, fd, from, to);
	wn_request_let_go(st, slot);
	return r;
}

EXPORT int willneed_prefetchv(int fd, const struct willneed_range *ranges, size_t count)
{
	struct wn_state *st;
	struct stat file;
	int r = check_file(fd, &file);

	for (size_t i = 0; !r && i < count; i++)
		r = check_range(ranges[i].offset, ranges[i].length);
	if (!r)
		r = wn_wake_up(&st);
	for (size_t i = 0; !r && i < count; i++)
		r = prefetch_one(st, &file, fd, ranges[i].offset, ranges[i].length);
	return r;
}

EXPORT int willneed_prefetch(int fd, off_t offset, off_t length)
{
	struct willneed_range range = { .offset = offset, .length = length };

	return willneed_prefetchv(fd, &range, 1);
}

EXPORT int willneed_prefetch_addr(const void *addr, size_t length)
{
	uint64_t page = wn_page_size();
	uint64_t from = wn_round_down((uint64_t)addr, page), to;
	struct wn_state *st;
	struct wn_map m;
	int r = wn_wake_up(&st);

	if (__builtin_add_overflow((uint64_t)addr, length, &to) || to > UINT64_MAX - page)
		return -EINVAL;
	if (r < 0)
		return r;
	if (!length || !wn_may_ask())
		return 0;
	/* A watched mapping has a file that the helper can work on. */
	if (wn_helper_expected(st) && hold_mapping(st, from, to, &m)) {
		if (wn_request(st, m.file, m.offset + (from - m.start), m.offset + (to - m.start)))
			return 0;
		wn_request_let_go(st, m.file);
	}
	for (uint64_t n; from < to; from += n) {
		n = wn_min(WN_SOME_WINDOW, wn_round_up(to - from, page));
		wn_count(&st->stats, kernel_calls, 1);
		r = wn_sys->madvise(from, n, MADV_WILLNEED);
		/* Memory without a file behind it has nothing to be read. */
		if (r < 0)
			return r == -EBADF ? 0 : r;
		wn_count(&st->stats, inline_bytes, n);
		wn_count(&st->stats, asked_bytes, n);
	}
	return 0;
}

/*
 * 1: the byte at offset is in the cache; 0: not yet; or a negative errno.  Waiting for ever
 * is a plain read, which also tells when the device cannot deliver.
 */
static int arrived(int fd, uint64_t offset, bool forever)
{
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	ssize_t r = wn_sys->preadv2(fd, &iov, (off_t)offset, forever ? 0 : RWF_NOWAIT);

	if (r == -EAGAIN)
		return 0;
	/* 0 bytes: the file has become shorter, and there is nothing to wait for. */
	return r < 0 ? (int)r : 1;
}

EXPORT int willneed_wait(int fd, off_t offset, off_t length, int timeout_ms)
{
	uint64_t start = wn_sys->now_ns(), page = wn_page_size(), at, to;
	uint32_t never = 0;
	struct stat file;
	int r = check_file(fd, &file);

	if (!r)
		r = check_range(offset, length);
	if (r < 0)
		return r;
	to = wn_min((uint64_t)offset + (uint64_t)length, (uint64_t)file.st_size);
	for (at = (uint64_t)offset; at < to;) {
		r = arrived(fd, at, timeout_ms < 0);
		if (r < 0)
			return r;
		if (r) {
			at = wn_round_down(at, page) + page;
			continue;
		}
		if (wn_sys->now_ns() - start >= (uint64_t)timeout_ms * 1000000u)
			return -ETIMEDOUT;
		wn_sys->futex_wait(&never, 0, WAIT_NS);
	}
	return 0;
}

/*
 * Without the preload library, libc's own memmove() is looked up here, where it is first
 * needed.  Not in a constructor, which every program would pay for, and not through a
 * plain reference, which the loader might resolve before libc is ready.
 */
static void find_copy(void)
{
	void *libc, *found;

	if (wn_load(&wn_rt.copy) != wn_move)
		return;
	libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	found = libc ? dlsym(libc, "memmove") : NULL;
	if (found)
		wn_store(&wn_rt.copy, (wn_copy_fn)found);
}

EXPORT int willneed_map(const void *addr, size_t length, int fd, off_t offset)
{
	uint64_t page = wn_page_size(), end;
	int r;

	if (!length || offset < 0 || (uint64_t)addr % page || (uint64_t)offset % page ||
	    __builtin_add_overflow((uint64_t)addr, length, &end))
		return -EINVAL;
	find_copy();
	r = wn_watch(addr, length, fd, offset);
	return r == -EAGAIN ? -ENOSPC : r;
}

EXPORT int willneed_unmap(const void *addr, size_t length)
{
	uint64_t end;

	if (!length || __builtin_add_overflow((uint64_t)addr, length, &end))
		return -EINVAL;
	wn_unwatch(addr, length);
	return 0;
}

EXPORT void *willneed_memcpy(void *dst, const void *src, size_t n)
{
	return wn_copy(dst, src, n, wn_load(&wn_rt.copy));
}

EXPORT int willneed_set(const char *name, const char *value)
{
	int r = wn_options_set(&wn_rt.options, name, value);

	wn_set_gate();
	return r;
}

EXPORT int willneed_stats(struct willneed_stats *out, size_t size)
{
	struct wn_state *st = wn_load_acquire(&wn_rt.state);
	const unsigned long *from = st ? (const unsigned long *)&st->stats : NULL;
	unsigned long *to = (unsigned long *)out;

	if (!out || !size)
		return -EINVAL;
	wn_repeat_settle();
	for (size_t i = 0; i < size / sizeof(*to); i++)
		to[i] = from && i < sizeof(*out) / sizeof(*to) ? wn_load(&from[i]) : 0;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * The read family.  A look comes before the call where its size is an argument, so that the
 * way of most reads is two comparisons and a jump; where only the program's memory tells
 * the size, which may not be there, it comes after the call has returned it.
 */
#include "front/read.h"

#include "base/arch.h"
#include "base/sys.h"
#include "drop.h"
#include "reads.h"
#include "runtime.h"
#include "written.h"

static __thread struct wn_reader reader __attribute__((tls_model("initial-exec")));
static __thread struct wn_drop_run run __attribute__((tls_model("initial-exec")));

/* What some libraries call these. */
WN_EXPORT ssize_t __read(int fd, void *buf, size_t n);
WN_EXPORT ssize_t __pread64(int fd, void *buf, size_t n, off64_t offset);
WN_EXPORT ssize_t __read_chk(int fd, void *buf, size_t n, size_t room);
WN_EXPORT ssize_t __pread_chk(int fd, void *buf, size_t n, off_t offset, size_t room);
WN_EXPORT ssize_t __pread64_chk(int fd, void *buf, size_t n, off64_t offset, size_t room);

/* libc's way to report an overflow; it does not return. */
extern void __chk_fail(void) __attribute__((noreturn));

static __attribute__((noinline)) void look(int fd, int64_t at, size_t n, bool ahead)
{
	if (wn_front.copy_min)
		wn_reads_look(&reader, fd, at, n, ahead);
}

static inline bool drops_behind(void)
{
	return wn_unlikely(!wn_load(&wn_front.plain_reads)) && wn_front.copy_min;
}

static __attribute__((noinline)) void count(int fd, off_t offset, size_t got)
{
	if (wn_front.copy_min)
		wn_drop_stream(&run, fd, offset, got);
}

static inline ssize_t then_drop(int fd, off_t offset, ssize_t got)
{
	if (got > 0 && !wn_drop_later(&run, fd, offset, (size_t)got))
		count(fd, offset, (size_t)got);
	return got;
}

void wn_front_has_read(int fd, int64_t at, ssize_t got)
{
	if (got <= 0)
		return;
	if (!wn_reads_granted(&reader, fd, (size_t)got))
		look(fd, at, (size_t)got, false);
	if (drops_behind())
		then_drop(fd, at == WN_BEHIND_POSITION ? -1 : at, got);
}

off_t wn_front_fills(int fd, size_t n)
{
	if (!wn_reads_granted(&reader, fd, n))
		look(fd, WN_AT_POSITION, n, true);
	return drops_behind() ? (off_t)wn_sys->position(fd) : -1;
}

void wn_front_filled(int fd, off_t from)
{
	if (from >= 0)
		then_drop(fd, from, wn_sys->position(fd) - from);
}

bool wn_front_lets_go(int fd)
{
	if (!wn_front.copy_min)
		return false;
	if (drops_behind())
		wn_drop_closing(&run, fd);
	wn_written_closing(fd);
	return wn_reads_closing(&reader, fd);
}

void wn_front_closing(int fd)
{
	if (wn_front_lets_go(fd))
		wn_reads_closed();
}

/* Apart, so that the way of most reads saves no registers. */
static __attribute__((noinline)) ssize_t read_slowly(int fd, void *buf, size_t n)
{
	if (!wn_front.read)
		return wn_front_result(wn_raw(SYS_read, fd, buf, n));
	if (!wn_reads_granted(&reader, fd, n))
		look(fd, WN_AT_POSITION, n, true);
	if (drops_behind())
		return then_drop(fd, -1, wn_front.read(fd, buf, n));
	return wn_front.read(fd, buf, n);
}

static inline __attribute__((always_inline)) ssize_t read_any(int fd, void *buf, size_t n)
{
	if (wn_likely(wn_load(&wn_front.plain_reads) && wn_reads_granted(&reader, fd, n)))
		return wn_front.read(fd, buf, n);
	return read_slowly(fd, buf, n);
}

static __attribute__((noinline)) ssize_t pread_slowly(int fd, void *buf, size_t n,
						      off_t offset)
{
	if (!wn_front.pread)
		return wn_front_result(wn_raw(SYS_pread64, fd, buf, n, offset));
	if (!wn_reads_granted(&reader, fd, n))
		look(fd, offset, n, true);
	if (drops_behind())
		return then_drop(fd, offset, wn_front.pread(fd, buf, n, offset));
	return wn_front.pread(fd, buf, n, offset);
}

static inline __attribute__((always_inline)) ssize_t pread_any(int fd, void *buf, size_t n,
							       off_t offset)
{
	if (wn_likely(wn_load(&wn_front.plain_reads) && wn_reads_granted(&reader, fd, n)))
		return wn_front.pread(fd, buf, n, offset);
	return pread_slowly(fd, buf, n, offset);
}

WN_EXPORT ssize_t read(int fd, void *buf, size_t n)
{
	return read_any(fd, buf, n);
}

ssize_t __read(int fd, void *buf, size_t n)
{
	return read_any(fd, buf, n);
}

ssize_t __read_chk(int fd, void *buf, size_t n, size_t room)
{
	if (wn_unlikely(room < n))
		__chk_fail();
	return read_any(fd, buf, n);
}

WN_EXPORT ssize_t pread(int fd, void *buf, size_t n, off_t offset)
{
	return pread_any(fd, buf, n, offset);
}

WN_EXPORT ssize_t pread64(int fd, void *buf, size_t n, off64_t offset)
{
	return pread_any(fd, buf, n, offset);
}

ssize_t __pread64(int fd, void *buf, size_t n, off64_t offset)
{
	return pread_any(fd, buf, n, offset);
}

ssize_t __pread_chk(int fd, void *buf, size_t n, off_t offset, size_t room)
{
	if (wn_unlikely(room < n))
		__chk_fail();
	return pread_any(fd, buf, n, offset);
}

ssize_t __pread64_chk(int fd, void *buf, size_t n, off64_t offset, size_t room)
{
	if (wn_unlikely(room < n))
		__chk_fail();
	return pread_any(fd, buf, n, offset);
}

WN_EXPORT ssize_t readv(int fd, const struct iovec *iov, int count)
{
	ssize_t got = wn_front.readv ? wn_front.readv(fd, iov, count) :
				       wn_front_result(wn_raw(SYS_readv, fd, iov, count));

	wn_front_has_read(fd, WN_BEHIND_POSITION, got);
	return got;
}

WN_EXPORT ssize_t preadv(int fd, const struct iovec *iov, int count, off_t offset)
{
	/* The kernel takes the offset as two halves; on 64 bits the first holds all. */
	ssize_t got = wn_front.preadv ? wn_front.preadv(fd, iov, count, offset) :
					wn_front_result(wn_raw(SYS_preadv, fd, iov, count,
							       offset, 0));

	wn_front_has_read(fd, offset, got);
	return got;
}

WN_EXPORT ssize_t preadv64(int fd, const struct iovec *iov, int count, off64_t offset)
{
	return preadv(fd, iov, count, offset);
}

/* SPDX-License-Identifier: MIT */
/*
 * preadv2() and pwritev2() with RWF_DONTCACHE, alone among the flags: every other
 * combination is passed on as it is.  An uncached read is made as a plain one where that
 * is better.  Where the kernel or the file system refuses the flag, and so has done
 * nothing, the call is made without it: the flag says how, not what.
 */
#include "front/read.h"

#include <errno.h>
#include <sys/uio.h>

#include "base/arch.h"
#include "drop.h"
#include "reads.h"
#include "written.h"

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80
#endif

static ssize_t next_preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	/* The kernel takes the offset as two halves; on 64 bits the first holds all. */
	return wn_front.preadv2 ?
		       wn_front.preadv2(fd, iov, count, offset, flags) :
		       wn_front_result(wn_raw(SYS_preadv2, fd, iov, count, offset, 0, flags));
}

static ssize_t next_pwritev2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	return wn_front.pwritev2 ?
		       wn_front.pwritev2(fd, iov, count, offset, flags) :
		       wn_front_result(wn_raw(SYS_pwritev2, fd, iov, count, offset, 0, flags));
}

static ssize_t uncached_read(int fd, const struct iovec *iov, int count, off_t offset)
{
	struct wn_drop_read d;
	bool plain = wn_drop_begin(&d, fd, offset);
	int saved = errno;
	ssize_t got = next_preadv2(fd, iov, count, offset, plain ? 0 : RWF_DONTCACHE);

	if (got < 0 && errno == EOPNOTSUPP && !plain && wn_drop_wanted()) {
		errno = saved;
		wn_drop_refused(&d);
		got = next_preadv2(fd, iov, count, offset, 0);
	}
	if (d.file && got > 0)
		wn_drop_end(&d, fd, offset, (size_t)got);
	return got;
}

static inline ssize_t read_any(int fd, const struct iovec *iov, int count, off_t offset,
			       int flags)
{
	ssize_t got;

	if (wn_unlikely(flags == RWF_DONTCACHE) && wn_front.copy_min)
		return uncached_read(fd, iov, count, offset);
	got = next_preadv2(fd, iov, count, offset, flags);
	wn_front_has_read(fd, offset == -1 ? WN_BEHIND_POSITION : offset, got);
	return got;
}

static inline ssize_t write_any(int fd, const struct iovec *iov, int count, off_t offset,
				int flags)
{
	struct wn_write w;
	int saved = errno;
	ssize_t put = next_pwritev2(fd, iov, count, offset, flags);

	if (wn_likely(put >= 0 || flags != RWF_DONTCACHE || errno != EOPNOTSUPP) ||
	    !wn_front.copy_min || !wn_drop_wanted())
		return put;
	wn_written_begin(&w, fd, offset);
	errno = saved;
	put = next_pwritev2(fd, iov, count, offset, 0);
	if (put > 0)
		wn_written_end(&w, fd, (size_t)put);
	return put;
}

WN_EXPORT ssize_t preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	return read_any(fd, iov, count, offset, flags);
}

WN_EXPORT ssize_t preadv64v2(int fd, const struct iovec *iov, int count, off64_t offset,
			     int flags)
{
	return read_any(fd, iov, count, offset, flags);
}

WN_EXPORT ssize_t pwritev2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	return write_any(fd, iov, count, offset, flags);
}

WN_EXPORT ssize_t pwritev64v2(int fd, const struct iovec *iov, int count, off64_t offset,
			      int flags)
{
	return write_any(fd, iov, count, offset, flags);
}

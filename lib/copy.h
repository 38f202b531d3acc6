/* SPDX-License-Identifier: MIT */
/*
 * copy.h - large copies out of watched mappings, and the watching.
 * For front/ and the API: runs on the program's threads, inside its calls.  No lock is
 * waited for, nothing is allocated but the arena, errno is untouched, and the copy itself
 * is always the one that the caller brought.
 */
#ifndef WN_COPY_H
#define WN_COPY_H

#include <stddef.h>
#include <sys/types.h>

#include "base/mem.h"

typedef void *(*wn_copy_fn)(void *dst, const void *src, size_t n);

/*
 * Copies n bytes with copy(), which must be safe for overlapping ranges, in one go or in
 * ascending pieces; reads ahead when the source is a watched mapping that is not cached.
 */
void *wn_copy(void *dst, const void *src, size_t n, wn_copy_fn copy);

/*
 * A file was mapped at addr: watch it.  0, or -EINVAL, -EBADF, -ESPIPE (no regular file),
 * -EOPNOTSUPP (smaller than min_map), -ENOSPC, -EAGAIN (the table was busy), -ECANCELED.
 */
int wn_watch(const void *addr, size_t length, int fd, off_t offset);

/* Something else is, or will be, at these addresses. */
void wn_unwatch(const void *addr, size_t length);

/* The mapping at `from` has moved to `to`, or grown or shrunk there. */
void wn_moved(const void *from, size_t old_length, const void *to, size_t length, int keep);

/* The program has advised a range; MADV_RANDOM asks for no guessing there. */
void wn_advised(const void *addr, size_t length, int advice);

#endif

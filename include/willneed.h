/* SPDX-License-Identifier: MIT */
/*
 * willneed: readahead that works, on the kernel you have.
 *
 * The engine behind the preload library, called on purpose.  Offsets and lengths are in
 * bytes.  Functions that return int return 0 or a negative errno value and leave errno
 * itself alone; none of them changes the data, the position or the advice of a
 * descriptor or mapping that it is given.
 *
 * Thread safety: every function may be called from any thread at any time; calls for the
 * same range may overlap.  Signal safety: all of them are async-signal-safe, except
 * willneed_set(), willneed_wait() and willneed_map().  After fork() a child has an engine
 * of its own, which starts empty.  off_t must be 64 bits wide (compile with
 * -D_FILE_OFFSET_BITS=64 where that is not the default).
 */
#ifndef WILLNEED_H
#define WILLNEED_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A range of a file: length 0 names no bytes (it does not mean "to the end"). */
struct willneed_range {
	off_t offset;
	off_t length;
};

/*
 * Counters since the process (or the forked child) began; all monotonic.  New members
 * are only ever added at the end, so an old caller may pass its own, smaller size.
 */
struct willneed_stats {
#define WILLNEED_COUNTER(name, help) unsigned long name; /* help */
#include "willneed-counters.h"
#undef WILLNEED_COUNTER
};

/*
 * Ask for a range of a file to be brought into the page cache, without waiting.
 * The range is cut at the end of the file; bytes already asked for are not asked for
 * again.  fd must be open for reading on a regular file and stay open until the bytes
 * have been asked for (willneed_wait() tells, or simply keep it open while reading).
 * When the helper's queue is full the calling thread submits the request itself.
 * Errors: -EBADF (not open for reading), -ESPIPE (not a regular file), -EINVAL (negative
 * offset or length, or a sum beyond the largest off_t), -EOPNOTSUPP (a file system where
 * prefetching is of no use), -ENOSPC (more files are in use than are tracked), -ENOMEM
 * (no memory for the engine's tables), -ECANCELED (the engine is off in this process).
 */
int willneed_prefetch(int fd, off_t offset, off_t length);

/*
 * The same for count ranges that will be read in the order given ("my next ranges").
 * All ranges are checked before the first is accepted.  ranges must not be NULL unless
 * count is 0.  Errors: as above.
 */
int willneed_prefetchv(int fd, const struct willneed_range *ranges, size_t count);

/*
 * Ask for the pages behind [addr, addr + length) of a file mapping.  The memory is never
 * touched.  Errors: -ENOMEM (nothing is mapped there, or no memory for the engine's
 * tables), -EINVAL, -ECANCELED.
 */
int willneed_prefetch_addr(const void *addr, size_t length);

/*
 * Wait until a range of a file is in the page cache; the range is cut at the end of the
 * file.  timeout_ms: milliseconds, 0 to ask without waiting, negative to wait for ever.
 * Nothing is requested by waiting as such, but a page that nobody has asked for is read
 * when the kernel is asked about it.  Errors: -ETIMEDOUT, -EBADF, -ESPIPE, -EINVAL,
 * -EIO (the device could not read the range), -EOPNOTSUPP.
 */
int willneed_wait(int fd, off_t offset, off_t length, int timeout_ms);

/*
 * Watch a mapping of a regular file, made with mmap(NULL, length, ..., fd, offset) and
 * returned at addr, so that willneed_memcpy() out of it is helped.  Under the preload
 * library every such mapping is watched already.  Errors: -EINVAL (unaligned, empty or
 * wrapping range), -EBADF, -ESPIPE, -EOPNOTSUPP (as above, or smaller than the setting
 * min_map), -ENOSPC (the table is full), -ENOMEM (no memory for it), -ECANCELED.
 */
int willneed_map(const void *addr, size_t length, int fd, off_t offset);

/* Stop watching [addr, addr + length); call it before munmap().  Errors: -EINVAL. */
int willneed_unmap(const void *addr, size_t length);

/*
 * Copy n bytes like memmove() (overlap is allowed), reading ahead of the copy when src
 * lies in a watched mapping that is not cached.  Returns dst.
 */
void *willneed_memcpy(void *dst, const void *src, size_t n);

/*
 * Change a setting while the program runs; names and values are those of the environment
 * variables, without the prefix and in lower case ("log", "mode", ...; see
 * libwillneed(7)).  Neither may be NULL.  Errors: -ENOENT (no such setting), -EINVAL (bad
 * value), -EBUSY (a setting that only the environment can choose).
 */
int willneed_set(const char *name, const char *value);

/*
 * Copy the counters; size is sizeof(struct willneed_stats) as the caller knows it.
 * Errors: -EINVAL (out is NULL or size is 0).
 */
int willneed_stats(struct willneed_stats *out, size_t size);

/* The version of the library that is running, for example "0.1.0". */
const char *willneed_version(void);

#ifdef __cplusplus
}
#endif

#endif

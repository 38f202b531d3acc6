/* SPDX-License-Identifier: MIT */
/*
 * fds.h - sets of descriptors, of the numbers that most programs use.
 * Calls nothing; any thread, at any time.
 */
#ifndef WN_FDS_H
#define WN_FDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

enum { WN_FDS = 1024 };

struct wn_fds {
	uint64_t word[WN_FDS / 64];
};

static inline bool wn_fds_has(const struct wn_fds *f, int fd)
{
	return fd >= 0 && fd < WN_FDS && wn_load(&f->word[fd / 64]) >> fd % 64 & 1;
}

static inline void wn_fds_put(struct wn_fds *f, int fd, bool in)
{
	uint64_t bit = (uint64_t)1 << ((unsigned)fd % 64);

	/* Threads that say the same at once must not undo it. */
	if (fd < 0 || fd >= WN_FDS || wn_fds_has(f, fd) == in)
		return;
	if (in)
		__atomic_fetch_or(&f->word[fd / 64], bit, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&f->word[fd / 64], ~bit, __ATOMIC_RELAXED);
}

#endif

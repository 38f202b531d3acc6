/* SPDX-License-Identifier: MIT */
/* For libwillneed.so only: what the compiler calls for plain assignments; see mem.c. */
#include "base/mem.h"

#define WN_HIDDEN __attribute__((visibility("hidden"), used))

WN_HIDDEN void *memcpy(void *restrict dst, const void *restrict src, size_t n);
WN_HIDDEN void *memmove(void *dst, const void *src, size_t n);

void *memmove(void *dst, const void *src, size_t n)
{
	return wn_move(dst, src, n);
}

void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
	return wn_move(dst, src, n);
}

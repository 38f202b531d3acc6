/* SPDX-License-Identifier: MIT */
/*
 * The copy family.  All of it is memmove: old programs are bound to a memcpy that allowed
 * overlap, and one unversioned name serves old and new.  The way of a small copy is a
 * comparison and a jump.
 */
#include "front/front.h"

#include <stdint.h>

#include "copy.h"

WN_EXPORT void *memcpy(void *restrict dst, const void *restrict src, size_t n);
WN_EXPORT void *mempcpy(void *restrict dst, const void *restrict src, size_t n);
WN_EXPORT void *__memcpy_chk(void *dst, const void *src, size_t n, size_t room);
WN_EXPORT void *__memmove_chk(void *dst, const void *src, size_t n, size_t room);
WN_EXPORT void *__mempcpy_chk(void *dst, const void *src, size_t n, size_t room);

/* libc's way to report an overflow; it does not return. */
extern void __chk_fail(void) __attribute__((noreturn));

/* Large, or before the constructor has run. */
static __attribute__((noinline)) void *copy_large(void *dst, const void *src, size_t n)
{
	if (!wn_load(&wn_front.copy_min))
		return wn_move(dst, src, n);
	return wn_copy(dst, src, n, wn_front.memmove);
}

/* The gate is read without ceremony: one instruction, and any value it had will do. */
static inline __attribute__((always_inline)) void *copy(void *dst, const void *src,
							size_t n)
{
	if (wn_likely(n < wn_front.copy_min))
		return wn_front.memmove(dst, src, n);
	return copy_large(dst, src, n);
}

WN_EXPORT void *memmove(void *dst, const void *src, size_t n)
{
	return copy(dst, src, n);
}

void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
	return copy(dst, src, n);
}

void *mempcpy(void *restrict dst, const void *restrict src, size_t n)
{
	return (char *)copy(dst, src, n) + n;
}

void *__memmove_chk(void *dst, const void *src, size_t n, size_t room)
{
	if (wn_unlikely(room < n))
		__chk_fail();
	return copy(dst, src, n);
}

void *__memcpy_chk(void *dst, const void *src, size_t n, size_t room)
{
	if (wn_unlikely(room < n))
		__chk_fail();
	return copy(dst, src, n);
}

void *__mempcpy_chk(void *dst, const void *src, size_t n, size_t room)
{
	if (wn_unlikely(room < n))
		__chk_fail();
	return (char *)copy(dst, src, n) + n;
}

/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

/* Eight bytes at a time from wherever: the compiler makes single accesses of these. */
struct word {
	uint64_t v;
} __attribute__((packed, may_alias));

static void move_up(unsigned char *d, const unsigned char *s, size_t n)
{
#if defined(__x86_64__)
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
#else
	for (; n >= 8; n -= 8, d += 8, s += 8)
		*(volatile struct word *)d = *(const volatile struct word *)s;
	for (; n; n--)
		*(volatile unsigned char *)d++ = *(const volatile unsigned char *)s++;
#endif
}

static void move_down(unsigned char *d, const unsigned char *s, size_t n)
{
	for (; n >= 8; n -= 8)
		*(volatile struct word *)(d + n - 8) = *(const volatile struct word *)(s + n - 8);
	while (n--)
		((volatile unsigned char *)d)[n] = ((const volatile unsigned char *)s)[n];
}

void *wn_move(void *dst, const void *src, size_t n)
{
	if ((uintptr_t)dst - (uintptr_t)src >= n)
		move_up(dst, src, n);
	else
		move_down(dst, src, n);
	return dst;
}

/*
 * Compilers emit calls of these for plain assignments and comparisons.  They are hidden, so
 * the library's own calls stay inside; memcpy() and memmove() are in builtin.c, since the
 * preload library has its own.  Sizes here are small and speed does not matter.  The
 * volatile accesses keep the compiler from turning a loop into a call of itself.
 */
#define WN_HIDDEN __attribute__((visibility("hidden"), used))

WN_HIDDEN void *memset(void *dst, int c, size_t n);
WN_HIDDEN int memcmp(const void *a, const void *b, size_t n);

void *memset(void *dst, int c, size_t n)
{
	volatile unsigned char *d = dst;

	for (size_t i = 0; i < n; i++)
		d[i] = (unsigned char)c;
	return dst;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const volatile unsigned char *x = a, *y = b;

	for (size_t i = 0; i < n; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

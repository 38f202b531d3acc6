/* SPDX-License-Identifier: MIT */
/*
 * arch.h - the few lines that differ between processors: raw system calls.
 * Calls nothing.  A raw call returns a negative errno and never touches errno itself,
 * needs no thread-local storage, and is not a cancellation point.
 */
#ifndef WN_ARCH_H
#define WN_ARCH_H

#include <sys/syscall.h>

#if !defined(__linux__) || !defined(__LP64__)
#error "willneed needs 64-bit Linux: offsets and addresses must fit in a register"
#endif

#if defined(__x86_64__)

static inline long wn_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define wn_pause() __builtin_ia32_pause()
/* A counter that goes on at a steady pace, whatever that is; cheaper than the clock. */
#define wn_cycles() __builtin_ia32_rdtsc()

#elif defined(__aarch64__)

static inline long wn_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

#define wn_pause() __asm__ volatile("yield" ::: "memory")

static inline unsigned long wn_cycles(void)
{
	unsigned long v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
}

#else
#error "willneed knows x86-64 and aarch64; a new processor needs its lines in arch.h and thread.c"
#endif

#define WN_SYS_PICK(_0, _1, _2, _3, _4, _5, _6, n, ...) n
#define WN_SYS0(nr) wn_syscall6(nr, 0, 0, 0, 0, 0, 0)
#define WN_SYS1(nr, a) wn_syscall6(nr, (long)(a), 0, 0, 0, 0, 0)
#define WN_SYS2(nr, a, b) wn_syscall6(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define WN_SYS3(nr, a, b, c) wn_syscall6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define WN_SYS4(nr, a, b, c, d) \
	wn_syscall6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define WN_SYS5(nr, a, b, c, d, e) \
	wn_syscall6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define WN_SYS6(nr, a, b, c, d, e, f) \
	wn_syscall6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* wn_raw(number, up to six arguments): the result, or a negative errno. */
#define wn_raw(...) \
	WN_SYS_PICK(__VA_ARGS__, WN_SYS6, WN_SYS5, WN_SYS4, WN_SYS3, WN_SYS2, WN_SYS1, \
		    WN_SYS0)(__VA_ARGS__)

#endif

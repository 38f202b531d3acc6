/* SPDX-License-Identifier: MIT */
/*
 * mem.h - small tools: atomics by name, memory, numbers.
 * Calls nothing.  libc's own memcpy and friends are chosen at load time by resolvers that
 * may not have run yet, so nothing in lib/ refers to them: mem.c holds private ones, for
 * the few calls that the compiler makes by itself.
 */
#ifndef WN_MEM_H
#define WN_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define wn_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define wn_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define wn_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define wn_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define wn_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)

#define wn_likely(x) __builtin_expect(!!(x), 1)
#define wn_unlikely(x) __builtin_expect(!!(x), 0)

/* True when *p was `from` and is now `to`. */
static inline bool wn_swap32(uint32_t *p, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(p, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static inline uint64_t wn_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t wn_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* a - b, but never below zero. */
static inline uint64_t wn_above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* unit must be a power of two. */
static inline uint64_t wn_round_down(uint64_t v, uint64_t unit)
{
	return v & ~(unit - 1);
}

static inline uint64_t wn_round_up(uint64_t v, uint64_t unit)
{
	return wn_round_down(v + unit - 1, unit);
}

/* memmove(), needing nothing that the loader has yet to prepare. */
void *wn_move(void *dst, const void *src, size_t n);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * test.h - what every test program begins with: cmocka, and random numbers that are the
 * same in every run.
 */
#ifndef WN_TEST_H
#define WN_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define KIB       ((uint64_t)1024)
#define MIB       (1024 * KIB)
#define GIB       (1024 * MIB)
#define TIB       (1024 * GIB)
#define MS_NS     ((uint64_t)1000000)
#define SECOND_NS (1000 * MS_NS)

#define TEST(name) static void name(void **state __attribute__((unused)))

/* The body of main(): TAP on standard output, the number of failures as the status. */
#define RUN(tests)                                 \
	(cmocka_set_message_output(CM_OUTPUT_TAP), \
	 cmocka_run_group_tests(tests, NULL, NULL))

/* Marsaglia's xorshift; *seed must not be 0. */
static inline uint64_t random_number(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* From low up to, and not with, high. */
static inline uint64_t random_between(uint64_t *seed, uint64_t low, uint64_t high)
{
	return low + random_number(seed) % (high - low);
}

#endif

/* SPDX-License-Identifier: MIT */
/* fetch.h: from the faults and reads of tensors in shuffled order to what is asked for. */
#include <willneed.h>

#include "kit.h"
#include "test.h"

#define TENSOR  (16 * MIB)
#define TENSORS 32
#define SIZE    (TENSORS * TENSOR)

static const struct willneed_stats *stats(void)
{
	return &kit.st->stats;
}

/* The program reads one; what is not there yet is a major fault, and the kernel reads it. */
static void read_tensor(uint64_t from, enum wn_access_kind kind)
{
	for (uint64_t at = from; at < from + TENSOR; at += 128 * KIB) {
		bool missing = fake_missing(kit.file, at, at + 4096);
		unsigned up = at > from ? WN_ACCESS_UP : 0;

		fake_touch(kit.file, at, at + 128 * KIB);
		if (kind == WN_ACCESS_READ)
			kit_push(kind, at, 128 * KIB, up);
		else
			kit_push(kind, at, 4096, missing ? WN_ACCESS_FAULTED : 0);
		wn_loop_round(&kit.loop);
		fake_arrive();
		fake.now_ns += MS_NS;
	}
}

/* So many of them, by one thread. */
static void read_shuffled(enum wn_access_kind kind, unsigned tensors)
{
	uint64_t order[TENSORS], seed = 7;

	for (uint64_t n = 0; n < TENSORS; n++)
		order[n] = n;
	for (uint64_t n = TENSORS - 1; n; n--) {
		uint64_t other = random_between(&seed, 0, n + 1), swapped = order[n];

		order[n] = order[other];
		order[other] = swapped;
	}
	for (uint64_t n = 0; n < tensors; n++)
		read_tensor(order[n] * TENSOR, kind);
}

static uint64_t cached(void)
{
	return SIZE - fake_missing(kit.file, 0, SIZE);
}

TEST(faults_in_shuffled_tensors_fetch_the_rest)
{
	kit_reset(SIZE);
	read_shuffled(WN_ACCESS_FAULT, 12);
	assert_int_equal(stats()->wholes, 1);
	assert_true(stats()->whole_bytes >= 2 * TENSOR);
	/* Never more than has been read, and little is left for the walks. */
	assert_true(stats()->whole_bytes <= 12 * TENSOR);
	read_shuffled(WN_ACCESS_FAULT, TENSORS);
	assert_int_equal(stats()->wholes, 1);
	assert_int_equal(fake_missing(kit.file, 0, SIZE), 0);
	assert_true(kit_settle() > 0);
	assert_int_equal(fake.foul, 0);
}

TEST(so_do_reads)
{
	kit_reset(SIZE);
	read_shuffled(WN_ACCESS_READ, 16);
	assert_int_equal(stats()->wholes, 1);
	assert_true(stats()->whole_bytes >= 2 * TENSOR);
}

TEST(readers_that_stop_end_it)
{
	kit_reset(SIZE);
	read_shuffled(WN_ACCESS_FAULT, 10);
	assert_int_equal(stats()->wholes, 1);
	assert_true(kit_settle() > 0);
	assert_true(cached() >= 11 * TENSOR);
	assert_true(cached() <= 2 * 10 * TENSOR);
}

TEST(not_where_memory_is_short)
{
	kit_reset(SIZE);
	fake_set_text("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 262144 kB\n");
	read_shuffled(WN_ACCESS_FAULT, TENSORS);
	assert_int_equal(stats()->wholes, 0);
	assert_int_equal(stats()->whole_bytes, 0);
}

TEST(not_when_it_is_off)
{
	kit_reset(SIZE);
	assert_int_equal(willneed_set("whole", "off"), 0);
	read_shuffled(WN_ACCESS_FAULT, TENSORS);
	assert_int_equal(stats()->wholes, 0);
}

TEST(not_where_the_kernels_window_is_wide)
{
	kit_empty();
	fake_device_texts(8192, 4096);
	kit.file = fake_file("/data/file", 4711, SIZE);
	kit.slot = kit_watch(kit.file, KIT_FD, KIT_ADDR, SIZE);
	read_shuffled(WN_ACCESS_FAULT, TENSORS);
	assert_int_equal(stats()->wholes, 0);
}

TEST(not_forward)
{
	kit_reset(SIZE);
	for (uint64_t at = 0; at < SIZE; at += TENSOR)
		read_tensor(at, WN_ACCESS_FAULT);
	assert_int_equal(stats()->wholes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_in_shuffled_tensors_fetch_the_rest),
		cmocka_unit_test(so_do_reads),
		cmocka_unit_test(readers_that_stop_end_it),
		cmocka_unit_test(not_where_memory_is_short),
		cmocka_unit_test(not_when_it_is_off),
		cmocka_unit_test(not_where_the_kernels_window_is_wide),
		cmocka_unit_test(not_forward),
	};

	return RUN(tests);
}

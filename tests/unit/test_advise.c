/* SPDX-License-Identifier: MIT */
/* advise.c: chunks of what the kernel takes, each page once, none left out. */
#include <errno.h>
#include <fcntl.h>

#include "base/arena.h"
#include "kit.h"
#include "test.h"

static struct wn_engine_file file;
static const uint64_t chunk = 1280 * KIB;
static uint64_t next, calls;

/* For files too large to keep track of: each call begins where the last one ended. */
static void in_order(int f, uint64_t offset, uint64_t length)
{
	(void)f;
	assert_int_equal(offset, next);
	assert_true(length > 0 && length <= chunk);
	next += length;
	calls++;
}

static void reset(uint64_t size, bool huge)
{
	int fd;

	kit_reset(huge ? 64 * MIB : size);
	if (huge)
		fake_huge_file("/data/huge", 12, size);
	fd = wn_sys->open(huge ? "/data/huge" : "/data/file", O_RDONLY);
	assert_true(fd >= 0);
	file = (struct wn_engine_file){
		.chunk = chunk,
		.unit = chunk,
		.size = size,
		.fd1 = (uint32_t)fd + 1,
	};
	next = calls = 0;
}

TEST(lengths_from_nothing_to_a_tebibyte)
{
	static const uint64_t lengths[] = {
		0,
		1,
		4095,
		4096,
		1280 * KIB,
		1280 * KIB + 1,
		UINT32_MAX,
		(uint64_t)1 << 32,
		(uint64_t)1 << 40,
	};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		reset((uint64_t)1 << 41, true);
		fake.on_advice = in_order;
		assert_int_equal(wn_advise(&kit.k, &file, 0, lengths[i]), lengths[i]);
		assert_int_equal(next, lengths[i]);
		assert_int_equal(calls, (lengths[i] + chunk - 1) / chunk);
		assert_int_equal(kit.st->stats.advise_bytes, lengths[i]);
		assert_int_equal(kit.st->stats.asked_bytes, lengths[i]);
		assert_int_equal(kit.st->stats.kernel_calls, calls);
		assert_int_equal(fake.foul, 0);
	}
}

/* Wherever a range begins and ends: all of its pages, nothing else, nothing twice. */
TEST(each_page_once_by_descriptor)
{
	uint64_t seed = 3, page = wn_page_size();

	for (int round = 0; round < 60; round++) {
		uint64_t from = random_between(&seed, 0, 20 * MIB);
		uint64_t to = from + random_between(&seed, 1, 20 * MIB);

		if (round % 3 == 0)
			to = from + chunk * random_between(&seed, 1, 5);
		reset(64 * MIB, false);
		assert_int_equal(wn_advise(&kit.k, &file, from, to), to);
		assert_int_equal(fake_missing(kit.file, from, to), 0);
		assert_int_equal(fake.again, 0);
		assert_int_equal(fake_missing(kit.file, 0, 64 * MIB),
				 64 * MIB -
					 ((to + page - 1) / page - from / page) * page);
	}
}

TEST(each_page_by_address)
{
	uint64_t seed = 4;

	for (int round = 0; round < 60; round++) {
		uint64_t from = random_between(&seed, 0, 20 * MIB);
		uint64_t to = from + random_between(&seed, 1, 20 * MIB);

		reset(64 * MIB, false);
		assert_int_equal(wn_advise_address(&kit.k, kit.slot, chunk, from, to),
				 to);
		assert_int_equal(fake_missing(kit.file, from, to), 0);
		assert_int_equal(fake.again, 0);
		assert_int_equal(fake.foul, 0);
		assert_int_equal(kit.st->stats.address_bytes, to - from);
	}
}

TEST(by_address_as_far_as_it_is_mapped)
{
	reset(64 * MIB, false);
	assert_true(wn_track_lock(kit.track, &kit.st->lock));
	wn_map_remove(kit.track, KIT_ADDR + 10 * MIB, MIB);
	wn_track_unlock(&kit.st->lock);
	assert_int_equal(wn_advise_address(&kit.k, kit.slot, chunk, 0, 20 * MIB),
			 10 * MIB);
	assert_int_equal(fake_missing(kit.file, 10 * MIB, 20 * MIB), 10 * MIB);
	assert_int_equal(wn_advise_address(&kit.k, kit.slot, chunk, 11 * MIB, 20 * MIB),
			 20 * MIB);
}

TEST(failures_tell_how_far_it_came)
{
	reset(64 * MIB, false);
	fake_fail(FAKE_FADVISE, 3, EIO, true);
	assert_int_equal(wn_advise(&kit.k, &file, 0, 20 * MIB), 2 * chunk);
	assert_int_equal(kit.st->stats.advise_bytes, 2 * chunk);
	fake_fail(FAKE_MADVISE, 1, ENOMEM, true);
	assert_int_equal(wn_advise_address(&kit.k, kit.slot, chunk, 5 * MIB, 20 * MIB),
			 5 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_from_nothing_to_a_tebibyte),
		cmocka_unit_test(each_page_once_by_descriptor),
		cmocka_unit_test(each_page_by_address),
		cmocka_unit_test(by_address_as_far_as_it_is_mapped),
		cmocka_unit_test(failures_tell_how_far_it_came),
	};

	return RUN(tests);
}

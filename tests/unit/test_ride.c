/* SPDX-License-Identifier: MIT */
/* ride.c against the windows and marks of the fake kernel. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "kit.h"
#include "test.h"

static struct wn_engine_file file;
static struct wn_lane lane;
static const uint64_t unit = 1280 * KIB;

/* An engine file and a lane of it, open and advised as the engine does. */
static void reset(uint64_t size)
{
	int fd;

	kit_reset(size);
	fd = wn_sys->open("/data/file", O_RDONLY);
	assert_true(fd >= 0);
	file = (struct wn_engine_file){
		.unit = unit,
		.chunk = unit,
		.size = size,
		.fd1 = (uint32_t)fd + 1,
		.way = WN_RIDE,
	};
	fd = wn_sys->open("/data/file", O_RDONLY);
	assert_true(fd >= 0);
	wn_sys->fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	lane = (struct wn_lane){ .fd1 = (uint32_t)fd + 1 };
}

static uint64_t ride(uint64_t from, uint64_t to, uint64_t slack)
{
	struct wn_order o = { .from = from, .to = to, .slack = slack };

	const struct wn_cover_file id = {
		.file = kit.slot,
		.serial = kit.track->files.slot[kit.slot].serial,
	};

	return wn_ride(&kit.k, &file, &lane, id, &o);
}

static uint64_t calls(void)
{
	return fake.count[FAKE_PREADV2];
}

TEST(windows_follow_each_other)
{
	uint64_t at;

	reset(64 * unit);
	at = ride(0, 20 * unit, 0);
	assert_true(at > 18 * unit && at <= 20 * unit);
	assert_int_equal(fake_missing(kit.file, 0, at), 0);
	assert_int_equal(fake_missing(kit.file, 20 * unit, 64 * unit), 44 * unit);
	assert_int_equal(fake_most_asked(kit.file, 0, 64 * unit), 1);
	assert_true(calls() <= 2 * 20 + 2);
	assert_int_equal(kit.st->stats.ride_bytes, at);
	assert_int_equal(fake.foul, 0);
}

TEST(order_after_order)
{
	uint64_t at = 0;

	reset(64 * unit);
	while (at < 40 * unit) {
		uint64_t to = at + 3 * unit;
		uint64_t end = ride(at, to, 2 * unit);

		assert_true(end > at);
		assert_true(end <= to + 2 * unit);
		assert_int_equal(fake_missing(kit.file, 0, end), 0);
		assert_int_equal(fake_missing(kit.file, to + 2 * unit, 64 * unit),
				 64 * unit - (to + 2 * unit));
		at = end;
		if (at > 20 * unit)
			fake_arrive();
	}
	assert_int_equal(fake_most_asked(kit.file, 0, 64 * unit), 1);
}

/* Whoever reads a mark first has used it up; what is claimed is asked for even so. */
TEST(stolen_marks_leave_no_holes)
{
	uint64_t seed = 5, at = 0;

	reset(100 * unit);
	while (at < 90 * unit) {
		uint64_t end = ride(at, at + unit, 2 * unit);

		assert_true(end >= at && end <= at + 3 * unit);
		if (end == at)
			break;
		assert_int_equal(fake_missing(kit.file, 0, end), 0);
		at = end;
		if (random_number(&seed) % 3)
			continue;
		for (uint64_t p = 0; p < at + unit && p < 100 * unit; p += wn_page_size())
			if (fake_at(kit.file)->mark[p / wn_page_size()])
				fake_touch(kit.file, p, p + 1);
	}
	assert_true(at >= 90 * unit);
	assert_true(fake_most_asked(kit.file, 0, 100 * unit) <= 1);
}

/* After the last theft the ride is a window ahead again, in a few windows. */
TEST(a_ride_heals)
{
	uint64_t at, before;

	reset(100 * unit);
	at = ride(0, 4 * unit, 2 * unit);
	for (uint64_t p = 0; p < 100 * unit; p += wn_page_size())
		if (fake_at(kit.file)->mark[p / wn_page_size()])
			fake_touch(kit.file, p, p + 1);
	for (int windows = 0; windows < 4; windows++)
		at = ride(at, at + unit, 2 * unit);
	before = calls();
	at = ride(at, at + 10 * unit, 2 * unit);
	assert_true(calls() - before <= 2 * 12);
	assert_int_equal(fake_missing(kit.file, 0, at), 0);
	/* Healthy: the window behind what is claimed is under way too. */
	assert_int_equal(fake_missing(kit.file, at, at + unit / 2), 0);
}

TEST(cached_pages_leave_no_holes)
{
	uint64_t at;

	reset(64 * unit);
	fake_cache(kit.file, 0, 10 * unit);
	at = ride(0, 20 * unit, 0);
	assert_true(at > 18 * unit && at <= 21 * unit);
	assert_true(calls() < 60);
	assert_int_equal(fake_missing(kit.file, 0, at), 0);
	assert_int_equal(fake_most_asked(kit.file, 0, 64 * unit), 1);
}

TEST(all_cached)
{
	uint64_t at;

	reset(64 * unit);
	fake_cache(kit.file, 0, 64 * unit);
	at = ride(0, 64 * unit, 0);
	assert_true(at >= 64 * unit);
	assert_true(calls() < 100);
	assert_int_equal(kit.st->stats.ride_bytes, 0);
}

TEST(less_than_a_window_is_not_for_riding)
{
	reset(64 * unit);
	assert_int_equal(ride(0, unit / 2, 0), 0);
	assert_int_equal(ride(0, unit - 4096, 4095), 0);
	assert_int_equal(calls(), 0);
	assert_int_equal(ride(0, unit / 2, unit), unit);
}

TEST(nothing_is_cut_in_two_for_a_ride_that_cannot_begin)
{
	struct wn_order o = { .from = unit - 8192, .to = unit + 4096, .exact = unit + 4096 };

	reset(64 * unit);
	file.align = 256 * KIB;
	assert_int_equal(wn_ride_from(&file, &o, 0), o.exact);
	/* Here it can; and a guess is asked for up to where one will, later. */
	o.to = 2 * unit;
	assert_int_equal(wn_ride_from(&file, &o, 0), unit);
	assert_int_equal(wn_ride_from(&file, &o, unit + 1), unit + 256 * KIB);
	o.exact = o.from;
	o.to = unit + 4096;
	assert_int_equal(wn_ride_from(&file, &o, 0), unit);
}

TEST(the_file_ends_before_the_window_does)
{
	uint64_t size = 5 * unit + 12345, at;

	reset(size);
	at = ride(0, size, 0);
	assert_true(at >= size);
	assert_int_equal(fake_missing(kit.file, 0, size), 0);
	assert_int_equal(kit.st->stats.ride_bytes, size);
	/* It has been cut short since: reads find nothing, and end all the same. */
	reset(64 * unit);
	fake_at(kit.file)->size = unit;
	at = ride(0, 64 * unit, 0);
	assert_true(at >= 64 * unit);
}

TEST(a_kernel_that_refuses)
{
	reset(64 * unit);
	fake.refuse_nowait = EOPNOTSUPP;
	assert_int_equal(ride(0, 20 * unit, 0), 0);
	fake.refuse_nowait = 0;
	fake_fail(FAKE_PREADV2, 5, EIO, true);
	assert_true(ride(0, 20 * unit, 0) < 20 * unit);
	assert_true(calls() <= 8);
}

TEST(another_place_begins_anew)
{
	uint64_t at;

	reset(64 * unit);
	ride(0, 4 * unit, 0);
	/* As the engine does when an order begins elsewhere. */
	lane.riding = false;
	at = ride(30 * unit, 34 * unit, 0);
	assert_true(at > 31 * unit && at <= 34 * unit);
	assert_int_equal(fake_missing(kit.file, 30 * unit, at), 0);
	assert_true(fake_missing(kit.file, 6 * unit, 30 * unit) >= 23 * unit);
}

/* Windows of a power of two, and a device whose smallest window is four pages. */
static const uint64_t place = 32 * MIB, block = 8 * MIB, page = 4 * KIB;

static void reset_for_seeds(void)
{
	reset(64 * MIB);
	file.unit = MIB;
	file.readahead = fake.readahead;
	fake.request = MIB;
	wn_seed_plant(&kit.k, &file, &lane, place + block, block);
}

/* The pages were read by themselves, now their windows are. */
static void let_sprout(void)
{
	fake_arrive();
	wn_seed_plant(&kit.k, &file, &lane, place + block, block);
	fake_arrive();
}

/* Did the lane's own open file read a page in front of `place`, which was marked? */
static bool began_at_a_mark(void)
{
	for (unsigned i = 0; i < fake.logged; i++)
		if (fake.log[i].kind == FAKE_PREADV2 && fake.log[i].length > page)
			return fake.log[i].offset == place - 3 * page;
	return false;
}

TEST(seeds_are_few_pages)
{
	reset_for_seeds();
	/* Four blocks below, and the beginning of the file, which needs none. */
	assert_int_equal(fake_missing(kit.file, 0, 64 * MIB), 64 * MIB - 4 * page);
	assert_int_equal(fake_missing(kit.file, place - 5 * page, place - 4 * page), 0);
	/* Nothing can be done before they have arrived. */
	wn_seed_plant(&kit.k, &file, &lane, place + block, block);
	assert_int_equal(fake_missing(kit.file, 0, 64 * MIB), 64 * MIB - 4 * page);
	assert_false(wn_seed_ripe(&lane, place));
	let_sprout();
	assert_int_equal(fake_missing(kit.file, 0, 64 * MIB), 64 * MIB - 4 * 5 * page);
	assert_true(wn_seed_ripe(&lane, place));
	assert_false(wn_seed_ripe(&lane, place + MIB));
	assert_false(wn_seed_ripe(&lane, place + block));
	assert_false(wn_seed_ripe(&lane, 0));
	/* The reader has passed one; then it is elsewhere. */
	wn_seed_plant(&kit.k, &file, &lane, place, block);
	assert_true(wn_seed_ripe(&lane, place - block));
	wn_seed_plant(&kit.k, &file, &lane, 60 * MIB, block);
	assert_false(wn_seed_ripe(&lane, place - block));
	assert_int_equal(fake.foul, 0);
}

TEST(a_ride_begins_at_a_seed)
{
	uint64_t at;

	reset_for_seeds();
	let_sprout();
	at = ride(place, place + MIB, 2 * MIB);
	assert_int_equal(at, place + MIB);
	assert_true(began_at_a_mark());
	assert_int_equal(fake_missing(kit.file, place, at), 0);
	/* What it was made of has been let go, and is in nobody's way. */
	assert_int_equal(fake_missing(kit.file, place - 5 * page, place), 5 * page);
	assert_false(wn_seed_ripe(&lane, place));
	lane.riding = false;
	at = ride(place - block, place, 2 * MIB);
	assert_int_equal(at, place);
	assert_int_equal(fake_missing(kit.file, place - block, place), 0);
	assert_int_equal(fake_most_asked(kit.file, place - block, place - 5 * page), 1);
	assert_int_equal(fake.foul, 0);
}

TEST(a_seed_that_is_gone_leaves_no_holes)
{
	uint64_t at;

	/* Somebody else has read the mark, or all of it has been evicted. */
	for (int how = 0; how < 2; how++) {
		reset_for_seeds();
		let_sprout();
		if (how)
			fake_evict(kit.file, place - 5 * page, place);
		else
			fake_touch(kit.file, place - 5 * page, place);
		at = ride(place, place + 4 * MIB, 2 * MIB);
		assert_true(at >= place + 4 * MIB);
		assert_int_equal(fake_missing(kit.file, place, at), 0);
		at = ride(at, at + 4 * MIB, 2 * MIB);
		assert_int_equal(fake_missing(kit.file, place, at), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_follow_each_other),
		cmocka_unit_test(order_after_order),
		cmocka_unit_test(stolen_marks_leave_no_holes),
		cmocka_unit_test(a_ride_heals),
		cmocka_unit_test(cached_pages_leave_no_holes),
		cmocka_unit_test(all_cached),
		cmocka_unit_test(less_than_a_window_is_not_for_riding),
		cmocka_unit_test(nothing_is_cut_in_two_for_a_ride_that_cannot_begin),
		cmocka_unit_test(the_file_ends_before_the_window_does),
		cmocka_unit_test(a_kernel_that_refuses),
		cmocka_unit_test(another_place_begins_anew),
		cmocka_unit_test(seeds_are_few_pages),
		cmocka_unit_test(a_ride_begins_at_a_seed),
		cmocka_unit_test(a_seed_that_is_gone_leaves_no_holes),
	};

	return RUN(tests);
}

/* SPDX-License-Identifier: MIT */
/* Which faults are told from what the page table shows, and how often it is looked at. */
#include "test.h"

#include "copy.h"
#include "kit.h"
#include "watch/watch.h"

#define SIZE (256 * MIB)
#define END (KIT_ADDR + SIZE)
#define PAGE 4096

static struct wn_scan s;
static bool busy;

static void begin(bool by_scan)
{
	kit_reset(SIZE);
	fake_table_at(KIT_ADDR);
	fake_text("/proc/thread-self/pagemap", "");
	assert_int_equal(wn_scan_open(&s, by_scan), 0);
}

static void look(void)
{
	const struct wn_watch_use use = {
		.options = &wn_rt.options,
		.stats = &kit.st->stats,
		.track = kit.track,
	};

	assert_true(wn_scan_tend(&s, &use, fake.now_ns, &busy) >= 0);
}

/* A millisecond later; how many faults are told, and the last of them. */
static unsigned told(struct wn_fault *last)
{
	struct wn_fault f;
	unsigned n = 0;

	fake.now_ns += MS_NS;
	look();
	for (; wn_scan_next(&s, &f); n++) {
		assert_int_equal(f.tap, WN_NO_TAP);
		*last = f;
	}
	return n;
}

/* The program has read these, with so many major faults. */
static void reads(uint64_t from, uint64_t to, unsigned majors)
{
	fake_populate(from, to);
	fake.major_elsewhere += majors;
	fake.minor_elsewhere += (to - from) / PAGE - majors;
}

static void ends_show_at_once(bool by_scan)
{
	struct wn_fault f;

	/* Down, and a fault a page: each is told. */
	begin(by_scan);
	assert_int_equal(told(&f), 0);
	reads(END - 5 * PAGE, END, 5);
	assert_int_equal(told(&f), 5);
	assert_int_equal(f.addr, END - 5 * PAGE);
	reads(END - 8 * PAGE, END - 5 * PAGE, 3);
	assert_int_equal(told(&f), 3);
	assert_int_equal(f.addr, END - 8 * PAGE);
	wn_scan_close(&s);
	/* Also the one that was alone for a while. */
	begin(by_scan);
	reads(END - PAGE, END, 1);
	assert_int_equal(told(&f), 0);
	reads(END - 2 * PAGE, END - PAGE, 1);
	assert_int_equal(told(&f), 2);
	assert_int_equal(f.addr, END - 2 * PAGE);
	/* Up, a neighbourhood at a time. */
	reads(KIT_ADDR, KIT_ADDR + 64 * PAGE, 1);
	assert_int_equal(told(&f), 4);
	assert_int_equal(f.addr, KIT_ADDR + 48 * PAGE);
	wn_scan_close(&s);
}

TEST(ends_show_at_once_in_a_scan)
{
	ends_show_at_once(true);
}

TEST(ends_show_at_once_in_the_pagemap)
{
	ends_show_at_once(false);
}

TEST(no_more_faults_are_told_than_there_were)
{
	struct wn_fault f;

	/* The end was cached: one load maps its neighbourhood. */
	begin(true);
	reads(END - 16 * PAGE, END, 1);
	assert_true(told(&f) <= 1);
	/* And while nothing comes on, nothing more. */
	fake.major_elsewhere += 10;
	assert_int_equal(told(&f), 0);
	wn_scan_close(&s);
}

TEST(a_page_here_and_there_tells_nothing)
{
	uint64_t seed = 1;
	struct wn_fault f;

	for (int by_scan = 0; by_scan < 2; by_scan++) {
		begin(by_scan);
		for (int i = 0; i < 200; i++) {
			uint64_t at = random_between(&seed, 1, SIZE / PAGE - 1) * PAGE;

			reads(KIT_ADDR + at, KIT_ADDR + at + PAGE, 1);
			assert_int_equal(told(&f), 0);
		}
		wn_scan_close(&s);
	}
}

/* Where threads that share a mapping begin is looked at first. */
TEST(halves_and_quarters_are_sampled_early)
{
	struct wn_fault f;
	uint64_t at[] = { KIT_ADDR + SIZE / 2, KIT_ADDR + SIZE / 4, KIT_ADDR + SIZE / 8 * 7 };

	for (unsigned i = 0; i < 3; i++) {
		begin(false);
		reads(at[i], at[i] + MIB, 8);
		assert_int_equal(told(&f), 0);
		reads(at[i] + MIB, at[i] + 2 * MIB, 8);
		/* What was there before is told, too, now that it is known to grow. */
		assert_int_equal(told(&f), 32);
		assert_int_equal(f.addr, at[i] + 2 * MIB - 16 * PAGE);
		wn_scan_close(&s);
	}
}

TEST(regions_that_meet_are_one)
{
	struct wn_fault f;

	begin(true);
	reads(KIT_ADDR, KIT_ADDR + MIB, 8);
	reads(KIT_ADDR + 3 * MIB, KIT_ADDR + 4 * MIB, 8);
	told(&f);
	assert_int_equal(s.used, 2);
	reads(KIT_ADDR + MIB, KIT_ADDR + 3 * MIB, 16);
	told(&f);
	told(&f);
	assert_int_equal(s.used, 1);
	assert_int_equal(s.patch[0].low, KIT_ADDR);
	assert_int_equal(s.patch[0].high, KIT_ADDR + 4 * MIB);
	/* It goes on at its upper end. */
	reads(KIT_ADDR + 4 * MIB, KIT_ADDR + 5 * MIB, 8);
	assert_true(told(&f) >= 15);
	wn_scan_close(&s);
}

TEST(a_mapping_that_is_gone_takes_its_patches_along)
{
	struct wn_fault f;

	begin(true);
	reads(KIT_ADDR, KIT_ADDR + MIB, 8);
	told(&f);
	assert_int_equal(s.used, 1);
	wn_unwatch((void *)KIT_ADDR, SIZE);
	fake.major_elsewhere++;
	assert_int_equal(told(&f), 0);
	assert_int_equal(s.used, 0);
	wn_scan_close(&s);
}

TEST(nothing_is_looked_at_without_faults)
{
	struct wn_fault f;
	uint64_t before;

	begin(true);
	fake.major_elsewhere++;
	told(&f);
	before = fake.table_looks;
	for (int i = 0; i < 100; i++)
		told(&f);
	assert_int_equal(fake.table_looks, before);
	wn_scan_close(&s);
}

/* In ten seconds of faults that lead nowhere: often in the beginning, then now and then. */
TEST(useless_looks_become_rare)
{
	uint64_t seed = 1, end;
	unsigned looks = 0;

	begin(true);
	end = fake.now_ns + 10 * SECOND_NS;
	while (fake.now_ns < end) {
		uint64_t at = random_between(&seed, 1, SIZE / PAGE - 1) * PAGE;

		reads(KIT_ADDR + at, KIT_ADDR + at + PAGE, 1);
		look();
		looks++;
		fake.now_ns = s.look.due_ns > fake.now_ns ? s.look.due_ns : fake.now_ns + MS_NS;
	}
	assert_in_range(looks, 10000 / 128, 10000 / 128 + 60);
	wn_scan_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_show_at_once_in_a_scan),
		cmocka_unit_test(ends_show_at_once_in_the_pagemap),
		cmocka_unit_test(no_more_faults_are_told_than_there_were),
		cmocka_unit_test(a_page_here_and_there_tells_nothing),
		cmocka_unit_test(halves_and_quarters_are_sampled_early),
		cmocka_unit_test(regions_that_meet_are_one),
		cmocka_unit_test(a_mapping_that_is_gone_takes_its_patches_along),
		cmocka_unit_test(nothing_is_looked_at_without_faults),
		cmocka_unit_test(useless_looks_become_rare),
	};

	return RUN(tests);
}

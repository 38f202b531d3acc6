/* SPDX-License-Identifier: MIT */
/* cover.h: against a bitmap, ageing, recycling, and several threads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "cover.h"
#include "test.h"

enum { PAGES = 4096 };
#define TICK ((uint64_t)1 << 28)

static struct wn_cover cover;
static const struct wn_cover_file file = { .file = 3, .serial = 1 };
static uint64_t page, seed = 77;

static void reset(void)
{
	memset(&cover, 0, sizeof(cover));
	wn_cover_tick(&cover, 1000 * SECOND_NS);
	page = wn_page_size();
}

/* What wn_cover_asked() or _missing() should say: bytes without a change of state. */
static uint64_t model_run(const bool *model, uint64_t from, uint64_t to, bool state)
{
	uint64_t at = from;

	while (at < to && model[at / page] == state)
		at = (at / page + 1) * page;
	return (at < to ? at : to) - from;
}

TEST(marks_agree_with_a_bitmap)
{
	static bool model[PAGES + 1];

	reset();
	memset(model, 0, sizeof(model));
	for (int round = 0; round < 3000; round++) {
		uint64_t from = random_between(&seed, 0, PAGES * page);
		uint64_t to = from + random_between(&seed, 1, 50 * page);

		if (to > PAGES * page)
			to = PAGES * page;
		if (to == from)
			continue;
		if (round % 64 == 4) {
			wn_cover_forget(&cover, file, from, to);
			for (uint64_t p = from / page; p <= (to - 1) / page; p++)
				model[p] = false;
			continue;
		}
		if (round % 8 == 0) {
			wn_cover_mark(&cover, file, from, to);
			for (uint64_t p = from / page; p <= (to - 1) / page; p++)
				model[p] = true;
			continue;
		}
		assert_int_equal(wn_cover_asked(&cover, file, from, to),
				 model_run(model, from, to, true));
	}
}

TEST(empty_ranges_and_huge_offsets)
{
	uint64_t far = (uint64_t)1 << 50;

	reset();
	assert_int_equal(wn_cover_asked(&cover, file, 0, 0), 0);
	wn_cover_mark(&cover, file, 5, 5);
	assert_int_equal(wn_cover_asked(&cover, file, 0, GIB), 0);
	wn_cover_mark(&cover, file, far, far + 100 * page);
	assert_int_equal(wn_cover_asked(&cover, file, far, far + GIB), 100 * page);
	assert_int_equal(wn_cover_asked(&cover, file, 0, GIB), 0);
}

TEST(files_and_serials_are_apart)
{
	const struct wn_cover_file other = { .file = 4, .serial = 1 };
	const struct wn_cover_file reused = { .file = 3, .serial = 2 };

	reset();
	wn_cover_mark(&cover, file, 0, 16 * MIB);
	assert_int_equal(wn_cover_asked(&cover, file, 0, 16 * MIB), 16 * MIB);
	assert_int_equal(wn_cover_asked(&cover, other, 0, 16 * MIB), 0);
	assert_int_equal(wn_cover_asked(&cover, reused, 0, 16 * MIB), 0);
}

TEST(old_marks_are_forgotten)
{
	reset();
	wn_cover_mark(&cover, file, 0, MIB);
	wn_cover_tick(&cover, 1000 * SECOND_NS + 4 * SECOND_NS);
	assert_int_equal(wn_cover_asked(&cover, file, 0, MIB), MIB);
	wn_cover_tick(&cover, 1000 * SECOND_NS + 20 * SECOND_NS);
	assert_int_equal(wn_cover_asked(&cover, file, 0, MIB), 0);
	/* A new mark in the same place does not bring the old ones back. */
	wn_cover_mark(&cover, file, 0, page);
	assert_int_equal(wn_cover_asked(&cover, file, 0, MIB), page);
}

/* Threads tell the time each for itself: one may be a tick late. */
TEST(a_clock_that_steps_back_forgets_nothing)
{
	reset();
	wn_cover_mark(&cover, file, 0, MIB);
	wn_cover_tick(&cover, 1000 * SECOND_NS - TICK);
	assert_int_equal(wn_cover_asked(&cover, file, 0, MIB), MIB);
	wn_cover_mark(&cover, file, MIB, MIB + page);
	wn_cover_tick(&cover, 1000 * SECOND_NS);
	assert_int_equal(wn_cover_asked(&cover, file, 0, 2 * MIB), MIB + page);
}

TEST(clearing_forgets_all)
{
	/* The identity that packs into the fewest bits. */
	const struct wn_cover_file first = { .file = 0, .serial = 0x10000 };

	reset();
	wn_cover_mark(&cover, file, 0, MIB);
	wn_cover_mark(&cover, first, 0, MIB);
	wn_cover_clear(&cover);
	assert_int_equal(wn_cover_asked(&cover, file, 0, MIB), 0);
	assert_int_equal(wn_cover_asked(&cover, first, 0, MIB), 0);
}

/* More than it can hold: nothing is reported that was not marked, the newest is kept. */
TEST(the_oldest_makes_room)
{
	uint64_t reach = 4 * (uint64_t)WN_COVER_SLOTS * 64 * WN_COVER_WORDS * page;
	uint64_t kept = 0;

	reset();
	for (uint64_t at = 0; at < reach; at += MIB) {
		wn_cover_tick(&cover,
			      1000 * SECOND_NS + at / (reach / (2 * SECOND_NS) + 1));
		wn_cover_mark(&cover, file, at, at + MIB / 2);
		assert_int_equal(wn_cover_asked(&cover, file, at, at + MIB), MIB / 2);
	}
	for (uint64_t at = 0; at < reach; at += MIB) {
		uint64_t asked = wn_cover_asked(&cover, file, at, at + MIB);

		assert_true(asked == 0 || asked == MIB / 2);
		assert_int_equal(wn_cover_asked(&cover, file, at + MIB / 2, at + MIB), 0);
		kept += asked > 0;
	}
	assert_true(kept >= (uint64_t)WN_COVER_SLOTS / 2);
}

static void *marker(void *arg)
{
	const struct wn_cover_file own = { .file = (uint16_t)(uintptr_t)arg,
					   .serial = 1 };
	uint64_t wrong = 0;

	for (int round = 0; round < 200; round++)
		for (uint64_t at = 0; at < 16 * MIB; at += MIB) {
			wn_cover_tick(&cover, 1000 * SECOND_NS);
			wn_cover_mark(&cover, own, at, at + MIB / 2);
			wrong += wn_cover_asked(&cover, own, at + MIB / 2, at + MIB) != 0;
		}
	return (void *)wrong;
}

TEST(several_threads_at_once)
{
	pthread_t thread[4];

	reset();
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, marker, (void *)(i / 2)), 0);
	for (int i = 0; i < 4; i++) {
		void *wrong;

		pthread_join(thread[i], &wrong);
		assert_null(wrong);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_agree_with_a_bitmap),
		cmocka_unit_test(empty_ranges_and_huge_offsets),
		cmocka_unit_test(files_and_serials_are_apart),
		cmocka_unit_test(old_marks_are_forgotten),
		cmocka_unit_test(a_clock_that_steps_back_forgets_nothing),
		cmocka_unit_test(clearing_forgets_all),
		cmocka_unit_test(the_oldest_makes_room),
		cmocka_unit_test(several_threads_at_once),
	};

	return RUN(tests);
}

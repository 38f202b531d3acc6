/* SPDX-License-Identifier: MIT */
/* track/mapping.h: against a plain model, full, torn by a fork, and with many readers. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "test.h"
#include "track/mapping.h"

#define SPAN 4096u /* addresses of the model, one byte each */

static struct wn_track track;
static struct wn_track_lock lock;
static uint64_t seed = 0x5eed;

/* The model: which file and offset stand behind each address; file 0xffff: none. */
static struct cell {
	uint16_t file;
	uint16_t random;
	uint64_t offset;
} model[SPAN];

static void reset(void)
{
	memset(&track, 0, sizeof(track));
	memset(&lock, 0, sizeof(lock));
	for (unsigned i = 0; i < SPAN; i++)
		model[i].file = WN_NO_FILE;
}

static uint16_t take(uint64_t ino)
{
	struct stat st = { .st_dev = 1, .st_ino = ino, .st_size = 1 << 20 };

	return wn_file_take(&track.files, &st, -1);
}

static void compare(void)
{
	unsigned want_refs = 0, refs = 0;

	for (unsigned a = 0; a < SPAN; a++) {
		struct wn_map m;
		bool found = wn_map_find(&track, a, &m);

		assert_int_equal(found, model[a].file != WN_NO_FILE);
		assert_int_equal(wn_map_may_overlap(&track, a, 1), found);
		if (!found)
			continue;
		assert_int_equal(m.file, model[a].file);
		assert_int_equal(m.offset + (a - m.start), model[a].offset);
	}
	for (uint32_t i = 0; i < track.count; i++) {
		assert_true(track.map[i].start < track.map[i].end);
		if (i)
			assert_true(track.map[i - 1].end <= track.map[i].start);
		want_refs++;
	}
	for (int i = 0; i < WN_FILES; i++)
		refs += track.files.slot[i].refs;
	assert_int_equal(refs, want_refs);
	assert_false(track.seq & 1);
}

static void map_at(uint64_t start, uint64_t length, uint64_t offset)
{
	struct wn_map m = { start, start + length, offset, 0, 0, 0 };

	wn_map_remove(&track, start, length);
	m.file = take(random_between(&seed, 1, 20));
	assert_int_not_equal(m.file, WN_NO_FILE);
	assert_int_equal(wn_map_add(&track, &m), 0);
	for (uint64_t a = 0; a < length; a++)
		model[start + a] = (struct cell){ m.file, 0, offset + a };
}

static void unmap_at(uint64_t start, uint64_t length)
{
	wn_map_remove(&track, start, length);
	for (uint64_t a = start; a < start + length; a++)
		model[a].file = WN_NO_FILE;
}

TEST(any_changes_agree_with_a_plain_model)
{
	reset();
	for (int round = 0; round < 3000; round++) {
		uint64_t start = random_between(&seed, 0, SPAN - 1);
		uint64_t length = random_between(&seed, 1, SPAN - start + 1);

		if (length > 300)
			length = length % 300 + 1;
		assert_true(wn_track_lock(&track, &lock));
		if (random_number(&seed) % 2)
			map_at(start, length, random_between(&seed, 0, 1000));
		else
			unmap_at(start, length);
		wn_track_unlock(&lock);
		if (round % 16 == 0)
			compare();
	}
	compare();
}

TEST(a_hole_splits_and_both_ends_keep_their_offsets)
{
	struct wn_map m = { 1000, 2000, 500, 0, 1, 0 };

	reset();
	m.file = take(9);
	assert_int_equal(wn_map_add(&track, &m), 0);
	assert_false(wn_map_remove(&track, 1400, 100));
	assert_int_equal(track.count, 2);
	assert_int_equal(track.files.slot[m.file].refs, 2);
	assert_false(wn_map_find(&track, 1400, &m));
	assert_true(wn_map_find(&track, 1500, &m));
	assert_int_equal(m.offset, 1000);
	assert_int_equal(m.random, 1);
	assert_false(wn_map_remove(&track, 0, 1450));
	assert_true(wn_map_remove(&track, 1500, 10000));
	assert_int_equal(track.count, 0);
}

TEST(a_full_table_refuses_and_forgets)
{
	struct wn_map m;

	reset();
	for (uint64_t i = 0; i < WN_MAPS; i++) {
		m = (struct wn_map){ i * 10, i * 10 + 10, 0, take(1), 0, 0 };
		assert_int_equal(wn_map_add(&track, &m), 0);
	}
	m = (struct wn_map){ 100000, 100010, 0, take(1), 0, 0 };
	assert_int_equal(wn_map_add(&track, &m), -ENOSPC);
	wn_file_drop(&track.files, m.file);
	assert_int_equal(track.files.slot[m.file].refs, WN_MAPS);
	/* No room for the part behind the hole: only the part before it stays. */
	wn_map_remove(&track, 14, 2);
	assert_true(wn_map_find(&track, 13, &m));
	assert_false(wn_map_find(&track, 17, &m));
	assert_int_equal(track.count, WN_MAPS);
	assert_int_equal(track.files.slot[m.file].refs, WN_MAPS);
	assert_true(wn_map_remove(&track, 0, 10 * WN_MAPS));
	assert_int_equal(track.count, 0);
}

TEST(a_length_that_wraps_does_no_harm)
{
	struct wn_map m = { 1000, 2000, 0, 0, 0, 0 };

	reset();
	m.file = take(1);
	wn_map_add(&track, &m);
	wn_map_remove(&track, 1500, UINT64_MAX);
	for (uint32_t i = 0; i < track.count; i++) {
		assert_true(track.map[i].start < track.map[i].end);
		if (i)
			assert_true(track.map[i - 1].end <= track.map[i].start);
	}
	wn_map_remove(&track, UINT64_MAX - 10, 100);
	assert_true(wn_map_find(&track, 1200, &m));
}

TEST(by_offset)
{
	struct wn_map a = { 1000, 2000, 4096, 0, 0, 0 }, b = { 5000, 6000, 0, 0, 0, 0 }, m;

	reset();
	a.file = b.file = take(1);
	wn_file_ref(&track.files, a.file);
	wn_map_add(&track, &a);
	wn_map_add(&track, &b);
	assert_true(wn_map_find_offset(&track, a.file, 4096, &m));
	assert_int_equal(m.start, 1000);
	assert_true(wn_map_find_offset(&track, a.file, 999, &m));
	assert_int_equal(m.start, 5000);
	assert_false(wn_map_find_offset(&track, a.file, 1000, &m));
	assert_false(wn_map_find_offset(&track, a.file, 5096, &m));
	assert_true(wn_map_find_offset(&track, a.file, WN_ANY_OFFSET, &m));
	assert_false(
		wn_map_find_offset(&track, (uint16_t)(a.file + 1), WN_ANY_OFFSET, &m));
}

TEST(random_advice_is_remembered)
{
	struct wn_map m = { 1000, 2000, 0, 0, 0, 0 };

	reset();
	m.file = take(1);
	wn_map_add(&track, &m);
	wn_map_set_random(&track, 1000, 1000, true);
	assert_true(wn_map_find(&track, 1500, &m));
	assert_true(m.random);
	wn_map_set_random(&track, 1100, 10, false);
	assert_true(wn_map_find(&track, 1500, &m) && m.random);
	wn_map_set_random(&track, 0, 5000, false);
	assert_true(wn_map_find(&track, 1500, &m) && !m.random);
}

/* A fork in the middle of a change: the sequence stays odd, and nobody will end it. */
TEST(a_torn_table_is_emptied)
{
	struct wn_map m = { 1000, 2000, 0, 0, 0, 0 };

	reset();
	m.file = take(1);
	wn_map_add(&track, &m);
	track.seq++;
	assert_false(wn_map_find(&track, 1500, &m));
	assert_true(wn_map_may_overlap(&track, 1500, 1));
	assert_true(wn_track_lock(&track, &lock));
	wn_track_unlock(&lock);
	assert_false(wn_map_find(&track, 1500, &m));
	assert_int_equal(track.count, 0);
	assert_int_equal(track.files.slot[0].refs, 0);
	m = (struct wn_map){ 1000, 2000, 0, take(1), 0, 0 };
	assert_int_equal(wn_map_add(&track, &m), 0);
	assert_true(wn_map_find(&track, 1500, &m));
}

TEST(a_held_lock_is_not_waited_for)
{
	reset();
	assert_true(wn_track_lock(&track, &lock));
	assert_false(wn_track_lock(&track, &lock));
	wn_track_unlock(&lock);
	assert_true(wn_track_lock(&track, &lock));
}

static uint32_t stop;

/* Whatever a reader finds was there at some time: start, end and offset fit together. */
static void *reader(void *arg)
{
	uint64_t own = *(const uint64_t *)arg, wrong = 0;

	while (!wn_load(&stop)) {
		struct wn_map m;

		if (wn_map_find(&track, random_between(&own, 0, SPAN), &m))
			wrong += m.offset != m.start + 7 || m.end - m.start > 64;
		wn_map_may_overlap(&track, 100, 100);
		if (wn_map_find_offset(&track, 0, WN_ANY_OFFSET, &m))
			wrong += m.offset != m.start + 7;
	}
	return (void *)wrong;
}

TEST(readers_never_see_a_half_change)
{
	uint64_t seeds[3] = { 1, 2, 3 };
	pthread_t thread[3];

	reset();
	wn_store(&stop, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, reader, &seeds[i]), 0);
	for (int round = 0; round < 20000; round++) {
		uint64_t start = random_between(&seed, 0, SPAN / 64) * 64;
		struct wn_map m = { start, start + 64, start + 7, 0, 0, 0 };

		assert_true(wn_track_lock(&track, &lock));
		wn_map_remove(&track, start, 64);
		if (random_number(&seed) % 4) {
			m.file = take(1);
			assert_int_equal(wn_map_add(&track, &m), 0);
		}
		wn_track_unlock(&lock);
	}
	wn_store(&stop, 1);
	for (int i = 0; i < 3; i++) {
		void *wrong;

		pthread_join(thread[i], &wrong);
		assert_null(wrong);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_changes_agree_with_a_plain_model),
		cmocka_unit_test(a_hole_splits_and_both_ends_keep_their_offsets),
		cmocka_unit_test(a_full_table_refuses_and_forgets),
		cmocka_unit_test(a_length_that_wraps_does_no_harm),
		cmocka_unit_test(by_offset),
		cmocka_unit_test(random_advice_is_remembered),
		cmocka_unit_test(a_torn_table_is_emptied),
		cmocka_unit_test(a_held_lock_is_not_waited_for),
		cmocka_unit_test(readers_never_see_a_half_change),
	};

	return RUN(tests);
}

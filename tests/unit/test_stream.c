/* SPDX-License-Identifier: MIT */
/* stream.h: which accesses belong together. */
#include <string.h>

#include "stream.h"
#include "test.h"

static struct wn_streams streams;
static uint64_t now;
static int retired_count, retired_last;

static void retired(void *ctx, int index)
{
	(void)ctx;
	retired_count++;
	retired_last = index;
	streams.slot[index].live = false;
}

static void reset(void)
{
	memset(&streams, 0, sizeof(streams));
	now = 1000;
	retired_count = 0;
}

static int access_as(enum wn_access_kind kind, uint16_t file, uint32_t thread,
		     uint64_t offset, uint64_t length, unsigned flags)
{
	struct wn_access a = {
		offset, length, thread, file, (uint8_t)kind, (uint8_t)flags
	};

	return wn_stream_access(&streams, &a, 1, now++, retired, NULL);
}

static int begin(uint32_t thread, uint64_t offset, uint64_t length)
{
	return access_as(WN_ACCESS_BEGIN, 0, thread, offset, length, 0);
}

static int step(uint32_t thread, uint64_t offset, uint64_t length)
{
	return access_as(WN_ACCESS_STEP, 0, thread, offset, length, 0);
}

TEST(a_range_that_follows_continues)
{
	const struct wn_stream *p;
	int s;

	reset();
	s = begin(1, 0, 8 * MIB);
	p = &streams.slot[s];
	assert_int_equal(wn_stream_consumed(p), 0);
	assert_int_equal(p->end, 8 * MIB);
	assert_int_equal(step(1, 7 * MIB, MIB), s);
	assert_int_equal(p->pos, 7 * MIB);
	assert_int_equal(p->piece, MIB);
	assert_int_equal(begin(1, 8 * MIB, 8 * MIB), s);
	assert_int_equal(p->run, 8 * MIB);
	assert_int_equal(wn_stream_consumed(p), 8 * MIB);
	/* A header is skipped, or the last bytes are read twice. */
	assert_int_equal(begin(1, 16 * MIB + 100, 8 * MIB), s);
	assert_int_equal(begin(1, 24 * MIB, 8 * MIB), s);
	assert_true(p->pos >= p->begin && p->pos <= p->end);
	/* A jump is another stream, and the first one is still there. */
	assert_int_not_equal(begin(1, 500 * MIB, 8 * MIB), s);
	assert_int_equal(begin(1, 32 * MIB, 8 * MIB), s);
}

TEST(files_are_apart)
{
	int a, b;

	reset();
	a = access_as(WN_ACCESS_BEGIN, 1, 1, 0, MIB, 0);
	b = access_as(WN_ACCESS_BEGIN, 2, 1, MIB, MIB, 0);
	assert_int_not_equal(a, b);
	assert_int_equal(access_as(WN_ACCESS_STEP, 2, 1, MIB, MIB, 0), b);
	assert_int_equal(access_as(WN_ACCESS_STEP, 1, 1, MIB, MIB, 0), -1);
}

TEST(a_piece_of_no_range_is_nothing)
{
	reset();
	assert_int_equal(step(1, 0, MIB), -1);
	begin(1, MIB, MIB);
	assert_int_equal(step(1, 0, MIB), -1);
	assert_int_equal(step(1, 2 * MIB, MIB), -1);
}

TEST(the_same_thread_comes_first)
{
	int a, b;

	reset();
	a = begin(1, 0, 8 * MIB);
	b = begin(2, 100 * MIB, 8 * MIB);
	/* Both streams end at the same place now. */
	assert_int_equal(begin(2, 108 * MIB, 8 * MIB), b);
	streams.slot[a].begin = 108 * MIB;
	streams.slot[a].end = 116 * MIB;
	assert_int_equal(begin(2, 116 * MIB, 8 * MIB), b);
	assert_int_equal(begin(1, 116 * MIB, 8 * MIB), a);
	assert_int_equal(step(2, 117 * MIB, MIB), b);
	assert_int_equal(step(1, 117 * MIB, MIB), a);
}

TEST(threads_that_take_turns_share_a_stream)
{
	int s;

	reset();
	s = begin(1, 0, 4 * MIB);
	for (uint32_t i = 1; i < 20; i++) {
		step(1 + (i - 1) % 4, i * 4 * MIB - MIB, MIB);
		assert_int_equal(begin(1 + i % 4, i * 4 * MIB, 4 * MIB), s);
	}
	assert_int_equal(streams.used, 1);
	assert_int_equal(streams.slot[s].run, 19 * 4 * MIB);
}

/* A neighbour begins: the bytes that the first one has yet to read are not forgotten. */
TEST(a_range_that_is_being_read_is_not_taken_over)
{
	int s;

	reset();
	s = begin(1, 0, 16 * MIB);
	step(1, 0, MIB);
	assert_int_not_equal(begin(2, 16 * MIB, 16 * MIB), s);
	assert_int_equal(streams.slot[s].end, 16 * MIB);
	/* All of it has been asked for: the two are one sequence. */
	streams.slot[s].asked = 16 * MIB;
	streams.slot[1].live = false;
	assert_int_equal(begin(2, 16 * MIB, 16 * MIB), s);
}

TEST(threads_with_a_range_each_are_streams_each)
{
	int s[8];

	reset();
	for (uint32_t t = 0; t < 8; t++)
		s[t] = begin(t, t * GIB, 8 * MIB);
	for (uint64_t i = 1; i < 50; i++)
		for (uint32_t t = 0; t < 8; t++)
			assert_int_equal(begin(t, t * GIB + i * 8 * MIB, 8 * MIB), s[t]);
	assert_int_equal(streams.used, 8);
	assert_int_equal(retired_count, 0);
}

/* It has gone nowhere: that is no sequence, and nothing may be concluded from it. */
TEST(reading_the_same_range_again_is_no_progress)
{
	int s = -1;

	reset();
	for (int i = 0; i < 100; i++)
		s = begin(1, 0, 64 * KIB);
	assert_true(wn_stream_consumed(&streams.slot[s]) <= 64 * KIB);
}

TEST(exact_accesses_prove_nothing)
{
	int s;

	reset();
	for (uint64_t i = 0; i < 10; i++)
		s = access_as(WN_ACCESS_BEGIN, 0, 1, i * MIB, MIB, WN_ACCESS_EXACT);
	assert_int_equal(wn_stream_consumed(&streams.slot[s]), 0);
	assert_true(streams.slot[s].exact);
}

TEST(the_one_that_was_quiet_for_longest_makes_room)
{
	reset();
	for (uint64_t i = 0; i < WN_STREAMS; i++)
		begin(1, i * GIB, MIB);
	assert_int_equal(streams.used, WN_STREAMS);
	assert_int_equal(retired_count, 0);
	step(1, 0, MIB);
	assert_int_equal(begin(1, 999 * GIB, MIB), 1);
	assert_int_equal(retired_count, 1);
	assert_int_equal(retired_last, 1);
	assert_int_equal(streams.used, WN_STREAMS);
	streams.slot[70].live = false;
	assert_int_equal(begin(1, 998 * GIB, MIB), 70);
	assert_int_equal(retired_count, 1);
}

TEST(requests_are_nobodys_range)
{
	int s;

	reset();
	s = wn_stream_request(&streams, 0, 1, 0, GIB, now);
	assert_true(streams.slot[s].request);
	assert_int_equal(step(1, MIB, MIB), -1);
	assert_int_not_equal(begin(1, GIB, MIB), s);
	assert_int_equal(wn_stream_ahead(&streams.slot[s]), 0);
}

TEST(requests_wait_for_room)
{
	reset();
	for (uint64_t i = 0; i < WN_STREAMS; i++)
		begin(1, i * GIB, MIB);
	assert_false(wn_stream_room(&streams));
	assert_int_equal(wn_stream_request(&streams, 0, 1, 0, GIB, now), -1);
	assert_int_equal(retired_count, 0);
	streams.slot[9].live = false;
	assert_int_equal(wn_stream_request(&streams, 0, 1, 0, GIB, now), 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_that_follows_continues),
		cmocka_unit_test(files_are_apart),
		cmocka_unit_test(a_piece_of_no_range_is_nothing),
		cmocka_unit_test(the_same_thread_comes_first),
		cmocka_unit_test(threads_that_take_turns_share_a_stream),
		cmocka_unit_test(a_range_that_is_being_read_is_not_taken_over),
		cmocka_unit_test(threads_with_a_range_each_are_streams_each),
		cmocka_unit_test(reading_the_same_range_again_is_no_progress),
		cmocka_unit_test(exact_accesses_prove_nothing),
		cmocka_unit_test(the_one_that_was_quiet_for_longest_makes_room),
		cmocka_unit_test(requests_are_nobodys_range),
		cmocka_unit_test(requests_wait_for_room),
	};

	return RUN(tests);
}

/* SPDX-License-Identifier: MIT */
/* Walks of reads through a descriptor: which belong together, and when they are believed. */
#include "test.h"

#include "base/arena.h"
#include "walk.h"

#define P (16 * KIB)

static struct wn_walks t;
static int gone;
static uint64_t now;

static void retired(void *ctx, int index)
{
	(void)ctx;
	(void)index;
	gone++;
}

static void reset(void)
{
	t = (struct wn_walks){ 0 };
	gone = 0;
	now = 1000;
}

static struct wn_walk *take(uint64_t offset, uint64_t length, uint32_t thread, unsigned flags)
{
	struct wn_access a = {
		.offset = offset,
		.length = length,
		.thread = thread,
		.kind = WN_ACCESS_READ,
		.flags = (uint8_t)flags,
	};

	return &t.slot[wn_walk_read(&t, &a, 1, now++, retired, NULL)];
}

static int live(void)
{
	int n = 0;

	for (int i = 0; i < WN_WALKS; i++)
		n += t.slot[i].live;
	return n;
}

static bool order(const struct wn_walk *w, struct wn_order *o)
{
	return wn_walk_order(w, MIB, 128 * KIB, 64 * MIB, GIB, o);
}

/* Pieces in sequence from there on. */
static struct wn_walk *up(uint64_t from, int count, uint32_t thread)
{
	struct wn_walk *w = NULL;

	for (int i = 0; i < count; i++)
		w = take(from + (uint64_t)i * P, P, thread, WN_ACCESS_UP);
	return w;
}

static struct wn_walk *down(uint64_t from, int count, uint32_t thread)
{
	struct wn_walk *w = NULL;

	for (int i = 1; i <= count; i++)
		w = take(from - (uint64_t)i * P, P, thread, WN_ACCESS_DOWN);
	return w;
}

TEST(forward)
{
	struct wn_order o;
	struct wn_walk *w;

	reset();
	w = up(100 * MIB, 1, 1);
	assert_false(order(w, &o));
	w = up(100 * MIB + P, 127, 1);
	assert_int_equal(live(), 1);
	assert_false(w->down);
	assert_int_equal(w->passed, 128 * P);
	assert_int_equal(w->begin, 100 * MIB);
	assert_int_equal(w->pos, 102 * MIB - wn_page_size());
	assert_true(order(w, &o));
	/* The kernel reads what comes at once; never further than it has come. */
	assert_int_equal(o.from, w->pos + 128 * KIB);
	assert_int_equal(o.to, w->pos + 2 * MIB);
}

TEST(backward)
{
	struct wn_order o;
	struct wn_walk *w;

	reset();
	w = down(100 * MIB, 2, 1);
	assert_true(order(w, &o));
	assert_true(w->down);
	assert_int_equal(w->passed, 2 * P);
	assert_int_equal(w->begin, 100 * MIB);
	assert_int_equal(w->pos, 100 * MIB - 2 * P);
	w = down(100 * MIB - 2 * P, 62, 1);
	assert_int_equal(live(), 1);
	assert_true(order(w, &o));
	assert_int_equal(o.to, w->pos);
	assert_true(o.from < o.to && w->pos - o.from <= MIB);
}

TEST(never_further_ahead_than_it_has_come)
{
	for (int d = 0; d < 2; d++) {
		for (int count = 1; count < 2000; count += 13) {
			struct wn_walk *w;
			struct wn_order o;

			reset();
			w = d ? down(GIB, count, 1) : up(0, count, 1);
			while (order(w, &o)) {
				assert_true(o.from < o.to);
				w->edge = d ? o.from : o.to;
				w->asking = true;
			}
			assert_true(wn_walk_ahead(w) <= w->passed);
			assert_true(wn_walk_ahead(w) <= 64 * MIB);
		}
	}
}

/* Where no readahead of the kernel's goes before it, nothing is left to that. */
TEST(a_long_read_is_led_from_where_asking_ended)
{
	uint64_t page = wn_page_size(), at = page;
	struct wn_walk *w = NULL;
	struct wn_order o;

	reset();
	for (; at < 9 * MIB; at += 3 * MIB)
		w = take(at, 3 * MIB, 1, WN_ACCESS_UP | WN_ACCESS_LONG);
	w->alone = true;
	assert_true(wn_walk_order(w, MIB, page, 64 * MIB, GIB, &o));
	assert_int_equal(o.from, at);
	/* What was asked for ends in the read that has just begun: the rest is wanted first. */
	w->edge = at + 2 * MIB;
	w->asking = true;
	w = take(at, 3 * MIB, 1, WN_ACCESS_UP | WN_ACCESS_LONG);
	assert_true(wn_walk_order(w, MIB, page, 64 * MIB, GIB, &o));
	assert_int_equal(o.from, at + 2 * MIB);
	/* Or before it: then its thread has asked for all of it. */
	w->edge = at;
	assert_true(wn_walk_order(w, MIB, page, 64 * MIB, GIB, &o));
	assert_int_equal(o.from, at + 3 * MIB);
}

TEST(turning_round_is_believed_late)
{
	struct wn_walk *w;
	struct wn_order o;
	int turns = 0;

	reset();
	w = up(100 * MIB, 128, 1);
	w->asking = true;
	w->edge = w->pos + MIB;
	/* On the other side of what has been read. */
	while (!order(w, &o) || !w->down) {
		w = down(100 * MIB - (uint64_t)turns * P, 1, 1);
		assert_true(++turns < 12);
	}
	assert_int_equal(live(), 1);
	assert_true(turns > 2);
	assert_false(w->asking);
}

/* Each piece comes up to four places early or late. */
TEST(out_of_order)
{
	uint64_t seed = 11;

	for (int d = 0; d < 2; d++) {
		uint64_t place[256];
		struct wn_walk *w = NULL;
		struct wn_order o;

		reset();
		for (uint64_t i = 0; i < 256; i++)
			place[i] = i;
		for (uint64_t i = 0; i + 4 < 256; i++) {
			uint64_t other = i + random_between(&seed, 0, 5), was = place[i];

			place[i] = place[other];
			place[other] = was;
		}
		for (uint64_t i = 0; i < 256; i++)
			w = take(d ? GIB - (place[i] + 1) * P : place[i] * P, P, 1, 0);
		assert_int_equal(live(), 1);
		assert_int_equal(w->down, d);
		assert_int_equal(w->taken, 256 * P);
		assert_true(w->passed >= 250 * P);
		assert_true(order(w, &o));
	}
}

TEST(what_is_left_out_may_be_a_quarter)
{
	for (int skip = 3; skip <= 6; skip++) {
		struct wn_walk *w = NULL;
		struct wn_order o;

		reset();
		for (uint64_t i = 0; i < 256; i++)
			if (i % (uint64_t)skip)
				w = take(i * P, P, 1, 0);
		assert_int_equal(live(), 1);
		assert_int_equal(order(w, &o), skip > 3);
	}
}

TEST(a_constant_stride_is_not_dense)
{
	struct wn_walk *w = NULL;
	struct wn_order o;

	reset();
	for (uint64_t i = 0; i < 256; i++) {
		w = take(i * 8 * P, P, 1, 0);
		assert_false(order(w, &o));
	}
}

/* Then its pieces may be records a step apart; large ones need nobody who asks for them. */
TEST(gaps_are_seen_after_a_while)
{
	for (int large = 0; large < 2; large++) {
		uint64_t n = large ? MIB : P;
		int seen = 0;

		reset();
		for (uint64_t i = 0; i < 64; i++) {
			struct wn_walk *w = take(i * 3 * n, n, 1, 0);

			seen += wn_walk_leaves_gaps(&t, (int)(w - t.slot));
			assert_true(i >= 16 || !seen);
		}
		assert_int_equal(seen > 40, !large);
	}
	reset();
	for (uint64_t i = 0; i < 64; i++)
		assert_false(wn_walk_leaves_gaps(&t, (int)(take(i * P, P, 1, 0) - t.slot)));
}

TEST(random_reads_make_no_way)
{
	uint64_t seed = 5;
	struct wn_order o;

	reset();
	for (int i = 0; i < 5000; i++) {
		uint64_t at = random_between(&seed, 0, GIB / P) * P;

		assert_false(order(take(at, P, 1, 0), &o));
	}
	assert_true(gone > 0);
}

/* Reads of an index: near one another, to and fro. */
TEST(reads_in_one_place_make_no_way)
{
	uint64_t seed = 9;
	struct wn_order o;

	reset();
	for (int i = 0; i < 5000; i++) {
		uint64_t at = 500 * MIB + random_between(&seed, 0, 16) * P;
		struct wn_walk *w = take(at, P, 1, 0);

		/* All of it has been read soon, and then it never gets longer. */
		assert_true(w->passed <= 16 * P);
		if (order(w, &o)) {
			assert_true(o.from >= 500 * MIB - 16 * P);
			assert_true(o.to <= 500 * MIB + 32 * P);
		}
	}
	assert_int_equal(live(), 1);
}

TEST(threads_share_one_way)
{
	uint64_t seed = 3;
	struct wn_walk *w = NULL;
	struct wn_order o;

	reset();
	/* Each takes the next piece that is free; they are told of in any order. */
	for (uint64_t i = 0; i < 512; i += 4) {
		uint32_t first = (uint32_t)random_between(&seed, 0, 4);

		for (uint32_t k = 0; k < 4; k++) {
			uint32_t thread = (first + k) % 4;

			w = take((i + thread) * P, P, 1 + thread, 0);
		}
	}
	assert_int_equal(live(), 1);
	assert_false(w->down);
	assert_true(order(w, &o));
	assert_int_equal(w->passed, 512 * P);
}

TEST(threads_with_ranges_of_their_own)
{
	struct wn_order o;

	reset();
	for (uint64_t i = 0; i < 128; i++)
		for (uint32_t k = 0; k < 4; k++)
			take(k * 100 * MIB + i * P, P, 1 + k, i ? WN_ACCESS_UP : 0);
	assert_int_equal(live(), 4);
	for (int i = 0; i < 4; i++)
		assert_true(order(&t.slot[i], &o));
}

TEST(two_that_were_one)
{
	struct wn_walk *w;

	reset();
	/* Too far apart at first. */
	for (uint64_t i = 0; i < 8; i++)
		take(100 * MIB + i * P, P, 1, 0);
	for (uint64_t i = 0; i < 8; i++)
		take(101 * MIB + i * P, P, 2, 0);
	assert_int_equal(live(), 2);
	w = NULL;
	for (uint64_t i = 8; i < 68; i++)
		w = take(100 * MIB + i * P, P, 1, 0);
	assert_int_equal(live(), 1);
	assert_int_equal(gone, 1);
	assert_int_equal(w->low, 100 * MIB);
	assert_int_equal(w->high, 101 * MIB + 8 * P);
	/* What was read twice counts twice; it is dense in any case. */
	assert_true(w->taken >= MIB + 8 * P);
}

/* Another thread that reads the same again has a way of its own, and is not led into ours. */
TEST(a_second_reader_of_the_same)
{
	struct wn_walk *first, *second;

	reset();
	first = up(100 * MIB, 128, 1);
	second = up(100 * MIB, 32, 2);
	assert_ptr_not_equal(first, second);
	assert_int_equal(live(), 2);
	assert_int_equal(first->passed, 2 * MIB);
	/* Where ours began it cannot be told from it. */
	assert_in_range(second->passed, 128 * KIB, 512 * KIB);
}

TEST(a_second_pass)
{
	struct wn_walk *w;
	struct wn_order o;

	reset();
	up(100 * MIB, 1024, 1);
	w = up(100 * MIB, 128, 1);
	assert_in_range(w->low, 100 * MIB, 100 * MIB + 512 * KIB);
	assert_int_equal(w->high, 102 * MIB);
	assert_true(order(w, &o));
}

/* Many threads with large pieces keep the device busy: nobody helps them. */
TEST(a_crowd_is_left_alone)
{
	struct wn_walk *w = NULL;
	struct wn_order o;

	reset();
	for (uint64_t i = 0; i < 64; i++)
		w = take(i * MIB, MIB, 1 + (uint32_t)i % 4, 0);
	assert_false(order(w, &o));
	/* When one goes on by itself, it is helped again. */
	for (uint64_t i = 64; i < 96; i++)
		w = take(i * MIB, MIB, 1, WN_ACCESS_UP);
	assert_true(order(w, &o));
	/* Small pieces are no crowd. */
	reset();
	for (uint64_t i = 0; i < 256; i++)
		w = take(i * P, P, 1 + (uint32_t)i % 4, 0);
	assert_true(order(w, &o));
}

TEST(files_and_faults_are_apart)
{
	struct wn_access a = {
		.offset = MIB, .length = P, .thread = 1, .kind = WN_ACCESS_READ, .flags = WN_ACCESS_UP
	};
	struct wn_gaps gaps = { .major = MIB, .minor = MIB };
	bool joined;
	int i, j;

	reset();
	i = wn_walk_read(&t, &a, 1, now++, retired, NULL);
	a.offset += P;
	assert_int_equal(wn_walk_read(&t, &a, 1, now++, retired, NULL), i);
	a.file = 7;
	assert_int_not_equal(wn_walk_read(&t, &a, 1, now++, retired, NULL), i);
	a.file = 0;
	/* The slot has been given to another file. */
	assert_int_not_equal(wn_walk_read(&t, &a, 2, now++, retired, NULL), i);
	a.kind = WN_ACCESS_FAULT;
	a.flags = WN_ACCESS_FAULTED;
	j = wn_walk_fault(&t, &a, &gaps, 1, now++, &joined, retired, NULL);
	assert_false(joined);
	assert_int_not_equal(j, i);
	a.kind = WN_ACCESS_READ;
	a.offset += P;
	a.flags = WN_ACCESS_UP;
	assert_int_equal(wn_walk_read(&t, &a, 1, now++, retired, NULL), i);
}

TEST(more_ways_than_there_is_room_for)
{
	reset();
	for (uint64_t i = 0; i < 4 * WN_WALKS; i++)
		up(i * 100 * MIB, 8, 1 + (uint32_t)i);
	assert_int_equal(live(), WN_WALKS);
	assert_int_equal(gone, 3 * WN_WALKS);
}

/* Whoever read 512 KiB of each place will do so again: nothing behind that is asked for. */
TEST(the_usual_length)
{
	struct wn_walk *w;
	struct wn_order o;

	reset();
	up(100 * MIB, 32, 1);
	for (int i = 1; i < 32; i++) {
		w = down(300 * MIB, i, 1);
		if (order(w, &o))
			assert_true(o.from >= 300 * MIB - 512 * KIB);
		t = (struct wn_walks){ 0 };
		up(100 * MIB, 32, 1);
	}
	/* Once it is past that, the length tells nothing. */
	w = down(300 * MIB, 128, 1);
	assert_true(order(w, &o));
	assert_true(300 * MIB - w->passed - o.from <= w->passed - 512 * KIB);
	/* Other threads have no habits of this one. */
	reset();
	up(100 * MIB, 32, 1);
	w = down(300 * MIB, 24, 2);
	assert_int_equal(w->habit, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forward),
		cmocka_unit_test(backward),
		cmocka_unit_test(never_further_ahead_than_it_has_come),
		cmocka_unit_test(a_long_read_is_led_from_where_asking_ended),
		cmocka_unit_test(turning_round_is_believed_late),
		cmocka_unit_test(out_of_order),
		cmocka_unit_test(what_is_left_out_may_be_a_quarter),
		cmocka_unit_test(a_constant_stride_is_not_dense),
		cmocka_unit_test(gaps_are_seen_after_a_while),
		cmocka_unit_test(random_reads_make_no_way),
		cmocka_unit_test(reads_in_one_place_make_no_way),
		cmocka_unit_test(threads_share_one_way),
		cmocka_unit_test(threads_with_ranges_of_their_own),
		cmocka_unit_test(two_that_were_one),
		cmocka_unit_test(a_second_reader_of_the_same),
		cmocka_unit_test(a_second_pass),
		cmocka_unit_test(a_crowd_is_left_alone),
		cmocka_unit_test(files_and_faults_are_apart),
		cmocka_unit_test(the_usual_length),
		cmocka_unit_test(more_ways_than_there_is_room_for),
	};

	return RUN(tests);
}

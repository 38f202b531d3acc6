/* SPDX-License-Identifier: MIT */
/* Which files are fetched as a whole, what of them, and when that ends. */
#include "test.h"

#include <stdlib.h>

#include "base/mem.h"
#include "whole.h"

#define REGION (2 * MIB)
#define TENSOR (16 * MIB)

static struct wn_wholes t;
static int gone;

static void retired(void *ctx, int index)
{
	(void)ctx;
	(void)index;
	gone++;
}

static struct wn_whole *meet(uint16_t file, uint64_t size)
{
	static uint64_t now = 1000;

	return wn_whole_meet(&t, file, 1, size, now++, retired, NULL);
}

static struct wn_whole *fresh(uint64_t size)
{
	t = (struct wn_wholes){ 0 };
	gone = 0;
	return meet(3, size);
}

/*
 * One thread reads a tensor in steps, after a few faults that are of no way yet; they are
 * major ones where nothing has been fetched.
 */
static void read_tensor(struct wn_whole *w, uint32_t thread, uint64_t at)
{
	for (int i = 0; i < 4; i++)
		wn_whole_stray(w, at + (uint64_t)i * 64 * KIB, !w->fetching);
	for (uint64_t to = at; to < at + TENSOR; to += MIB)
		wn_whole_passed(w, thread, to, to + MIB, 2000);
}

/* Tensors in an order that goes through all of them, up and down: how many it took. */
static unsigned read_shuffled(struct wn_whole *w, uint64_t tensors, uint64_t step,
			      uint32_t threads, unsigned most)
{
	unsigned n = 0;

	while (n < most && !wn_whole_proven(w)) {
		read_tensor(w, 100 + n % threads, n * step % tensors * TENSOR);
		n++;
	}
	return n;
}

static void all_asked(struct wn_whole *w, uint64_t unit)
{
	struct wn_order o;

	w->fetching = true;
	while (wn_whole_order(w, unit, UINT64_MAX, &o)) {
		assert_true(o.from < o.to && o.to <= w->size);
		assert_true(o.to + o.slack <= w->size);
		assert_true(o.to - o.from <= wn_max(4 * unit, REGION));
		wn_whole_asked(w, o.from, o.to);
	}
}

TEST(tensors_in_shuffled_order_are_proof)
{
	struct wn_whole *w = fresh(GIB);
	unsigned n = read_shuffled(w, 64, 27, 8, 64);

	assert_true(wn_whole_proven(w));
	/* As many ways as there are threads prove nothing, and all of the file is too late. */
	assert_true(n > 8 && n <= 20);
}

TEST(one_thread_that_jumps_is_proof)
{
	struct wn_whole *w = fresh(GIB);

	assert_true(read_shuffled(w, 64, 27, 1, 64) <= 12);
	assert_true(wn_whole_proven(w));
}

TEST(simple_orders_are_none)
{
	struct wn_whole *w = fresh(GIB);

	/* Forward by one, then by eight in a range each. */
	for (uint64_t i = 0; i < 64; i++) {
		read_tensor(w, 100, i * TENSOR);
		assert_false(wn_whole_proven(w));
	}
	w = fresh(GIB);
	for (uint64_t i = 0; i < 64; i++) {
		read_tensor(w, (uint32_t)(100 + i % 8), (i * 3 % 8 * 8 + i / 8) * TENSOR);
		assert_false(wn_whole_proven(w));
	}
	/* Forward with gaps, which nobody is going to read. */
	w = fresh(GIB);
	for (uint64_t i = 0; i < 32; i++) {
		read_tensor(w, 100, i * 2 * TENSOR);
		assert_false(wn_whole_proven(w));
	}
}

TEST(single_pages_are_none)
{
	struct wn_whole *w = fresh(GIB);
	uint32_t r = 1;

	for (int i = 0; i < 100000; i++) {
		r = r * 1664525 + 1013904223;
		wn_whole_stray(w, r % (GIB / 4096) * 4096, true);
		/* And now and then some that happen to look like a way. */
		if (i % 100 == 0)
			wn_whole_passed(w, 100, r % (GIB / 4096) * 4096,
					r % (GIB / 4096) * 4096 + 512 * KIB, 2000);
		assert_false(wn_whole_proven(w));
	}
}

TEST(a_small_part_of_a_large_file_is_none)
{
	struct wn_whole *w = fresh(16 * GIB);

	/* 1/16 of it, and still all over it. */
	assert_int_equal(read_shuffled(w, 1024, 389, 8, 64), 64);
	assert_false(wn_whole_proven(w));
	assert_int_equal(wn_whole_ahead(w), 0);
}

TEST(what_nobody_has_read_is_asked_for_once)
{
	struct wn_whole *w = fresh(GIB);
	uint64_t unread;

	read_shuffled(w, 64, 27, 8, 64);
	unread = wn_whole_unread(w);
	assert_true(unread > GIB / 2);
	all_asked(w, 4 * MIB);
	assert_int_equal(wn_whole_ahead(w), unread);
	for (uint64_t i = 0; i < 64; i++)
		read_tensor(w, 100, i * TENSOR);
	assert_int_equal(wn_whole_ahead(w), wn_whole_unread(w));
	assert_true(wn_whole_pays(w));
}

TEST(only_between_places_that_were_read)
{
	struct wn_whole *w = fresh(2 * GIB);
	struct wn_order o;

	for (uint64_t i = 0; i < 12; i++)
		read_tensor(w, 100, GIB + i * 7 % 16 * TENSOR);
	assert_true(wn_whole_order(w, 4 * MIB, UINT64_MAX, &o));
	assert_true(o.from >= GIB);
	all_asked(w, 4 * MIB);
	assert_true(w->edge <= GIB + 16 * TENSOR);
	/* Before all others: it is not forgotten. */
	read_tensor(w, 100, GIB - 4 * TENSOR);
	assert_true(wn_whole_order(w, 4 * MIB, UINT64_MAX, &o));
	assert_int_equal(o.from, GIB - 3 * TENSOR);
}

TEST(no_more_than_may_wait)
{
	struct wn_whole *w = fresh(GIB);
	struct wn_order o;

	read_shuffled(w, 64, 27, 8, 64);
	/* Less than a window is left for later, where more can be had. */
	assert_false(wn_whole_order(w, 4 * MIB, 4 * MIB - 1, &o));
	assert_true(wn_whole_order(w, 4 * MIB, 5 * MIB, &o));
	assert_int_equal(o.to - o.from, 4 * MIB);
	assert_true(wn_whole_order(w, 256 * KIB, REGION, &o));
	assert_int_equal(o.to - o.from, REGION);
}

TEST(it_ends_when_it_is_not_used)
{
	struct wn_whole *w = fresh(GIB);

	read_shuffled(w, 64, 27, 8, 64);
	w->fetching = true;
	/* The lower half is fetched, and only the upper one read. */
	for (uint64_t at = 0; at < GIB / 2; at += REGION)
		wn_whole_asked(w, at, at + REGION);
	for (uint64_t i = 32; i < 64; i++)
		read_tensor(w, 100, i * TENSOR);
	assert_false(wn_whole_pays(w));
}

TEST(it_ends_when_it_is_evicted)
{
	struct wn_whole *w = fresh(GIB);

	read_shuffled(w, 64, 27, 8, 64);
	all_asked(w, 4 * MIB);
	for (int i = 0; i < 31; i++)
		wn_whole_stray(w, w->low * REGION + TENSOR + (uint64_t)i * REGION, true);
	assert_true(wn_whole_pays(w));
	for (uint64_t i = 0; i < 256; i++)
		wn_whole_stray(w, i * REGION, true);
	assert_false(wn_whole_pays(w));
}

TEST(few_files_are_looked_at)
{
	struct wn_whole *w = fresh(31 * MIB);

	assert_null(w);
	for (uint16_t i = 0; i < WN_WHOLES; i++)
		assert_non_null(meet(i, GIB));
	assert_int_equal(gone, 0);
	assert_non_null(meet(100, GIB));
	assert_int_equal(gone, 1);
	assert_null(wn_whole_of(&t, 0, 1));
	assert_non_null(wn_whole_of(&t, 1, 1));
	assert_null(wn_whole_of(&t, 1, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tensors_in_shuffled_order_are_proof),
		cmocka_unit_test(one_thread_that_jumps_is_proof),
		cmocka_unit_test(simple_orders_are_none),
		cmocka_unit_test(single_pages_are_none),
		cmocka_unit_test(a_small_part_of_a_large_file_is_none),
		cmocka_unit_test(what_nobody_has_read_is_asked_for_once),
		cmocka_unit_test(only_between_places_that_were_read),
		cmocka_unit_test(no_more_than_may_wait),
		cmocka_unit_test(it_ends_when_it_is_not_used),
		cmocka_unit_test(it_ends_when_it_is_evicted),
		cmocka_unit_test(few_files_are_looked_at),
	};

	return RUN(tests);
}

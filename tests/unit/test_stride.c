/* SPDX-License-Identifier: MIT */
/* Which faults make a stride, and which records are asked for ahead of one. */
#include "test.h"

#include <stdlib.h>

#include "stride.h"

static struct wn_strides t;

static struct wn_stride *fault(uint64_t offset, uint32_t thread, bool major)
{
	struct wn_access a = {
		.offset = offset,
		.length = 4096,
		.thread = thread,
		.kind = WN_ACCESS_FAULT,
		.flags = major ? WN_ACCESS_FAULTED : 0,
	};
	static uint64_t now = 1000;

	return wn_stride_fault(&t, &a, 128 * KIB, 1, now++);
}

static struct wn_stride *steps(uint64_t from, int64_t step, int count)
{
	struct wn_stride *s = NULL;

	for (int i = 0; i < count; i++)
		s = fault(from + (uint64_t)(i * step), 1, true);
	return s;
}

/* How many records are asked for now, each where it should be. */
static unsigned ask(struct wn_stride *s, uint64_t most, uint64_t size)
{
	uint64_t at = s->last;
	struct wn_order o;
	unsigned n = 0;

	while (wn_stride_order(s, most, size, &o)) {
		at += (uint64_t)s->step;
		if (!n)
			at = o.from;
		assert_int_equal(o.from, at);
		assert_true(o.to <= o.from + s->length && o.to <= size);
		n++;
	}
	return n;
}

TEST(equal_steps_make_a_stride)
{
	struct wn_stride *s;

	t = (struct wn_strides){ 0 };
	assert_null(steps(10 * MIB, MIB, 4));
	s = fault(14 * MIB, 1, true);
	assert_non_null(s);
	assert_int_equal(s->length, 4096);
	/* As many as have been read, then one for each. */
	assert_int_equal(ask(s, 64 * MIB, GIB), 4);
	assert_int_equal(s->edge, 18 * MIB);
	assert_ptr_equal(fault(15 * MIB, 1, false), s);
	assert_int_equal(ask(s, 64 * MIB, GIB), 2);
	assert_int_equal(ask(s, 64 * MIB, GIB), 0);
	/* Faults that were not seen. */
	assert_ptr_equal(fault(18 * MIB, 1, false), s);
	assert_int_equal(s->last, 18 * MIB);
}

TEST(downward_and_to_the_ends_of_the_file)
{
	struct wn_stride *s;

	t = (struct wn_strides){ 0 };
	s = steps(10 * MIB, -(int64_t)MIB, 8);
	assert_non_null(s);
	assert_int_equal(ask(s, 64 * MIB, GIB), 3);
	assert_int_equal(s->edge, 0);
	t = (struct wn_strides){ 0 };
	s = steps(10 * MIB, MIB, 8);
	assert_int_equal(ask(s, 64 * MIB, 20 * MIB + 5), 3);
	assert_int_equal(s->edge, 20 * MIB);
}

TEST(never_more_than_allowed)
{
	struct wn_stride *s;

	t = (struct wn_strides){ 0 };
	s = steps(0, MIB, 200);
	assert_int_equal(ask(s, 64 * MIB, GIB), WN_STRIDE_AHEAD);
	t = (struct wn_strides){ 0 };
	s = steps(0, MIB, 200);
	assert_int_equal(ask(s, 5 * 4096, GIB), 5);
	assert_int_equal(ask(s, 0, GIB), 0);
}

/* Records of 16 pages: a few faults inside of one show it. */
TEST(records_show_their_length)
{
	struct wn_stride *s;
	unsigned faults = 0;

	t = (struct wn_strides){ 0 };
	s = steps(0, 512 * KIB, 5);
	for (uint64_t page = 1; page < 16; page++) {
		if (page * 4096 < s->length)
			continue;
		assert_ptr_equal(fault(s->last + page * 4096, 1, true), s);
		faults++;
	}
	assert_int_equal(s->length, 64 * KIB);
	assert_true(faults <= 4);
	/* Nearly everything is read: that is a walk's. */
	assert_null(fault(s->last + 300 * KIB, 1, true));
}

TEST(random_pages_are_no_stride)
{
	uint64_t seed = 7;

	t = (struct wn_strides){ 0 };
	for (int i = 0; i < 100000; i++)
		assert_null(fault(random_number(&seed) % 2048 * 512 * KIB, 1 + (uint32_t)i % 3, true));
}

TEST(walks_are_no_strides)
{
	t = (struct wn_strides){ 0 };
	for (int i = 0; i < 1000; i++)
		assert_null(fault(500 * MIB - (uint64_t)i * 68 * KIB, 1, true));
	for (int i = 0; i < 1000; i++)
		assert_null(fault(500 * MIB + (uint64_t)i * 4 * KIB, 2, true));
}

TEST(threads_have_their_own)
{
	t = (struct wn_strides){ 0 };
	for (uint64_t i = 0; i < 4; i++)
		for (uint32_t thread = 1; thread < 5; thread++)
			assert_null(fault(thread * 100 * MIB + i * MIB, thread, true));
	for (uint32_t thread = 1; thread < 5; thread++)
		assert_non_null(fault(thread * 100 * MIB + 4 * MIB, thread, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_steps_make_a_stride),
		cmocka_unit_test(downward_and_to_the_ends_of_the_file),
		cmocka_unit_test(never_more_than_allowed),
		cmocka_unit_test(records_show_their_length),
		cmocka_unit_test(random_pages_are_no_stride),
		cmocka_unit_test(walks_are_no_strides),
		cmocka_unit_test(threads_have_their_own),
	};

	return RUN(tests);
}

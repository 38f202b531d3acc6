/* SPDX-License-Identifier: MIT */
/* ring.h: order, wrapping, losing the oldest, dead writers, and many threads at once. */
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "ring.h"
#include "test.h"

static struct wn_ring ring;
static uint64_t lost;

static void reset(void)
{
	memset(&ring, 0, sizeof(ring));
	lost = 0;
}

static void push(uint64_t v)
{
	struct wn_access a = {
		.offset = v, .length = ~v, .thread = (uint32_t)v, .file = 3
	};

	wn_ring_push(&ring, &a);
}

static bool pop(uint64_t *v, uint64_t now)
{
	struct wn_access a;

	if (!wn_ring_pop(&ring, &a, now, &lost))
		return false;
	assert_int_equal(a.length, ~a.offset);
	assert_int_equal(a.file, 3);
	*v = a.offset;
	return true;
}

TEST(first_in_first_out)
{
	uint64_t v, next = 0;

	reset();
	assert_true(wn_ring_empty(&ring));
	assert_false(pop(&v, 1));
	for (uint64_t i = 0; i < 5 * WN_RING_SLOTS; i++) {
		push(i);
		if (i % 3)
			continue;
		while (pop(&v, 1))
			assert_int_equal(v, next++);
	}
	while (pop(&v, 1))
		assert_int_equal(v, next++);
	assert_int_equal(next, 5 * WN_RING_SLOTS);
	assert_int_equal(lost, 0);
	assert_true(wn_ring_empty(&ring));
}

TEST(a_reader_that_is_behind_loses_the_oldest)
{
	uint64_t v, got = 0, last = 0, total = 3 * WN_RING_SLOTS + 17;

	reset();
	for (uint64_t i = 1; i <= total; i++)
		push(i);
	while (pop(&v, 1)) {
		assert_true(v > last);
		last = v;
		got++;
	}
	assert_int_equal(last, total);
	assert_int_equal(got + lost, total);
	assert_true(got >= WN_RING_SLOTS / 2);
}

/* A writer that took a number and stopped: its record is passed over after a while. */
TEST(a_stuck_writer_costs_its_own_record)
{
	uint64_t v;

	reset();
	push(1);
	ring.head++;
	push(3);
	assert_true(pop(&v, 1000));
	assert_int_equal(v, 1);
	assert_false(pop(&v, 2000));
	assert_false(pop(&v, 2000 + MS_NS));
	assert_int_equal(lost, 0);
	assert_true(pop(&v, 2000 + 10 * MS_NS));
	assert_int_equal(v, 3);
	assert_int_equal(lost, 1);
	/* When it comes to life again, nothing of it is taken for a newer record. */
	ring.slot[1].word[0] = 77;
	ring.slot[1].stamp = 2;
	assert_false(pop(&v, 3000 + 10 * MS_NS));
	push(4);
	assert_true(pop(&v, 3000 + 10 * MS_NS));
	assert_int_equal(v, 4);
}

/* The patience for one half-written record is not what another one has used up. */
TEST(patience_begins_anew_after_a_lap)
{
	uint64_t v = 0;

	reset();
	ring.head++;
	assert_false(pop(&v, 1000));
	for (uint64_t i = 2; i <= WN_RING_SLOTS + WN_RING_SLOTS / 2 - 1; i++)
		push(i);
	/* Lapped; and the record that the reader goes on with is half written. */
	ring.slot[(ring.head + 1 - WN_RING_SLOTS / 2) % WN_RING_SLOTS].stamp = 0;
	push(5000);
	assert_false(pop(&v, 1000 + 100 * MS_NS));
	assert_true(pop(&v, 1000 + 200 * MS_NS));
}

enum { WRITERS = 4, EACH = 20000 };

static void *writer(void *arg)
{
	uint64_t base = (uint64_t)arg * EACH;

	for (uint64_t i = 0; i < EACH; i++)
		push(base + i);
	return NULL;
}

TEST(many_writers_one_reader)
{
	uint64_t last[WRITERS] = { 0 }, got = 0, v;
	pthread_t thread[WRITERS];

	reset();
	for (uintptr_t i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, writer, (void *)i), 0);
	for (uint64_t now = 1; got + lost < WRITERS * EACH; now++) {
		struct wn_access a;

		/* While writers lap the reader, a record may be torn. */
		if (!wn_ring_pop(&ring, &a, now * 1000, &lost))
			continue;
		got++;
		v = a.offset;
		if (a.length != ~v || v / EACH >= WRITERS)
			continue;
		assert_true(v % EACH >= last[v / EACH]);
		last[v / EACH] = v % EACH;
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(got + lost, WRITERS * EACH);
	assert_true(wn_ring_empty(&ring));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_in_first_out),
		cmocka_unit_test(a_reader_that_is_behind_loses_the_oldest),
		cmocka_unit_test(a_stuck_writer_costs_its_own_record),
		cmocka_unit_test(patience_begins_anew_after_a_lap),
		cmocka_unit_test(many_writers_one_reader),
	};

	return RUN(tests);
}

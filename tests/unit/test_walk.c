/* SPDX-License-Identifier: MIT */
/* Which faults make a walk, and what is asked for ahead of one. */
#include "test.h"

#include "base/arena.h"
#include "walk.h"

#define GAPS (&(struct wn_gaps){ .major = 256 * KIB, .minor = 256 * KIB })

static struct wn_walks t;
static int gone;

static void retired(void *ctx, int index)
{
	(void)ctx;
	(void)index;
	gone++;
}

static int fault_at(uint64_t offset, uint32_t thread, bool major, bool *joined)
{
	struct wn_access a = {
		.offset = offset,
		.length = 4096,
		.thread = thread,
		.kind = WN_ACCESS_FAULT,
		.flags = major ? WN_ACCESS_FAULTED : 0,
	};
	static uint64_t now = 1000;

	return wn_walk_fault(&t, &a, GAPS, 1, now++, joined, retired, NULL);
}

static void reset(void)
{
	t = (struct wn_walks){ 0 };
	gone = 0;
}

static int walk_down(uint64_t from, int count, uint64_t step)
{
	bool joined;
	int i = -1;

	for (int n = 0; n < count; n++)
		i = fault_at(from - (uint64_t)n * step, 1, true, &joined);
	return i;
}

TEST(even_steps_make_a_walk_soon)
{
	struct wn_order o;
	int i;

	reset();
	i = walk_down(512 * MIB, 3, 68 * KIB);
	assert_false(wn_walk_order(&t.slot[i], MIB, 128 * KIB, 64 * MIB, GIB, &o));
	reset();
	i = walk_down(512 * MIB, 4, 68 * KIB);
	assert_true(t.slot[i].down);
	assert_int_equal(t.slot[i].passed, 3 * 68 * KIB);
	assert_true(wn_walk_order(&t.slot[i], MIB, 128 * KIB, 64 * MIB, GIB, &o));
	assert_int_equal(o.to, t.slot[i].pos);
	/* Less than the engine's unit would mean that memory is tight, and forbid a ride. */
	assert_int_equal(o.unit, MIB);
	assert_true(o.from >= o.to - 128 * KIB);
}

TEST(neighbours_make_one_sooner)
{
	struct wn_order o;
	int i;

	reset();
	i = walk_down(512 * MIB, 2, 4 * KIB);
	assert_false(wn_walk_order(&t.slot[i], MIB, 128 * KIB, 64 * MIB, GIB, &o));
	reset();
	i = walk_down(512 * MIB, 3, 4 * KIB);
	assert_true(wn_walk_order(&t.slot[i], MIB, 128 * KIB, 64 * MIB, GIB, &o));
}

TEST(never_further_ahead_than_it_has_come)
{
	struct wn_walk *w;
	struct wn_order o;

	for (int count = 5; count < 3000; count += 7) {
		reset();
		w = &t.slot[walk_down(900 * MIB, count, 64 * KIB)];
		while (wn_walk_order(w, MIB, 128 * KIB, 64 * MIB, GIB, &o)) {
			w->edge = o.from;
			w->asking = true;
			assert_true(o.from < o.to);
		}
		assert_true(wn_walk_ahead(w) <= w->passed || wn_walk_ahead(w) <= 128 * KIB);
		/* Its reader is a step further than it was seen. */
		assert_true(wn_walk_ahead(w) <= 64 * MIB + w->stride);
		assert_true(wn_walk_ahead(w) > 0);
	}
}

TEST(it_ends_at_the_ends_of_the_file)
{
	struct wn_walk w = { .live = true, .steps = 9, .pos = MIB, .passed = GIB, .down = true };
	struct wn_order o;

	assert_true(wn_walk_order(&w, MIB, 128 * KIB, 64 * MIB, 2 * GIB, &o));
	assert_int_equal(o.from, 0);
	w = (struct wn_walk){ .live = true, .steps = 9, .pos = GIB - 3 * MIB, .passed = GIB };
	assert_true(wn_walk_order(&w, MIB, 128 * KIB, 64 * MIB, GIB - 100, &o));
	assert_int_equal(o.to, GIB - 100);
	w.asking = true;
	w.edge = GIB - 100;
	assert_false(wn_walk_order(&w, MIB, 128 * KIB, 64 * MIB, GIB - 100, &o));
}

TEST(pages_far_apart_are_no_walk)
{
	bool joined;

	reset();
	for (uint64_t n = 0; n < 200; n++) {
		int i = fault_at(n * MIB, 1, true, &joined);

		assert_false(joined);
		assert_int_equal(t.slot[i].steps, 0);
	}
	assert_true(gone > 0);
}

TEST(threads_do_not_begin_a_walk_together)
{
	bool joined;

	reset();
	fault_at(100 * MIB, 1, true, &joined);
	fault_at(100 * MIB - 64 * KIB, 2, true, &joined);
	assert_false(joined);
	/* But one that is under way may be taken on by another thread. */
	fault_at(100 * MIB - 128 * KIB, 2, true, &joined);
	fault_at(100 * MIB - 192 * KIB, 2, true, &joined);
	fault_at(100 * MIB - 256 * KIB, 2, true, &joined);
	fault_at(100 * MIB - 320 * KIB, 3, true, &joined);
	assert_true(joined);
}

TEST(a_doubted_walk_needs_dozens_of_pages)
{
	struct wn_access a = {
		.length = 4096,
		.thread = 1,
		.flags = WN_ACCESS_FAULTED | WN_ACCESS_EXACT,
	};
	struct wn_gaps one = { .major = 4096, .minor = 64 * KIB };
	struct wn_order o;
	bool joined;
	int pages = 0, i;

	reset();
	do {
		a.offset = 512 * MIB - 4096 * (uint64_t)pages++;
		i = wn_walk_fault(&t, &a, &one, 1, 1, &joined, retired, NULL);
	} while (!wn_walk_order(&t.slot[i], MIB, 128 * KIB, 64 * MIB, GIB, &o));
	assert_in_range(pages, 36, 100);
	/* A page left out, and it begins anew. */
	a.offset -= 3 * 4096;
	i = wn_walk_fault(&t, &a, &one, 1, 1, &joined, retired, NULL);
	assert_false(joined);
}

TEST(to_and_fro_is_no_walk)
{
	struct wn_access a = { .length = 4096, .thread = 1, .flags = WN_ACCESS_FAULTED };
	struct wn_gaps wide = { .major = 2 * MIB, .minor = 2 * MIB };
	struct wn_order o;
	struct wn_walk *w;
	bool joined;

	reset();
	w = &t.slot[walk_down(512 * MIB, 3, 100 * KIB)];
	for (uint64_t n = 1; n <= 20; n++) {
		a.offset = 512 * MIB + (n % 2 ? MIB : 0);
		wn_walk_fault(&t, &a, &wide, 1, n, &joined, retired, NULL);
	}
	assert_true(w->passed <= 2 * MIB);
	assert_false(wn_walk_order(w, MIB, 128 * KIB, 64 * MIB, GIB, &o));
}

TEST(turning_round_is_not_progress)
{
	bool joined;
	int i;

	reset();
	i = walk_down(512 * MIB, 5, 64 * KIB);
	fault_at(512 * MIB - 128 * KIB, 1, true, &joined);
	assert_int_equal(t.slot[i].passed, 4 * 64 * KIB);
	assert_int_equal(t.slot[i].pos, 512 * MIB - 256 * KIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(even_steps_make_a_walk_soon),
		cmocka_unit_test(neighbours_make_one_sooner),
		cmocka_unit_test(never_further_ahead_than_it_has_come),
		cmocka_unit_test(it_ends_at_the_ends_of_the_file),
		cmocka_unit_test(pages_far_apart_are_no_walk),
		cmocka_unit_test(threads_do_not_begin_a_walk_together),
		cmocka_unit_test(a_doubted_walk_needs_dozens_of_pages),
		cmocka_unit_test(to_and_fro_is_no_walk),
		cmocka_unit_test(turning_round_is_not_progress),
	};

	return RUN(tests);
}

/* SPDX-License-Identifier: MIT */
/* policy.h: how far ahead, and never further than the evidence and the budget allow. */
#include <string.h>

#include "policy.h"
#include "test.h"

#define UNIT ((uint64_t)MIB)

static struct wn_options options;
static struct wn_policy policy;
static struct wn_stream stream;
static struct wn_bounds bounds;
static uint64_t denied, seed = 99;

static void reset(void)
{
	wn_options_defaults(&options);
	policy = (struct wn_policy){ .budget = 1024 * MIB };
	bounds = (struct wn_bounds){ .unit = UNIT, .file_size = 64 * GIB, .streams = 1 };
	denied = 0;
	stream = (struct wn_stream){ .live = true, .end = 8 * MIB };
}

static bool order(struct wn_order *o)
{
	bounds.ahead = wn_stream_ahead(&stream);
	return wn_policy_order(&policy, &options, &stream, &bounds, o, &denied);
}

/* Takes orders until there are no more: up to where the kernel may have been asked. */
static uint64_t serve(void)
{
	uint64_t furthest = stream.asked;
	struct wn_order o;

	for (int i = 0; order(&o); i++) {
		assert_true(i < 10000);
		assert_true(o.from < o.to);
		assert_true(o.from >= stream.asked);
		stream.asked = o.to;
		if (o.to + o.slack > furthest)
			furthest = o.to + o.slack;
	}
	return furthest;
}

TEST(what_is_certain_is_asked_for_and_nothing_else)
{
	reset();
	assert_int_equal(serve(), 8 * MIB);
	assert_int_equal(stream.asked, 8 * MIB);
	assert_int_equal(denied, 0);
}

TEST(a_range_longer_than_the_window_comes_in_parts)
{
	uint64_t window;

	reset();
	window = options.value[WN_OPT_WINDOW];
	stream.end = 10 * GIB;
	serve();
	assert_true(stream.asked <= window);
	assert_true(stream.asked >= window - UNIT);
	stream.pos = GIB;
	serve();
	assert_true(stream.asked <= GIB + window);
	assert_true(stream.asked >= GIB + window - UNIT);
	stream.pos = 10 * GIB - UNIT;
	serve();
	assert_int_equal(stream.asked, 10 * GIB);
}

TEST(guesses_never_exceed_the_evidence)
{
	reset();
	for (int round = 0; round < 5000; round++) {
		uint64_t length = random_between(&seed, 1, 20 * MIB);
		uint64_t consumed, furthest;

		reset();
		stream.begin = random_between(&seed, 0, GIB);
		stream.end = stream.begin + length;
		stream.pos = stream.begin + random_between(&seed, 0, length + 1);
		stream.asked = stream.begin;
		stream.run = random_between(&seed, 0, 2) * random_between(&seed, 1, GIB);
		stream.exact = random_number(&seed) % 4 == 0;
		stream.lead = random_between(&seed, 0, GIB);
		bounds.unit = random_between(&seed, 1, 16) * 128 * KIB;
		consumed = wn_stream_consumed(&stream);
		furthest = serve();
		assert_true(furthest <= stream.end + consumed ||
			    furthest <= stream.begin);
		if (stream.exact)
			assert_true(stream.asked <= stream.end);
	}
}

TEST(exact_streams_are_never_guessed_for)
{
	reset();
	stream.exact = true;
	stream.run = GIB;
	stream.lead = GIB;
	assert_int_equal(serve(), 8 * MIB);
}

TEST(a_proven_reader_is_led)
{
	reset();
	stream.run = GIB;
	stream.lead = 32 * MIB;
	serve();
	assert_true(stream.asked > 16 * MIB);
	assert_true(stream.asked <= 8 * MIB + 32 * MIB + UNIT);
}

TEST(the_end_of_the_file_is_the_end)
{
	struct wn_order o;

	reset();
	bounds.file_size = 5 * MIB + 5;
	stream.run = GIB;
	serve();
	assert_int_equal(stream.asked, 5 * MIB + 5);
	assert_false(order(&o));
	stream.pos = stream.begin = 6 * MIB;
	assert_false(order(&o));
	bounds.file_size = 0;
	assert_false(order(&o));
}

TEST(the_budget_holds)
{
	reset();
	policy.budget = 4 * MIB;
	stream.run = GIB;
	stream.end = GIB;
	serve();
	assert_true(stream.asked <= 4 * MIB);
	assert_true(stream.asked >= 3 * MIB);
	stream.pos = 3 * MIB;
	serve();
	assert_true(stream.asked <= 7 * MIB);
}

/* Others have spent it all: the bytes that are needed next are asked for even so. */
TEST(the_next_bytes_are_asked_for_whatever_the_budget)
{
	struct wn_order o;

	reset();
	policy.budget = 0;
	bounds.ahead = GIB;
	assert_true(wn_policy_order(&policy, &options, &stream, &bounds, &o, &denied));
	assert_int_equal(o.from, 0);
	assert_true(o.to > 0 && o.to <= UNIT);
	assert_int_equal(o.slack, 0);
	assert_true(denied == 0 || denied <= 8 * MIB);
}

static uint64_t headroom;
static int looks;

static uint64_t fake_headroom(void)
{
	looks++;
	return headroom;
}

TEST(the_budget_is_a_part_of_what_is_free)
{
	reset();
	memset(&policy, 0, sizeof(policy));
	looks = 0;
	headroom = 16 * GIB;
	wn_policy_refresh(&policy, &options, 5, fake_headroom);
	assert_true(policy.budget > 0 && policy.budget <= 4 * GIB);
	wn_policy_refresh(&policy, &options, 6, fake_headroom);
	assert_int_equal(looks, 1);
	headroom = 0;
	wn_policy_refresh(&policy, &options, 10 * SECOND_NS, fake_headroom);
	assert_int_equal(looks, 2);
	assert_int_equal(policy.budget, 0);
	headroom = UINT64_MAX;
	wn_options_set(&options, "budget", "10M");
	wn_policy_refresh(&policy, &options, 20 * SECOND_NS, fake_headroom);
	assert_int_equal(policy.budget, 10 * MIB);
	headroom = MIB;
	wn_policy_refresh(&policy, &options, 30 * SECOND_NS, fake_headroom);
	assert_true(policy.budget <= MIB);
}

TEST(the_lead_grows_only_for_a_reader_that_catches_up)
{
	uint64_t before;

	reset();
	stream.run = GIB;
	stream.landed = stream.pos = 100 * MIB;
	wn_policy_pace(&options, &stream, UNIT);
	before = stream.lead;
	assert_true(before > 0);
	stream.landed = stream.pos + GIB;
	wn_policy_pace(&options, &stream, UNIT);
	assert_int_equal(stream.lead, before);
	for (int i = 0; i < 200; i++) {
		stream.landed = stream.pos;
		wn_policy_pace(&options, &stream, UNIT);
	}
	assert_true(stream.lead <= 2 * options.value[WN_OPT_WINDOW]);
}

TEST(many_streams_share_the_budget)
{
	reset();
	policy.budget = 64 * MIB;
	bounds.streams = 16;
	stream.end = GIB;
	serve();
	assert_true(stream.asked <= 4 * MIB + UNIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_certain_is_asked_for_and_nothing_else),
		cmocka_unit_test(a_range_longer_than_the_window_comes_in_parts),
		cmocka_unit_test(guesses_never_exceed_the_evidence),
		cmocka_unit_test(exact_streams_are_never_guessed_for),
		cmocka_unit_test(a_proven_reader_is_led),
		cmocka_unit_test(the_end_of_the_file_is_the_end),
		cmocka_unit_test(the_budget_holds),
		cmocka_unit_test(the_next_bytes_are_asked_for_whatever_the_budget),
		cmocka_unit_test(the_budget_is_a_part_of_what_is_free),
		cmocka_unit_test(the_lead_grows_only_for_a_reader_that_catches_up),
		cmocka_unit_test(many_streams_share_the_budget),
	};

	return RUN(tests);
}

/* SPDX-License-Identifier: MIT */
/* loop.h and all that it connects: the helper's rounds over the fake kernel. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <willneed.h>

#include "copy.h"
#include "kit.h"
#include "test.h"

static const struct willneed_stats *stats(void)
{
	return &kit.st->stats;
}

TEST(a_cold_copy_takes_few_faults)
{
	kit_reset(64 * MIB);
	kit_copy(0, 64 * MIB);
	assert_true(fake.major_faults <= 8);
	assert_int_equal(stats()->copies_cold, 1);
	assert_int_equal(stats()->copy_bytes, 64 * MIB);
	assert_true(stats()->covered_bytes >= 60 * MIB);
	assert_int_equal(fake_most_asked(kit.file, 0, 64 * MIB), 1);
	assert_true(kit_settle() > 0);
	assert_int_equal(fake.foul, 0);
}

TEST(pieces_in_sequence_are_led)
{
	kit_reset(64 * MIB);
	for (uint64_t at = 0; at < 64 * MIB; at += 4 * MIB)
		kit_copy(at, 4 * MIB);
	assert_true(fake.major_faults <= 8);
	assert_int_equal(stats()->streams, 1);
	assert_int_equal(fake_most_asked(kit.file, 0, 64 * MIB), 1);
}

/* The program's own reads use marks up; nothing is left unasked for by that. */
TEST(coverage_survives_a_program_that_runs_ahead)
{
	kit_reset(64 * MIB);
	for (uint64_t at = 0; at < 64 * MIB; at += 4 * MIB) {
		kit_copy(at, 4 * MIB);
		if (at % (16 * MIB) == 0)
			fake_touch(kit.file, at + 6 * MIB, at + 6 * MIB + 4096);
	}
	assert_true(fake.major_faults <= 8 + 4 + 4);
}

TEST(exact_copies_ask_for_exactly_their_pages)
{
	uint64_t missing;

	kit_reset(64 * MIB);
	wn_advised((void *)KIT_ADDR, 64 * MIB, MADV_RANDOM);
	kit_copy(20 * MIB, 4 * MIB);
	kit_copy(24 * MIB, 4 * MIB);
	kit_copy(50 * MIB, 4 * MIB);
	missing = fake_missing(kit.file, 0, 64 * MIB);
	assert_int_equal(missing, 52 * MIB);
}

TEST(a_warm_file_is_left_alone)
{
	kit_reset(64 * MIB);
	fake_cache(kit.file, 0, 64 * MIB);
	for (uint64_t at = 0; at < 64 * MIB; at += 4 * MIB)
		kit_copy(at, 4 * MIB);
	assert_int_equal(stats()->asked_bytes, 0);
	assert_int_equal(stats()->copies_cold, 0);
	assert_int_equal(fake.count[FAKE_FADVISE] + fake.count[FAKE_MADVISE], 0);
}

TEST(a_request_is_asked_for_whole)
{
	kit_reset(64 * MIB);
	assert_int_equal(willneed_prefetch(KIT_FD, 5 * MIB + 1, 30 * MIB), 0);
	assert_true(wn_loop_news(kit.st));
	assert_true(kit_settle() > 0);
	assert_int_equal(fake_missing(kit.file, 5 * MIB, 35 * MIB), 0);
	assert_int_equal(fake_most_asked(kit.file, 0, 64 * MIB), 1);
	assert_int_equal(willneed_wait(KIT_FD, 5 * MIB, 30 * MIB, 1000), 0);
	assert_int_equal(kit.track->files.slot[kit.slot].refs, 1);
}

TEST(a_request_beyond_the_end)
{
	kit_reset(64 * MIB);
	assert_int_equal(willneed_prefetch(KIT_FD, 60 * MIB, GIB), 0);
	assert_true(kit_settle() > 0);
	assert_int_equal(fake_missing(kit.file, 60 * MIB, 64 * MIB), 0);
	/* Cut short meanwhile. */
	fake_at(kit.file)->size = 10 * MIB;
	kit.track->files.slot[kit.slot].size = 64 * MIB;
	assert_int_equal(willneed_prefetch(KIT_FD, 0, 64 * MIB), 0);
	assert_true(kit_settle() > 0);
	assert_int_equal(kit.track->files.slot[kit.slot].refs, 1);
}

/* Pages that are evicted before anybody looks, or that cannot be read, never arrive. */
TEST(a_request_whose_pages_never_arrive_ends)
{
	kit_reset(64 * MIB);
	wn_options_set(&wn_rt.options, "window", "4M");
	fake_fail(FAKE_PREADV2, 1, EAGAIN, true);
	assert_int_equal(willneed_prefetch(KIT_FD, 0, 16 * MIB), 0);
	assert_true(kit_settle() > 0);
	assert_int_equal(kit.track->files.slot[kit.slot].refs, 1);
	assert_true(stats()->asked_bytes >= 16 * MIB);
}

TEST(a_request_for_a_file_that_is_not_mapped)
{
	int other;

	kit_reset(64 * MIB);
	other = fake_file("/data/other", 4712, 64 * MIB);
	fake_program_fd(KIT_FD + 1, other);
	assert_int_equal(willneed_prefetch(KIT_FD + 1, 0, 64 * MIB), 0);
	assert_true(kit_settle() > 0);
	assert_int_equal(fake_missing(other, 0, 64 * MIB), 0);
	assert_int_equal(fake_open_fds(), 0);
}

TEST(more_requests_than_places)
{
	kit_reset(64 * MIB);
	for (int i = 0; i < 3 * WN_REQUESTS; i++)
		assert_int_equal(willneed_prefetch(KIT_FD, i % 64 * (off_t)MIB, MIB), 0);
	assert_true(stats()->inline_bytes > 0);
	assert_true(kit_settle() > 0);
	assert_int_equal(fake_missing(kit.file, 0, 64 * MIB), 0);
	assert_int_equal(kit.track->files.slot[kit.slot].refs, 1);
}

TEST(nothing_is_held_open_for_a_file_that_is_gone)
{
	kit_reset(64 * MIB);
	kit_copy(0, 16 * MIB);
	kit_copy(16 * MIB, 16 * MIB);
	assert_true(fake_open_fds() > 0);
	wn_unwatch((void *)KIT_ADDR, 64 * MIB);
	assert_true(wn_loop_news(kit.st));
	wn_loop_round(&kit.loop);
	assert_int_equal(fake_open_fds(), 0);
}

/* Another file is mapped over the last mapping of the first one. */
TEST(a_file_that_is_mapped_over_is_let_go)
{
	int other;

	kit_reset(64 * MIB);
	kit_copy(0, 16 * MIB);
	other = fake_file("/data/other", 4712, 64 * MIB);
	kit_watch(other, KIT_FD + 1, KIT_ADDR, 64 * MIB);
	wn_loop_round(&kit.loop);
	assert_int_equal(fake_open_fds(), 0);
}

TEST(quiet_streams_end)
{
	kit_reset(64 * MIB);
	kit_copy(0, 16 * MIB);
	wn_loop_round(&kit.loop);
	assert_true(kit.st->streams.slot[0].live);
	assert_true(kit_settle() > 0);
	for (int i = 0; i < WN_STREAMS; i++)
		assert_false(kit.st->streams.slot[i].live);
}

TEST(the_end_closes_all)
{
	kit_reset(64 * MIB);
	kit_copy(0, 16 * MIB);
	willneed_prefetch(KIT_FD, 32 * MIB, 32 * MIB);
	wn_loop_round(&kit.loop);
	wn_loop_end(&kit.loop);
	assert_int_equal(fake_open_fds(), 0);
	assert_int_equal(kit.track->files.slot[kit.slot].refs, 1);
}

TEST(garbage_in_the_ring_does_no_harm)
{
	uint64_t seed = 11;

	kit_reset(4 * MIB);
	for (int round = 0; round < 300; round++) {
		for (int i = 0; i < 20; i++) {
			struct wn_access a = {
				.offset = random_number(&seed) >>
					  random_between(&seed, 0, 64),
				.length = random_number(&seed) >>
					  random_between(&seed, 0, 64),
				.thread = (uint32_t)random_number(&seed),
				.file = (uint16_t)(random_number(&seed) >>
						   random_between(&seed, 0, 64)),
				.kind = (uint8_t)(random_number(&seed) % 3),
				.flags = (uint8_t)random_number(&seed),
			};

			wn_ring_push(&kit.st->ring, &a);
		}
		wn_loop_round(&kit.loop);
		fake.now_ns += 10 * MS_NS;
	}
	assert_true(kit_settle() > 0);
	wn_loop_end(&kit.loop);
	assert_int_equal(fake_open_fds(), 0);
	assert_int_equal(fake.foul, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cold_copy_takes_few_faults),
		cmocka_unit_test(pieces_in_sequence_are_led),
		cmocka_unit_test(coverage_survives_a_program_that_runs_ahead),
		cmocka_unit_test(exact_copies_ask_for_exactly_their_pages),
		cmocka_unit_test(a_warm_file_is_left_alone),
		cmocka_unit_test(a_request_is_asked_for_whole),
		cmocka_unit_test(a_request_beyond_the_end),
		cmocka_unit_test(a_request_whose_pages_never_arrive_ends),
		cmocka_unit_test(a_request_for_a_file_that_is_not_mapped),
		cmocka_unit_test(more_requests_than_places),
		cmocka_unit_test(nothing_is_held_open_for_a_file_that_is_gone),
		cmocka_unit_test(a_file_that_is_mapped_over_is_let_go),
		cmocka_unit_test(quiet_streams_end),
		cmocka_unit_test(the_end_closes_all),
		cmocka_unit_test(garbage_in_the_ring_does_no_harm),
	};

	return RUN(tests);
}

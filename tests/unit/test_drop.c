/* SPDX-License-Identifier: MIT */
/* drop.h: which pieces are dropped behind an uncached reader, and which never. */
#include <errno.h>
#include <fcntl.h>

#include "drop.h"
#include "kit.h"
#include "reads.h"
#include "test.h"
#include "written.h"

#define PIECE (2 * MIB)
#define SIZE  (96 * MIB)
#define FD    9

static int file;
static unsigned plain, flagged;

static void reset(void)
{
	kit_reset(MIB);
	file = fake_file("/data/other", 4712, SIZE);
	fake_program_fd(FD, file);
	plain = flagged = 0;
}

/* A read as the program makes it; readahead comes 16 MiB in front of it. */
static void read_at(uint64_t at, uint64_t n)
{
	struct wn_drop_read d;

	if (wn_drop_begin(&d, FD, (off_t)at)) {
		plain++;
		fake_touch(file, at, at + 16 * MIB < SIZE ? at + 16 * MIB : SIZE);
	} else {
		flagged++;
	}
	if (d.file)
		wn_drop_end(&d, FD, (off_t)at, n);
}

static void read_all(uint64_t from, uint64_t to, uint64_t n)
{
	for (uint64_t at = from; at < to; at += n)
		read_at(at, n);
}

static uint64_t cached(uint64_t from, uint64_t to)
{
	return to - from - fake_missing(file, from, to);
}

TEST(everything_is_dropped_but_the_last_pieces)
{
	reset();
	read_all(0, 64 * MIB, 64 * KIB);
	assert_int_equal(flagged, 0);
	assert_int_equal(cached(0, 62 * MIB), 0);
	assert_int_equal(cached(62 * MIB, 64 * MIB), PIECE);
	read_all(64 * MIB, SIZE, 64 * KIB);
	assert_int_equal(cached(0, SIZE), 0);
	assert_int_equal(kit.st->stats.drop_calls, 48);
	assert_int_equal(kit.st->stats.dropped_bytes, SIZE);
	assert_int_equal(fake.foul, 0);
}

TEST(what_was_cached_stays)
{
	reset();
	fake_cache(file, 0, 4096);
	fake_cache(file, 40 * MIB + 4096, 40 * MIB + 8192);
	read_all(0, SIZE, 64 * KIB);
	assert_int_equal(cached(0, SIZE), 2 * PIECE);
	assert_int_equal(cached(0, 4096), 4096);
	assert_int_equal(cached(40 * MIB, 42 * MIB), PIECE);
}

TEST(single_reads_keep_the_flag)
{
	uint64_t seed = 5;

	reset();
	for (int i = 0; i < 500; i++)
		read_at(random_between(&seed, 1, SIZE / 4096) * 4096, 4096);
	assert_true(flagged > 480);
	assert_int_equal(kit.st->stats.drop_calls, 0);
	assert_true(kit.st->stats.inline_bytes < 4 * MIB);
}

TEST(large_reads_keep_the_flag)
{
	reset();
	read_all(0, SIZE, 4 * MIB);
	assert_int_equal(plain, 1);
}

TEST(a_stream_in_the_middle)
{
	reset();
	read_all(40 * MIB, 60 * MIB, 64 * KIB);
	assert_int_equal(flagged, 1);
	assert_int_equal(cached(0, 58 * MIB), 0);
	/* Elsewhere with the same descriptor, both go on. */
	for (uint64_t at = 0; at < 10 * MIB; at += 64 * KIB) {
		read_at(at, 64 * KIB);
		read_at(60 * MIB + at, 64 * KIB);
	}
	assert_int_equal(flagged, 1);
	assert_int_equal(cached(0, 8 * MIB), 0);
	assert_int_equal(cached(60 * MIB, 68 * MIB), 0);
}

/* A read without any readahead of the kernel's: what is missing, nobody asked for in time. */
static uint64_t missed;

static void read_led(uint64_t at, uint64_t n)
{
	struct wn_drop_read d;

	if (wn_drop_begin(&d, FD, (off_t)at))
		missed += fake_missing(file, at, at + n);
	fake_touch(file, at, at + n);
	if (d.file)
		wn_drop_end(&d, FD, (off_t)at, n);
}

/* Readers begin equally far apart, and go on in turns, for the so-manieth time. */
static void readers_apart(uint64_t readers, uint64_t n, uint32_t pass)
{
	uint64_t most = 0, part = SIZE / readers;

	missed = 0;
	for (uint64_t at = 0; at < part; at += n) {
		for (uint64_t i = 0; i < readers; i++)
			read_led(i * part + at, n);
		if (at % MIB == 0)
			most = wn_max(most, cached(0, SIZE));
	}
	/* The first is the kernel's until there is a second one. */
	assert_true(missed <= 2 * n);
	assert_true(most <= 32 * MIB);
	assert_int_equal(fake_most_asked(file, 0, SIZE), pass);
	assert_int_equal(cached(0, SIZE), 0);
	assert_int_equal(fake.foul, 0);
}

TEST(readers_apart_are_led)
{
	for (uint64_t readers = 2; readers <= 8; readers *= 2) {
		reset();
		readers_apart(readers, 64 * KIB, 1);
	}
	reset();
	readers_apart(4, 4 * KIB, 1);
	/* One call of advice brings little there, and the device does not say so. */
	reset();
	fake.request = fake.readahead = 256 * KIB;
	readers_apart(4, 64 * KIB, 1);
}

/* The second pass is as the first one. */
TEST(readers_apart_once_more)
{
	reset();
	readers_apart(4, 64 * KIB, 1);
	readers_apart(4, 64 * KIB, 2);
}

TEST(a_reader_that_is_alone_is_left_to_the_kernel)
{
	reset();
	read_all(0, SIZE, 64 * KIB);
	assert_int_equal(kit.st->stats.inline_bytes, 0);
	/* But not where that is not ahead of it. */
	reset();
	missed = 0;
	for (uint64_t at = 0; at < SIZE; at += 64 * KIB)
		read_led(at, 64 * KIB);
	assert_true(kit.st->stats.inline_bytes >= SIZE - 20 * MIB);
	assert_true(missed <= 20 * MIB);
	assert_int_equal(fake_most_asked(file, 0, SIZE), 1);
	/* And where the program has said that it reads at random, nothing is guessed. */
	reset();
	wn_reads_advised(FD, POSIX_FADV_RANDOM);
	read_all(0, SIZE, 64 * KIB);
	assert_int_equal(kit.st->stats.inline_bytes, 0);
	wn_reads_advised(FD, POSIX_FADV_NORMAL);
}

/* The kernel is ahead of a reader that was alone: beyond that, it is led. */
TEST(who_is_joined_is_led)
{
	uint64_t asked;

	reset();
	read_all(0, 32 * MIB, 64 * KIB);
	asked = kit.st->stats.inline_bytes;
	read_led(64 * MIB, 64 * KIB);
	missed = 0;
	for (uint64_t at = 64 * KIB; at < 24 * MIB; at += 64 * KIB) {
		read_led(32 * MIB + at - 64 * KIB, 64 * KIB);
		read_led(64 * MIB + at, 64 * KIB);
	}
	assert_int_equal(missed, 0);
	assert_true(kit.st->stats.inline_bytes > asked + 30 * MIB);
	assert_int_equal(fake_most_asked(file, 0, SIZE), 1);
}

/* A header, and then the rest from elsewhere on: one reader, which is the kernel's. */
TEST(a_jump_is_no_second_reader)
{
	uint64_t asked;

	reset();
	read_all(0, 64 * KIB, 4 * KIB);
	read_all(40 * MIB, 60 * MIB, 64 * KIB);
	asked = kit.st->stats.inline_bytes;
	read_all(60 * MIB, SIZE, 64 * KIB);
	assert_int_equal(kit.st->stats.inline_bytes, asked);
	assert_int_equal(cached(40 * MIB, SIZE), 0);
	/* Until somebody goes on from the header. */
	reset();
	read_all(0, 64 * KIB, 4 * KIB);
	read_all(40 * MIB, 70 * MIB, 64 * KIB);
	asked = kit.st->stats.inline_bytes;
	for (uint64_t at = 0; at < 20 * MIB; at += 64 * KIB) {
		read_led(64 * KIB + at, 64 * KIB);
		read_led(70 * MIB + at, 64 * KIB);
	}
	assert_true(kit.st->stats.inline_bytes > asked + 15 * MIB);
}

TEST(a_file_that_changes_is_left_alone)
{
	reset();
	read_all(0, 20 * MIB, 64 * KIB);
	fake_at(file)->changed++;
	read_all(20 * MIB, SIZE, 64 * KIB);
	assert_int_equal(cached(20 * MIB, SIZE), SIZE - 20 * MIB);
	/* Another file under the same number. */
	reset();
	read_all(0, 20 * MIB, 64 * KIB);
	file = fake_file("/data/third", 4713, SIZE);
	fake_program_fd(FD, file);
	read_all(20 * MIB, SIZE, 64 * KIB);
	assert_int_equal(cached(20 * MIB, SIZE), SIZE - 20 * MIB);
}

TEST(a_mapped_file_is_left_alone)
{
	reset();
	kit_watch(file, FD, KIT_ADDR + TIB, SIZE);
	read_all(0, SIZE, 64 * KIB);
	assert_int_equal(cached(0, SIZE), SIZE);
}

TEST(another_reader_ends_it)
{
	reset();
	read_all(0, 20 * MIB, 64 * KIB);
	fake_touch(file, 12 * MIB, 14 * MIB);
	read_all(20 * MIB, SIZE, 64 * KIB);
	assert_true(cached(20 * MIB, SIZE) >= SIZE - 26 * MIB);
	/* And for the next stream in it, too. */
	plain = flagged = 0;
	read_all(0, 4 * MIB, 64 * KIB);
	assert_int_equal(plain, 0);
}

/* Without cachestat(2), or for who may only read: nothing is known, nothing is dropped. */
TEST(what_cannot_be_known)
{
	reset();
	fake_fail(FAKE_CACHESTAT, 1, EPERM, true);
	read_all(0, SIZE, 64 * KIB);
	assert_int_equal(plain, 0);
	reset();
	fake_fail(FAKE_CACHESTAT, 60, EPERM, true);
	read_all(0, SIZE, 64 * KIB);
	assert_true(fake.count[FAKE_FADVISE] < 20);
	reset();
	fake.getfl = O_DIRECT;
	read_all(0, SIZE, 64 * KIB);
	assert_int_equal(plain, 0);
	reset();
	wn_options_set(&wn_rt.options, "drop_behind", "off");
	read_all(0, SIZE, 64 * KIB);
	assert_int_equal(plain, 0);
	assert_false(wn_drop_wanted());
}

/* A file of somebody else, 4 KiB at a time: the helper leads the reads, flag and all. */
static void read_blind(uint64_t from, uint64_t to, uint64_t n)
{
	for (uint64_t at = from; at < to; at += n) {
		struct wn_drop_read d;

		assert_false(wn_drop_begin(&d, FD, (off_t)at));
		fake_touch(file, at, at + n < SIZE ? at + n : SIZE);
		/* The kernel drops what was read, if the helper has brought it. */
		fake_evict(file, at, at + n);
		if (d.file)
			wn_drop_end(&d, FD, (off_t)at, n);
		wn_loop_round(&kit.loop);
		fake_arrive();
	}
}

TEST(a_file_of_somebody_else_is_led)
{
	reset();
	fake_fail(FAKE_CACHESTAT, 1, EPERM, true);
	read_blind(0, SIZE, 4096);
	/* All but the beginning was there before it was read; nothing was asked for twice. */
	assert_in_range(fake.major_faults, 16, 17);
	assert_int_equal(kit.st->stats.led_bytes, SIZE - 16 * 4096);
	assert_int_equal(fake_most_asked(file, 16 * 4096, SIZE), 1);
	assert_int_equal(cached(0, SIZE), 0);
	assert_int_equal(fake_open_fds(), 0);
	assert_int_equal(fake.foul, 0);
}

/* It would have been brought by whole pages, and dropped when a part was read. */
TEST(reads_of_parts_of_pages_are_not_led)
{
	reset();
	fake_fail(FAKE_CACHESTAT, 1, EPERM, true);
	read_blind(0, 2 * MIB, 1024);
	assert_int_equal(kit.st->stats.led_bytes, 0);
}

TEST(who_stops_has_not_been_led_far)
{
	reset();
	fake_fail(FAKE_CACHESTAT, 1, EPERM, true);
	read_blind(0, 60 * KIB, 4096);
	assert_int_equal(kit.st->stats.led_bytes, 0);
	read_blind(60 * KIB, MIB, 4096);
	assert_in_range(kit.st->stats.led_bytes, MIB, 4 * MIB);
}

/* The kernel reads ahead too: beyond that, the helper goes on. */
TEST(the_kernel_is_overtaken)
{
	reset();
	fake_fail(FAKE_CACHESTAT, 1, EPERM, true);
	fake_cache(file, 0, 3 * MIB);
	read_blind(0, 8 * MIB, 4096);
	assert_in_range(fake.major_faults, 0, 1400);
	assert_true(kit.st->stats.led_bytes > 10 * MIB);
	assert_true(fake.count[FAKE_PREADV2] < 60);
}

static struct wn_drop_run run;

/* An ordinary read, told when it has been made. */
static void ordinary(uint64_t from, uint64_t to, uint64_t n)
{
	for (uint64_t at = from; at < to; at += n) {
		fake_touch(file, at, wn_min(at + wn_max(n, MIB), SIZE));
		wn_drop_stream(&run, FD, (off_t)at, n);
	}
}

static void reset_for_streams(void)
{
	reset();
	run = (struct wn_drop_run){ 0 };
	wn_options_set(&wn_rt.options, "drop_behind", "stream");
}

TEST(a_long_way_is_dropped_from_its_beginning)
{
	reset_for_streams();
	ordinary(0, 64 * MIB, 64 * KIB);
	assert_int_equal(cached(0, 64 * MIB), 64 * MIB);
	ordinary(64 * MIB, SIZE, 64 * KIB);
	/* What the first read brought had been cached before, for all that is known. */
	assert_int_equal(cached(0, SIZE), PIECE);
	assert_int_equal(fake.foul, 0);
}

/* Readahead in front of a slow reader brings what a faster one has dropped already. */
TEST(a_slower_reader_is_not_somebody_else)
{
	uint64_t slow = 0;

	reset();
	read_at(8 * MIB, 64 * KIB);
	for (uint64_t at = 8 * MIB + 64 * KIB; at < SIZE; at += 64 * KIB) {
		read_at(at, 64 * KIB);
		if (at % (512 * KIB) == 0) {
			read_at(slow, 64 * KIB);
			slow += 64 * KIB;
		}
	}
	assert_int_equal(cached(32 * MIB, SIZE), 0);
}

/* Small reads are counted together, but none is forgotten. */
TEST(nothing_is_left_of_small_reads)
{
	reset_for_streams();
	ordinary(0, 90 * MIB, 12 * KIB);
	ordinary(90 * MIB, SIZE, 4096);
	assert_int_equal(cached(0, SIZE), PIECE);
	/* Whoever stops in the middle of them closes the file. */
	reset_for_streams();
	ordinary(0, 80 * MIB + 512 * KIB, 4 * KIB);
	assert_int_equal(cached(78 * MIB, 80 * MIB), PIECE);
	wn_drop_closing(&run, FD);
	assert_int_equal(cached(78 * MIB, 80 * MIB), 0);
}

/* The helper reads ahead of ordinary reads, as far as they have come: that goes too. */
TEST(what_the_helper_brought_is_dropped)
{
	reset_for_streams();
	for (uint64_t at = 0; at < SIZE; at += 64 * KIB) {
		fake_touch(file, at, wn_min(at + MIB + wn_min(at, 64 * MIB), SIZE));
		wn_drop_stream(&run, FD, (off_t)at, 64 * KIB);
	}
	assert_int_equal(cached(0, SIZE), PIECE);
}

TEST(reads_of_many_pieces_are_a_way_too)
{
	reset_for_streams();
	ordinary(0, SIZE, 8 * MIB);
	assert_int_equal(cached(8 * MIB, SIZE), 0);
}

TEST(a_short_way_stays)
{
	reset_for_streams();
	ordinary(0, 60 * MIB, MIB);
	ordinary(70 * MIB, 90 * MIB, MIB);
	assert_int_equal(fake.count[FAKE_FADVISE], 0);
	/* And a long one, where that was not asked for. */
	reset();
	ordinary(0, SIZE, MIB);
	assert_int_equal(fake.count[FAKE_FADVISE], 0);
}

TEST(who_returns_ends_it)
{
	reset_for_streams();
	ordinary(0, 40 * MIB, MIB);
	ordinary(2 * MIB, 4 * MIB, MIB);
	ordinary(40 * MIB, SIZE, MIB);
	assert_int_equal(fake.count[FAKE_FADVISE], 0);
	/* Also when something has been dropped, and for the next reader. */
	reset_for_streams();
	ordinary(0, 80 * MIB, MIB);
	assert_true(cached(0, 80 * MIB) < 60 * MIB);
	ordinary(0, SIZE, MIB);
	assert_int_equal(cached(0, SIZE), SIZE);
	ordinary(0, SIZE, MIB);
	assert_int_equal(cached(0, SIZE), SIZE);
}

TEST(a_file_of_somebody_else_is_not_dropped_from)
{
	reset_for_streams();
	fake_fail(FAKE_CACHESTAT, 1, EPERM, true);
	ordinary(0, SIZE, MIB);
	assert_int_equal(fake.count[FAKE_FADVISE], 0);
	assert_int_equal(kit.st->stats.led_bytes, 0);
}

/* An uncached write that was refused, and has been made without the flag. */
static void written(uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; at += 64 * KIB) {
		struct wn_write w;

		wn_written_begin(&w, FD, (off_t)at);
		fake_cache(file, at, at + 64 * KIB);
		wn_written_end(&w, FD, 64 * KIB);
	}
}

TEST(what_is_written_goes)
{
	reset();
	written(0, SIZE);
	assert_int_equal(fake.write_outs, 48);
	assert_int_equal(cached(0, SIZE), 0);
	/* What is left of it when it is closed. */
	written(SIZE - 5 * MIB, SIZE - 3 * MIB);
	assert_true(cached(0, SIZE) > 0);
	wn_written_closing(FD);
	assert_int_equal(cached(0, SIZE), 0);
	assert_int_equal(fake.foul, 0);
}

TEST(what_was_there_before_it_was_written_stays)
{
	reset();
	fake_cache(file, 20 * MIB, 21 * MIB);
	written(0, SIZE);
	wn_written_closing(FD);
	assert_int_equal(cached(0, SIZE), PIECE);
	assert_int_equal(cached(20 * MIB, 22 * MIB), PIECE);
}

TEST(what_others_read_of_it_stays)
{
	reset();
	written(0, 32 * MIB);
	fake_cache(file, 28 * MIB, 29 * MIB);
	written(32 * MIB, SIZE);
	assert_int_equal(cached(28 * MIB, 29 * MIB), MIB);
	assert_int_equal(cached(36 * MIB, SIZE), SIZE - 36 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_dropped_but_the_last_pieces),
		cmocka_unit_test(what_was_cached_stays),
		cmocka_unit_test(single_reads_keep_the_flag),
		cmocka_unit_test(large_reads_keep_the_flag),
		cmocka_unit_test(a_stream_in_the_middle),
		cmocka_unit_test(readers_apart_are_led),
		cmocka_unit_test(readers_apart_once_more),
		cmocka_unit_test(a_reader_that_is_alone_is_left_to_the_kernel),
		cmocka_unit_test(who_is_joined_is_led),
		cmocka_unit_test(a_jump_is_no_second_reader),
		cmocka_unit_test(a_file_that_changes_is_left_alone),
		cmocka_unit_test(a_mapped_file_is_left_alone),
		cmocka_unit_test(another_reader_ends_it),
		cmocka_unit_test(what_cannot_be_known),
		cmocka_unit_test(a_file_of_somebody_else_is_led),
		cmocka_unit_test(reads_of_parts_of_pages_are_not_led),
		cmocka_unit_test(who_stops_has_not_been_led_far),
		cmocka_unit_test(the_kernel_is_overtaken),
		cmocka_unit_test(a_slower_reader_is_not_somebody_else),
		cmocka_unit_test(a_long_way_is_dropped_from_its_beginning),
		cmocka_unit_test(what_the_helper_brought_is_dropped),
		cmocka_unit_test(nothing_is_left_of_small_reads),
		cmocka_unit_test(reads_of_many_pieces_are_a_way_too),
		cmocka_unit_test(a_short_way_stays),
		cmocka_unit_test(who_returns_ends_it),
		cmocka_unit_test(a_file_of_somebody_else_is_not_dropped_from),
		cmocka_unit_test(what_is_written_goes),
		cmocka_unit_test(what_was_there_before_it_was_written_stays),
		cmocka_unit_test(what_others_read_of_it_stays),
	};

	return RUN(tests);
}

/* SPDX-License-Identifier: MIT */
/* due.h, devices.h: when a cold read wakes the helper, and what is known without it. */
#include <string.h>

#include "copy.h"
#include "kit.h"
#include "reads.h"
#include "test.h"

#define FD    5
#define PIECE (128 * KIB)
#define TAIL  (2 * MIB)

static struct wn_reader me;
static int files;

/* One more file of the same device, in place of the last one. */
static int next_file(uint64_t size)
{
	char path[] = "/data/a";
	int file;

	path[sizeof(path) - 2] = (char)('a' + files);
	file = fake_file(path, 4711 + (uint64_t)files++, size);
	wn_reads_closing(&me, FD);
	fake_program_fd(FD, file);
	return file;
}

static void begin(uint64_t readahead_kib, uint64_t request_kib)
{
	kit_empty();
	fake_device_texts(readahead_kib, request_kib);
	memset(&me, 0, sizeof(me));
	files = 0;
}

/* A cold read, that takes so long: was a sleeping helper woken for it? */
static bool wakes(int file, uint64_t at, uint64_t n, uint64_t ns)
{
	kit.st->sleeping = 1;
	fake.now_ns += ns;
	wn_cover_tick(&kit.st->cover, fake.now_ns);
	if (!wn_reads_granted(&me, FD, n))
		wn_reads_look(&me, FD, (int64_t)at, n, true);
	fake_read(file, at, at + n);
	return !kit.st->sleeping;
}

/* The helper hears what was told, and what it asked for does not come. */
static void hear(int file)
{
	wn_loop_round(&kit.loop);
	fake_evict(file, 0, fake_at(file)->size);
	memset(&kit.st->cover, 0, sizeof(kit.st->cover));
}

/* So that the device is known: a file that is read on until the helper has opened it. */
static void meet_the_device(void)
{
	int file = next_file(64 * MIB);

	for (uint64_t at = 0; !kit.st->engine.held; at += PIECE) {
		assert_true(at < 8 * MIB);
		if (wakes(file, at, PIECE, 0))
			hear(file);
	}
	wn_reads_closing(&me, FD);
	wn_loop_round(&kit.loop);
	assert_int_equal(kit.st->engine.held, 0);
}

/* Reads the end of a file; how often was the helper woken? */
static int read_tail(uint64_t ns)
{
	int file = next_file(64 * MIB), woken = 0;

	for (uint64_t at = 64 * MIB - TAIL; at < 64 * MIB; at += PIECE)
		woken += wakes(file, at, PIECE, ns);
	return woken;
}

TEST(upward_the_helper_sleeps_until_it_can_ask)
{
	uint64_t at = 0;
	int file;

	begin(128, 1280);
	meet_the_device();
	file = next_file(64 * MIB);
	while (!wakes(file, at, PIECE, 0))
		at += PIECE;
	/* The first two reads tell nothing; from there on it is a call of advice. */
	assert_in_range(at, 1280 * KIB, 1280 * KIB + 3 * PIECE);
	assert_int_equal(kit.st->engine.held, 0);
	wn_loop_round(&kit.loop);
	assert_int_equal(kit.st->engine.held, 1);
	assert_true(kit.st->stats.asked_bytes > 0);
}

TEST(downward_it_is_woken_at_once)
{
	int file, woken = 0;

	begin(128, 1280);
	meet_the_device();
	file = next_file(64 * MIB);
	for (uint64_t i = 1; i <= 4; i++)
		woken += wakes(file, 32 * MIB - i * PIECE, PIECE, 0);
	assert_in_range(woken, 2, 3);
}

/* The end of a file is asked for where it takes the reader some time to get there. */
TEST(ends_of_files)
{
	begin(128, 4096);
	meet_the_device();
	assert_int_equal(read_tail(MS_NS / 32), 0);
	assert_true(read_tail(MS_NS) > 0);
}

/* A device that is slow now and then: what counts is its pace over many files. */
TEST(ends_of_files_on_a_device_that_is_slow_on_the_whole)
{
	int woken = 0;

	begin(128, 4096);
	meet_the_device();
	for (int i = 0; i < 24; i++) {
		fake.now_ns += 20 * MS_NS;
		woken = read_tail(0);
	}
	assert_true(woken > 0);
}

/* What is told and not heard is heard after a while, also where no read is worth it. */
TEST(the_helper_hears_of_short_runs_now_and_then)
{
	int woken = 0, file;

	begin(128, 4096);
	meet_the_device();
	for (int i = 0; i < 40; i++) {
		file = next_file(64 * MIB);
		for (uint64_t at = 0; at < MIB; at += PIECE)
			woken += wakes(file, at, PIECE, 0);
	}
	assert_in_range(woken, 1, 3);
}

TEST(a_file_on_a_known_device_is_not_opened_to_learn_it)
{
	begin(8192, 1280);
	meet_the_device();
	assert_int_equal(read_tail(MS_NS), 0);
	assert_true(kit.track->files.slot[1].wide);
	wn_loop_round(&kit.loop);
	assert_int_equal(kit.st->engine.held, 0);
	assert_int_equal(fake_open_fds(), 0);
}

/* Somebody may change a device's limits. */
TEST(devices_are_known_for_a_second)
{
	bool found = false;

	begin(8192, 1280);
	meet_the_device();
	fake_device_texts(128, 1280);
	fake.now_ns += 2 * SECOND_NS;
	meet_the_device();
	read_tail(0);
	for (int i = 0; i < WN_FILES; i++)
		if (kit.track->files.slot[i].ino == 4711 + (uint64_t)files - 1) {
			assert_false(kit.track->files.slot[i].wide);
			found = true;
		}
	assert_true(found);
}

TEST(more_devices_than_are_remembered)
{
	struct wn_devices known = { 0 };
	struct wn_device_limits l;

	begin(128, 1280);
	for (uint64_t dev = 0; dev < 3 * WN_DEVICES; dev++)
		wn_devices_learn(&known, dev, fake.now_ns);
	l = wn_devices_learn(&known, fake_at(next_file(MIB))->dev, fake.now_ns);
	assert_int_equal(l.readahead, 128 * KIB);
	assert_int_equal(l.request, 1280 * KIB);
}

/* Where asking has come to the end of the file, its reader wakes nobody. */
TEST(nobody_is_woken_when_all_has_been_asked_for)
{
	const uint64_t size = 8 * MIB;
	uint64_t at = 0;
	int file;

	begin(128, 1280);
	file = next_file(size);
	while (at < size && fake_missing(file, 0, size)) {
		if (wakes(file, at, PIECE, MS_NS / 8))
			wn_loop_round(&kit.loop);
		fake_arrive();
		at += PIECE;
	}
	assert_true(at < size - MIB);
	wn_loop_round(&kit.loop);
	wn_loop_set_alarm(&kit.loop);
	for (; at < size; at += PIECE)
		assert_false(wakes(file, at, PIECE, MS_NS / 8));
}

/* A reader of a mapping, from `from` to the end, seen once in 64 KiB: what the round rests. */
static uint64_t load_tail(uint64_t from, uint64_t size, uint64_t ns)
{
	uint64_t rest = 0;

	kit_reset(size);
	for (uint64_t at = from; at < size; at += 64 * KIB) {
		fake.now_ns += ns;
		kit_push(WN_ACCESS_FAULT, at, 4096, WN_ACCESS_FAULTED);
		rest = wn_loop_round(&kit.loop);
		fake_arrive();
	}
	return rest;
}

TEST(ends_of_mapped_files)
{
	load_tail(62 * MIB, 64 * MIB, MS_NS / 64);
	assert_int_equal(kit.st->stats.asked_bytes, 0);
	load_tail(62 * MIB, 64 * MIB, MS_NS);
	assert_true(kit.st->stats.asked_bytes > 0);
	/* What is longer than an order is asked for in any case. */
	load_tail(32 * MIB, 64 * MIB, MS_NS / 64);
	assert_true(kit.st->stats.asked_bytes > 0);
}

/* One fault opens no file of a device that is known; records, as they go on, do. */
TEST(records_in_a_mapped_file_on_a_known_device)
{
	kit_reset(256 * MIB);
	wn_store(&kit.track->files.slot[kit.slot].chunk, 128 * KIB);
	for (uint64_t at = 0; at < 32 * MIB; at += MIB) {
		fake.now_ns += MS_NS;
		kit_push(WN_ACCESS_FAULT, at, 4096, WN_ACCESS_FAULTED);
		wn_loop_round(&kit.loop);
		fake_arrive();
		if (!at)
			assert_int_equal(kit.st->engine.held, 0);
	}
	assert_true(kit.st->stats.walk_bytes > 0);
}

TEST(walks_of_what_is_unmapped_are_not_looked_at)
{
	assert_in_range(load_tail(62 * MIB, 64 * MIB, MS_NS / 64), 1, MS_NS);
	wn_unwatch((void *)KIT_ADDR, 64 * MIB);
	assert_true(wn_loop_round(&kit.loop) > 100 * MS_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(upward_the_helper_sleeps_until_it_can_ask),
		cmocka_unit_test(downward_it_is_woken_at_once),
		cmocka_unit_test(ends_of_files),
		cmocka_unit_test(ends_of_files_on_a_device_that_is_slow_on_the_whole),
		cmocka_unit_test(the_helper_hears_of_short_runs_now_and_then),
		cmocka_unit_test(a_file_on_a_known_device_is_not_opened_to_learn_it),
		cmocka_unit_test(devices_are_known_for_a_second),
		cmocka_unit_test(more_devices_than_are_remembered),
		cmocka_unit_test(nobody_is_woken_when_all_has_been_asked_for),
		cmocka_unit_test(ends_of_mapped_files),
		cmocka_unit_test(records_in_a_mapped_file_on_a_known_device),
		cmocka_unit_test(walks_of_what_is_unmapped_are_not_looked_at),
	};

	return RUN(tests);
}

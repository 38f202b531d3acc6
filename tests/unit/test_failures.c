/* SPDX-License-Identifier: MIT */
/*
 * A whole life of the engine, again and again, with the Nth call of a kind failing: it
 * must end, leave nothing open, and count orders as carried out.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <willneed.h>

#include "copy.h"
#include "kit.h"
#include "reads.h"
#include "test.h"

#define SIZE (8 * MIB)

static struct wn_reader reader;

static void read_at(int64_t at, uint64_t length)
{
	uint64_t from = at < 0 ? 0 : (uint64_t)at;

	if (!wn_reads_granted(&reader, KIT_FD, length))
		wn_reads_look(&reader, KIT_FD, at, length, true);
	fake_read(kit.file, from, from + length);
	wn_loop_round(&kit.loop);
	fake_arrive();
	fake.now_ns += MS_NS / 10;
}

/* Down from 5 MiB, wherever the position is, and a large piece. */
static void reads(void)
{
	memset(&reader, 0, sizeof(reader));
	read_at(5 * (int64_t)MIB, 128 * KIB);
	for (int64_t at = 5 * (int64_t)MIB; at > 4 * (int64_t)MIB; at -= 32 * (int64_t)KIB)
		read_at(at - 32 * (int64_t)KIB, 32 * KIB);
	read_at(WN_AT_POSITION, 256 * KIB);
	read_at(WN_BEHIND_POSITION, 256 * KIB);
	read_at(7 * (int64_t)MIB, MIB);
	read_at(3 * (int64_t)MIB, MIB);
	wn_reads_closing(&reader, KIT_FD);
}

/* A few copies, reads, requests and mappings; not too many pages, since it is run often. */
static void life(enum fake_kind kind, uint64_t nth, int error, bool for_ever)
{
	int settled;

	kit_reset(SIZE);
	fake_device_texts(128, 256);
	fake_set_text("/proc/self/maps",
		      "100000000000-100000800000 r--p 00000000 08:01 4711  /data/file\n");
	if (nth)
		fake_fail(kind, nth, error, for_ever);
	kit_copy(0, MIB);
	kit_copy(MIB, MIB);
	reads();
	willneed_prefetch(KIT_FD, 6 * MIB, 2 * MIB);
	fake_program_fd(KIT_FD, -1);
	kit_copy(2 * MIB, MIB);
	willneed_prefetch_addr((void *)(KIT_ADDR + 5 * MIB), MIB);
	wn_advised((void *)KIT_ADDR, SIZE, MADV_RANDOM);
	kit_copy(4 * MIB, MIB);
	settled = kit_settle();
	assert_true(settled > 0);
	wn_unwatch((void *)KIT_ADDR, SIZE);
	assert_true(kit_settle() > 0);
	wn_loop_end(&kit.loop);
	fake.fail.nth = 0;
	assert_int_equal(fake_open_fds(), 0);
	assert_int_equal(fake.foul, 0);
	assert_int_equal(kit.track->count, 0);
	for (int i = 0; i < WN_FILES; i++)
		assert_int_equal(kit.track->files.slot[i].refs, 0);
}

static uint64_t calls_of_a_life(enum fake_kind kind)
{
	life(kind, 0, 0, false);
	return fake.count[kind];
}

TEST(nothing_fails)
{
	life(FAKE_ANY, 0, 0, false);
	assert_true(fake.major_faults <= 16);
	assert_int_equal(kit.st->stats.facility_failures, 0);
	assert_true(kit.st->stats.reads_told > 8);
	assert_true(kit.st->stats.walks > 0);
}

static void sweep(enum fake_kind kind, int error, bool for_ever)
{
	uint64_t calls = calls_of_a_life(kind);

	/* Each of the first calls, then some of the rest. */
	for (uint64_t nth = 1; nth <= calls; nth += nth < 24 ? 1 : calls / 16 + 1)
		life(kind, nth, error, for_ever);
}

TEST(any_call_fails_once)
{
	sweep(FAKE_ANY, EIO, false);
	sweep(FAKE_ANY, EINTR, false);
}

TEST(all_calls_fail_from_one_on)
{
	sweep(FAKE_ANY, EPERM, true);
	sweep(FAKE_ANY, ENOSYS, true);
}

TEST(calls_of_each_kind_fail)
{
	static const int errors[FAKE_KINDS] = {
		[FAKE_OPEN] = EMFILE,    [FAKE_CLOSE] = EIO,
		[FAKE_READ] = EIO,       [FAKE_PREADV2] = EOPNOTSUPP,
		[FAKE_FADVISE] = EINVAL, [FAKE_MADVISE] = ENOMEM,
		[FAKE_FSTAT] = EIO,      [FAKE_FSTATFS] = ENOSYS,
		[FAKE_GETFL] = EBADF,    [FAKE_POSITION] = ESPIPE,
		[FAKE_CACHESTAT] = EPERM,
	};

	for (int kind = 0; kind < FAKE_KINDS; kind++) {
		if (!errors[kind])
			continue;
		sweep((enum fake_kind)kind, errors[kind], false);
		sweep((enum fake_kind)kind, errors[kind], true);
	}
}

TEST(the_helper_cannot_read_without_waiting)
{
	life(FAKE_PREADV2, 1, EAGAIN, true);
	life(FAKE_PREADV2, 1, EOPNOTSUPP, true);
	assert_true(kit.st->stats.asked_bytes > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_fails),
		cmocka_unit_test(any_call_fails_once),
		cmocka_unit_test(all_calls_fail_from_one_on),
		cmocka_unit_test(calls_of_each_kind_fail),
		cmocka_unit_test(the_helper_cannot_read_without_waiting),
	};

	return RUN(tests);
}

/* SPDX-License-Identifier: MIT */
/* reads.h: which reads are looked at, what is held for them, and what the helper is told. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/arena.h"
#include "kit.h"
#include "reads.h"
#include "repeat.h"
#include "test.h"

#define FD    5
#define SIZE  (64 * MIB)
#define FIRST (128 * KIB)
/* More than the first bytes, which nobody looks at. */
#define PIECE (256 * KIB)

static struct wn_reader me;
static int file;
/* What the thread had read before it came to this file. */
static uint64_t at;

static void open_file(uint64_t size)
{
	kit_empty();
	file = size > 512 * MIB ? fake_huge_file("/data/file", 4711, size) :
				  fake_file("/data/file", 4711, size);
	fake_program_fd(FD, file);
	memset(&me, 0, sizeof(me));
	wn_reads_advised(FD, POSIX_FADV_NORMAL);
	at = 0;
}

static uint64_t looks(void)
{
	return fake.count[FAKE_FSTAT];
}

/* A read as the wrappers make it: true when it was looked at. */
static bool read_at(int fd, uint64_t offset, uint64_t n)
{
	uint64_t before = looks();

	if (!wn_reads_granted(&me, fd, n))
		wn_reads_look(&me, fd, (int64_t)offset, n, true);
	if (fd == FD || fd == FD + 1)
		fake_read(file, offset, offset + n);
	return looks() > before;
}

/* The next piece, upward. */
static bool read_on(uint64_t n)
{
	at += n;
	return read_at(FD, at - n, n);
}

/* Pieces that are looked at, until one has been found to be cold. */
static void become_cold(void)
{
	for (int i = 0; i < 3; i++)
		read_on(PIECE);
}

static bool told(struct wn_access *a)
{
	uint64_t lost = 0;

	return wn_ring_pop(&kit.st->ring, a, fake.now_ns, &lost);
}

static bool nothing_told(void)
{
	struct wn_access a;

	return !told(&a);
}

static void hear_all(void)
{
	struct wn_access a;

	while (told(&a))
		;
}

static uint16_t slot(void)
{
	struct stat st = { .st_dev = fake_at(file)->dev, .st_ino = fake_at(file)->ino };
	uint32_t serial;

	return wn_file_find(&wn_rt.track->files, &st, &serial);
}

static struct wn_file *tracked(void)
{
	assert_int_not_equal(slot(), WN_NO_FILE);
	return &wn_rt.track->files.slot[slot()];
}

static uint32_t refs(void)
{
	return slot() == WN_NO_FILE ? 0 : tracked()->refs;
}

/* -- Grants ---------------------------------------------------------------------------- */

TEST(the_first_bytes_are_not_looked_at)
{
	open_file(SIZE);
	/* A call costs a KiB more than it reads. */
	for (int i = 0; i < 25; i++)
		assert_false(read_on(4096));
	assert_int_equal(fake.count[FAKE_ANY], 0);
	assert_false(read_on(2048));
	assert_true(read_on(4096));
}

TEST(a_first_read_that_is_large_is_looked_at)
{
	open_file(SIZE);
	assert_true(read_at(FD, 0, FIRST));
}

TEST(warm_files_are_looked_at_less_and_less)
{
	uint64_t unseen = 0;
	int seen = 0;

	open_file(SIZE);
	fake_cache(file, 0, SIZE);
	while (at < SIZE) {
		if (read_on(4096))
			seen++;
		else if (seen == 3)
			unseen += 4096;
	}
	/* A MiB at a time, and a little more often at first. */
	assert_in_range(seen, 2, SIZE / MIB * 5 / 4 + 2);
	assert_in_range(unseen, 700 * KIB, MIB);
	assert_int_equal(kit.st->stats.reads_cold, 0);
	assert_int_equal(kit.st->stats.asked_bytes, 0);
	assert_int_equal(refs(), 0);
}

/* Of a file that stays warm, an eighth of what was read; what is cold then is seen. */
TEST(what_is_warm_for_long_is_looked_at_less)
{
	const uint64_t warm = 384 * MIB;
	int seen = 0;

	open_file(512 * MIB);
	fake_cache(file, 0, warm);
	while (at < 64 * MIB)
		seen += read_on(64 * KIB);
	assert_in_range(seen, 24, 40);
	for (seen = 0; at < warm;)
		seen += read_on(64 * KIB);
	assert_in_range(seen, 320 / 9, 320 / 7);
	assert_int_equal(kit.st->stats.reads_cold, 0);
	while (!kit.st->stats.reads_cold && at < 512 * MIB)
		read_on(64 * KIB);
	assert_true(at <= warm + 9 * MIB);
	/* Then nothing is spared: the next descriptor begins at the beginning. */
	assert_int_equal(me.warm, 0);
}

/* A file that was cold, and is warm further on, is let alone again. */
TEST(what_turns_warm_is_looked_at_less)
{
	int seen = 0;

	open_file(SIZE);
	become_cold();
	fake_cache(file, 0, SIZE);
	while (at < 32 * MIB)
		seen += read_on(4096);
	assert_in_range(seen, 20, 80);
}

/* What a server sends is no block of a device: only waiting for it shows. */
static bool read_of_a_server(uint64_t n, bool wait)
{
	bool seen = read_on(n);

	fake.blocks = 0;
	fake.waits += wait;
	return seen;
}

TEST(what_a_server_sends_shows_by_waiting)
{
	static const struct {
		uint64_t dev;
		uint32_t magic;
		bool wait, cold;
	} cases[] = {
		{ 39, 0x65735546, true, true },	  /* fuse */
		{ 39, 0x00006969, true, true },	  /* nfs */
		{ 39, 0x65735546, false, false }, /* it had the data */
		{ 39, 0x9123683e, true, false },  /* btrfs: has no device either, and is counted */
		{ 0x801, 0xef53, true, false },	  /* a wait for something else */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_file(SIZE);
		fake_at(file)->dev = cases[i].dev;
		fake_at(file)->magic = cases[i].magic;
		/* Small reads: their first look finds out nothing. */
		while (at < 2 * MIB)
			read_of_a_server(16 * KIB, cases[i].wait);
		assert_int_equal(kit.st ? kit.st->stats.reads_cold > 0 : 0, cases[i].cold);
	}
}

TEST(what_is_no_file_is_not_looked_at)
{
	static const unsigned modes[] = { S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK, S_IFDIR };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		open_file(SIZE);
		fake_at(file)->mode = modes[i] | 0644;
		assert_true(read_at(FD, 0, PIECE));
		for (uint64_t n = 0; n < 60 * MIB; n += PIECE)
			assert_false(read_at(FD, 0, PIECE));
		assert_int_equal(refs(), 0);
	}
}

TEST(small_files_are_not_looked_at)
{
	open_file(MIB - 1);
	assert_true(read_at(FD, 0, PIECE));
	for (int i = 0; i < 100; i++)
		assert_false(read_at(FD, 0, PIECE));
	assert_int_equal(kit.st->stats.reads_cold, 0);
}

TEST(descriptors_in_one_place_share_what_is_left)
{
	uint64_t n = 0;

	open_file(SIZE);
	fake_program_fd(FD + WN_GRANTS, file);
	while (!read_at(FD + (n % 2 ? WN_GRANTS : 0), n * 1024, 1024))
		n++;
	/* Two KiB for each, so 64 of the first bytes; not as many again with every turn. */
	assert_in_range(n, 32, 64);
}

TEST(descriptors_of_any_number)
{
	open_file(SIZE);
	fake_program_fd(0, file);
	assert_false(read_at(0, 0, 4096));
	assert_true(read_at(0, 0, PIECE));
	assert_int_equal(refs(), 1);
	/* These are none of the program's, which is found out. */
	assert_true(read_at(UINT16_MAX - 1, 0, PIECE));
	assert_int_equal(refs(), 1);
	assert_false(read_at(UINT16_MAX, 0, PIECE));
	assert_false(read_at(UINT16_MAX + 1, 0, PIECE));
	assert_false(read_at(INT_MAX, 0, PIECE));
	assert_false(read_at(-1, 0, PIECE));
	assert_false(read_at(-7, 0, PIECE));
	assert_false(read_at(INT_MIN, 0, PIECE));
	assert_true(read_at(UINT16_MAX - 1, 0, SIZE_MAX));
	for (int fd = -3; fd < 3; fd++) {
		wn_reads_advised(fd, POSIX_FADV_RANDOM);
		wn_reads_closing(&me, fd);
	}
	wn_reads_advised(INT_MIN, POSIX_FADV_RANDOM);
	wn_reads_advised(INT_MAX, POSIX_FADV_RANDOM);
	wn_reads_closing(&me, INT_MAX);
}

/* -- Cold ------------------------------------------------------------------------------ */

TEST(blocks_that_the_thread_had_to_read_tell)
{
	open_file(SIZE);
	/* Small reads: what was read before the first look is not known. */
	while (!read_on(4096))
		;
	assert_int_equal(refs(), 0);
	while (!read_on(4096))
		;
	assert_int_equal(refs(), 1);
	assert_int_equal(kit.st->stats.reads_cold, 1);
	/* From now on every read is looked at. */
	assert_true(read_on(4096));
	assert_true(read_on(4096));
}

TEST(a_large_first_read_is_looked_up)
{
	open_file(SIZE);
	assert_true(read_at(FD, 0, MIB));
	assert_int_equal(refs(), 1);
	open_file(SIZE);
	fake_cache(file, 0, SIZE);
	assert_true(read_at(FD, 0, MIB));
	assert_int_equal(refs(), 0);
	/* Where the kernel does not tell, nothing is believed. */
	open_file(SIZE);
	fake_fail(FAKE_CACHESTAT, 1, EPERM, true);
	assert_true(read_at(FD, 0, MIB));
	assert_int_equal(refs(), 0);
	assert_true(read_at(FD, MIB, MIB));
	assert_int_equal(refs(), 1);
}

TEST(what_a_child_had_to_read_begins_anew)
{
	open_file(SIZE);
	fake_cache(file, 0, SIZE);
	fake.blocks = 1000000;
	assert_true(read_on(PIECE));
	fake.blocks = 8;
	while (!read_on(4096))
		;
	assert_int_equal(kit.st->stats.reads_cold, 0);
	assert_int_equal(refs(), 0);
}

TEST(blocks_of_another_file_are_no_evidence_for_long)
{
	open_file(SIZE);
	fake_cache(file, 0, SIZE);
	assert_true(read_on(PIECE));
	fake.blocks += 1000;
	/* It is held once, and then found to be warm. */
	for (int i = 0; i < 40; i++)
		read_on(PIECE);
	assert_true(nothing_told() || kit.st->stats.asked_bytes == 0);
	assert_in_range(kit.st->stats.reads_cold, 0, 1);
}

/* -- The lease --------------------------------------------------------------------------- */

TEST(a_file_is_held_once)
{
	open_file(SIZE);
	become_cold();
	assert_int_equal(refs(), 1);
	for (int i = 0; i < 20; i++)
		read_on(PIECE);
	assert_int_equal(refs(), 1);
	/* Also when it is read through another descriptor, by another thread. */
	fake_program_fd(FD + 1, file);
	memset(&me, 0, sizeof(me));
	fake.thread++;
	for (int i = 0; i < 20; i++)
		read_at(FD + 1, 32 * MIB + (uint64_t)i * PIECE, PIECE);
	assert_int_equal(refs(), 1);
}

/* As the wrapper of close() does it. */
static void let_go(void)
{
	if (wn_reads_closing(&me, FD))
		wn_reads_closed();
}

TEST(closing_lets_go_and_waits_for_the_helper)
{
	uint32_t released;

	open_file(SIZE);
	become_cold();
	released = kit.st->released;
	let_go();
	assert_int_equal(refs(), 0);
	assert_int_equal(kit.st->released, released + 1);
	/* The helper has not come to it. */
	assert_int_equal(fake.count[FAKE_FUTEX_WAIT], 0);
	become_cold();
	wn_loop_round(&kit.loop);
	released = kit.st->released;
	let_go();
	assert_int_equal(refs(), 0);
	assert_int_equal(kit.st->released, released + 1);
	assert_true(fake.count[FAKE_FUTEX_WAIT] > 0);
	/* Once. */
	let_go();
	assert_int_equal(kit.st->released, released + 1);
	/* What is read on is held anew. */
	become_cold();
	assert_int_equal(refs(), 1);
}

TEST(closing_what_was_not_cold_waits_for_nobody)
{
	open_file(SIZE);
	fake_cache(file, 0, SIZE);
	for (int i = 0; i < 20; i++)
		read_on(PIECE);
	fake_program_fd(FD + 1, file);
	wn_reads_closing(&me, FD);
	wn_reads_closing(&me, FD + 1);
	wn_reads_closing(&me, FD + WN_GRANTS);
	assert_int_equal(fake.count[FAKE_FUTEX_WAIT], 0);
	assert_int_equal(kit.st->released, 0);
}

TEST(a_closed_descriptor_is_met_anew)
{
	open_file(SIZE);
	fake_at(file)->mode = S_IFIFO | 0600;
	assert_true(read_at(FD, 0, PIECE));
	assert_false(read_at(FD, 0, PIECE));
	wn_reads_closing(&me, FD);
	assert_true(read_at(FD, 0, PIECE));
}

TEST(quiet_files_are_let_go_of)
{
	open_file(SIZE);
	become_cold();
	wn_loop_round(&kit.loop);
	fake.now_ns += SECOND_NS;
	wn_loop_round(&kit.loop);
	assert_int_equal(refs(), 1);
	/* A read that is told keeps it. */
	read_on(PIECE);
	wn_loop_round(&kit.loop);
	fake.now_ns += SECOND_NS + SECOND_NS / 2;
	wn_loop_round(&kit.loop);
	assert_int_equal(refs(), 1);
	fake.now_ns += 3 * SECOND_NS;
	wn_loop_round(&kit.loop);
	assert_int_equal(refs(), 0);
	/* Then closing has nothing left to drop, also of what has taken its place. */
	become_cold();
	assert_int_equal(refs(), 1);
	wn_reads_closing(&me, FD);
	assert_int_equal(refs(), 0);
	assert_true(kit_settle() > 0);
	assert_int_equal(fake_open_fds(), 0);
}

TEST(the_end_of_the_helper_lets_go)
{
	open_file(SIZE);
	become_cold();
	wn_loop_round(&kit.loop);
	wn_loop_end(&kit.loop);
	assert_int_equal(refs(), 0);
	assert_int_equal(fake_open_fds(), 0);
}

TEST(a_forked_child_can_let_go)
{
	open_file(SIZE);
	become_cold();
	/* What the kernel does to the state; files and their references stay. */
	memset(kit.st, 0, sizeof(*kit.st));
	kit.st->helper_tid = 1;
	kit.st->pid = (uint32_t)wn_sys->getpid();
	become_cold();
	assert_int_equal(refs(), 1);
	wn_reads_closing(&me, FD);
	assert_int_equal(refs(), 0);
}

TEST(what_a_borrowing_child_closes_is_open_still)
{
	open_file(SIZE);
	become_cold();
	fake.process = 999;
	wn_reads_closing(&me, FD);
	assert_int_equal(refs(), 1);
	assert_int_equal(kit.st->released, 0);
	fake.process = 1234;
	wn_reads_closing(&me, FD);
	assert_int_equal(refs(), 0);
}

/* -- Advice and flags ------------------------------------------------------------------ */

TEST(random_descriptors_are_left_alone)
{
	open_file(SIZE);
	wn_reads_advised(FD, POSIX_FADV_RANDOM);
	for (int i = 0; i < 40; i++)
		read_on(PIECE);
	assert_int_equal(looks(), 1);
	assert_int_equal(refs(), 0);
	/* Not so others. */
	fake_program_fd(FD + 1, file);
	for (int i = 0; i < 20; i++)
		read_at(FD + 1, 32 * MIB + (uint64_t)i * PIECE, PIECE);
	assert_int_equal(refs(), 1);
}

TEST(other_advice_changes_nothing)
{
	open_file(SIZE);
	wn_reads_advised(FD, POSIX_FADV_RANDOM);
	wn_reads_advised(FD, POSIX_FADV_WILLNEED);
	wn_reads_advised(FD, POSIX_FADV_DONTNEED);
	wn_reads_advised(FD, POSIX_FADV_NOREUSE);
	become_cold();
	assert_int_equal(refs(), 0);
}

TEST(random_is_forgotten)
{
	for (int how = 0; how < 3; how++) {
		open_file(SIZE);
		wn_reads_advised(FD, POSIX_FADV_RANDOM);
		if (how == 0)
			wn_reads_advised(FD, POSIX_FADV_NORMAL);
		else if (how == 1)
			wn_reads_advised(FD, POSIX_FADV_SEQUENTIAL);
		else
			wn_reads_closing(&me, FD);
		become_cold();
		assert_int_equal(refs(), 1);
	}
}

TEST(direct_reads_are_not_told)
{
	open_file(SIZE);
	fake.getfl = O_DIRECT;
	for (int i = 0; i < 20; i++)
		read_on(PIECE);
	assert_int_equal(refs(), 0);
	assert_int_equal(kit.st->stats.asked_bytes, 0);
	assert_true(nothing_told());
}

/* -- What is told -------------------------------------------------------------------- */

static void assert_told(uint64_t offset, uint64_t length, unsigned flags)
{
	struct wn_access a;

	assert_true(told(&a));
	assert_int_equal(a.offset, offset);
	assert_int_equal(a.length, length);
	assert_int_equal(a.flags, flags);
	assert_int_equal(a.kind, WN_ACCESS_READ);
	assert_int_equal(a.file, slot());
	assert_int_equal(a.thread, fake.thread);
}

/* A file that is being read cold, last from `offset` on; and nothing is told of that yet. */
static void cold_at(uint64_t offset)
{
	open_file(SIZE);
	become_cold();
	read_at(FD, offset, 8192);
	hear_all();
}

TEST(upward)
{
	cold_at(20 * MIB);
	read_at(FD, 20 * MIB + 8192, 8192);
	assert_told(20 * MIB + 8192, 8192, WN_ACCESS_UP);
	/* A little that was skipped belongs to it. */
	read_at(FD, 20 * MIB + 16384 + 4096, 4096);
	assert_told(20 * MIB + 16384, 8192, WN_ACCESS_UP);
	read_at(FD, 20 * MIB + 24576 + 64 * KIB + 4096, 8192);
	assert_told(20 * MIB + 24576 + 64 * KIB + 4096, 8192, 0);
	assert_true(nothing_told());
}

TEST(downward)
{
	cold_at(20 * MIB);
	read_at(FD, 20 * MIB - 8192, 8192);
	assert_told(20 * MIB - 8192, 8192, WN_ACCESS_DOWN);
	read_at(FD, 20 * MIB - 8192 - 12288, 8192);
	assert_told(20 * MIB - 8192 - 12288, 12288, WN_ACCESS_DOWN);
	assert_true(nothing_told());
}

TEST(near_and_far)
{
	cold_at(20 * MIB);
	read_at(FD, 20 * MIB + 8192 + 100 * KIB, 8192);
	assert_told(20 * MIB + 8192 + 100 * KIB, 8192, 0);
	/* Sixteen pieces away, and a page more. */
	read_at(FD, 20 * MIB + 16384 + 100 * KIB + 17 * 8192, 8192);
	assert_true(nothing_told());
	read_at(FD, 50 * MIB, 8192);
	assert_true(nothing_told());
	read_at(FD, 0, 8192);
	assert_true(nothing_told());
	/* The same again is near, but no way on. */
	fake_evict(file, 0, SIZE);
	read_at(FD, 0, 8192);
	assert_told(0, 8192, 0);
}

/* A thread that reads several places by turns has a mark at each. */
TEST(places_by_turns)
{
	cold_at(20 * MIB);
	for (uint64_t place = 1; place <= 5; place++)
		read_at(FD, (20 + 5 * place) * MIB, 8192);
	hear_all();
	for (uint64_t i = 1; i <= 4; i++) {
		for (uint64_t place = 1; place <= 5; place++) {
			read_at(FD, (20 + 5 * place) * MIB + i * 8192, 8192);
			assert_told((20 + 5 * place) * MIB + i * 8192, 8192, WN_ACCESS_UP);
		}
	}
	assert_true(nothing_told());
}

/* Where the user wants it proven, random reads are told of, as such. */
TEST(random_may_prove_itself)
{
	open_file(SIZE);
	wn_store(&wn_rt.options.value[WN_OPT_RANDOM], WN_RANDOM_PROVE);
	wn_reads_advised(FD, POSIX_FADV_RANDOM);
	become_cold();
	assert_int_equal(refs(), 1);
	hear_all();
	read_at(FD, at, 8192);
	assert_told(at, 8192, WN_ACCESS_UP | WN_ACCESS_EXACT);
	/* Nothing is asked for before that, not even what the read itself is about to read. */
	assert_int_equal(kit.st->stats.asked_bytes, 0);
	wn_store(&wn_rt.options.value[WN_OPT_RANDOM], WN_RANDOM_OBEY);
}

/* Opening the file once more would be noticed: a lease. */
TEST(spared_until_closed)
{
	open_file(SIZE);
	become_cold();
	assert_int_equal(refs(), 1);
	wn_reads_spare(FD, true);
	assert_int_equal(refs(), 0);
	become_cold();
	become_cold();
	assert_int_equal(refs(), 0);
	wn_reads_closing(&me, FD);
	become_cold();
	become_cold();
	assert_int_equal(refs(), 1);
}

/* Records as far from one another as the time before, whichever way. */
TEST(a_step_apart)
{
	for (int down = 0; down < 2; down++) {
		uint64_t step = down ? (uint64_t)0 - 4 * MIB : 4 * MIB;

		cold_at(32 * MIB);
		read_at(FD, 32 * MIB + step, 8192);
		assert_true(nothing_told());
		read_at(FD, 32 * MIB + 2 * step, 8192);
		assert_told(32 * MIB + 2 * step, 8192, WN_ACCESS_APART);
		read_at(FD, 32 * MIB + 3 * step + 8192, 8192);
		assert_true(nothing_told());
	}
}

TEST(each_thread_has_its_own_mark)
{
	cold_at(20 * MIB);
	fake.thread++;
	read_at(FD, 40 * MIB, 8192);
	assert_true(nothing_told());
	fake.thread--;
	read_at(FD, 20 * MIB + 8192, 8192);
	assert_told(20 * MIB + 8192, 8192, WN_ACCESS_UP);
	fake.thread++;
	read_at(FD, 40 * MIB + 8192, 8192);
	assert_told(40 * MIB + 8192, 8192, WN_ACCESS_UP);
}

TEST(the_position_tells_where_a_read_is)
{
	cold_at(20 * MIB);
	fake_seek(FD, (int64_t)(20 * MIB + 8192));
	me.grant[FD % WN_GRANTS].left = 0;
	wn_reads_look(&me, FD, WN_AT_POSITION, 8192, true);
	fake_read(file, 20 * MIB + 8192, 20 * MIB + 16384);
	assert_told(20 * MIB + 8192, 8192, WN_ACCESS_UP);
	/* After the call it is where the next one begins. */
	fake_seek(FD, (int64_t)(20 * MIB + 24576));
	fake.blocks++;
	me.grant[FD % WN_GRANTS].left = 0;
	wn_reads_look(&me, FD, WN_BEHIND_POSITION, 8192, false);
	assert_told(20 * MIB + 16384, 8192, WN_ACCESS_UP);
	/* Somebody else has set it back meanwhile. */
	fake_seek(FD, 0);
	me.grant[FD % WN_GRANTS].left = 0;
	wn_reads_look(&me, FD, WN_BEHIND_POSITION, 8192, false);
	fake_seek(FD, -1);
	me.grant[FD % WN_GRANTS].left = 0;
	wn_reads_look(&me, FD, WN_AT_POSITION, 8192, true);
	assert_true(nothing_told());
}

TEST(a_wide_kernel_window_needs_no_help_upward)
{
	cold_at(20 * MIB);
	tracked()->wide = 1;
	read_at(FD, 20 * MIB + 8192, 8192);
	assert_true(nothing_told());
	/* And no look for a while. */
	assert_false(read_at(FD, 20 * MIB + 16384, 8192));
	me.grant[FD % WN_GRANTS].left = 0;
	read_at(FD, 20 * MIB, 8192);
	hear_all();
	read_at(FD, 20 * MIB - 8192, 8192);
	assert_told(20 * MIB - 8192, 8192, WN_ACCESS_DOWN);
}

TEST(beyond_four_gib)
{
	uint64_t far = 5 * GIB + 4096;

	open_file(TIB);
	assert_true(read_at(FD, far, FIRST));
	fake.blocks += 256;
	assert_true(read_at(FD, far + FIRST, FIRST));
	fake.blocks += 256;
	hear_all();
	assert_true(read_at(FD, far + 2 * FIRST, FIRST));
	assert_told(far + 2 * FIRST, FIRST, WN_ACCESS_UP);
	fake.blocks += 256;
	assert_true(read_at(FD, far + FIRST, FIRST));
	hear_all();
	fake.blocks += 256;
	assert_true(read_at(FD, far, FIRST));
	assert_told(far, FIRST, WN_ACCESS_DOWN);
}

TEST(what_the_program_asked_for_is_not_ours)
{
	off_t offset = 0, length = SIZE;
	struct wn_repeat r;

	open_file(SIZE);
	wn_options_set(&wn_rt.options, "advice", "dedup");
	for (uint64_t to = 0; to < SIZE; to += 64 * KIB) {
		offset = (off_t)to;
		length = 64 * KIB;
		wn_repeat_file(&r, FD, WN_READABLE_FILE, &offset, &length);
		wn_repeat_told(&r, true);
	}
	while (at < SIZE)
		read_on(PIECE);
	assert_int_equal(kit.st->stats.reads_cold, 0);
	assert_int_equal(kit.st->stats.asked_bytes, 0);
	assert_int_equal(refs(), 0);
	assert_true(nothing_told());
}

/* -- The thread's own asking --------------------------------------------------------------- */

static uint64_t from, to, calls;

static void advised(int f, uint64_t offset, uint64_t length)
{
	assert_int_equal(f, file);
	from = offset < from ? offset : from;
	to = offset + length > to ? offset + length : to;
	calls++;
}

static void listen_to_advice(void)
{
	fake.on_advice = advised;
	from = UINT64_MAX;
	to = calls = 0;
}

TEST(only_what_the_call_reads_is_asked_for)
{
	open_file(SIZE);
	become_cold();
	tracked()->chunk = (uint32_t)PIECE;
	listen_to_advice();
	read_at(FD, 20 * MIB + 4096, MIB);
	assert_int_equal(from, 20 * MIB + 4096);
	assert_int_equal(to, 21 * MIB + 4096);
	assert_int_equal(calls, 4);
	assert_int_equal(fake.again, 0);
	/* What the kernel reads at a time is left to it. */
	listen_to_advice();
	read_at(FD, 40 * MIB, PIECE);
	assert_int_equal(calls, 0);
	/* A call that has returned needs nothing any more. */
	fake.blocks += 8;
	wn_reads_look(&me, FD, 50 * (int64_t)MIB, MIB, false);
	assert_int_equal(calls, 0);
}

/* What was granted unseen may be as long, and is no call that its thread asks for. */
TEST(a_long_call_is_told_from_many_short_ones)
{
	struct wn_access a;
	uint64_t offset = 20 * MIB;

	cold_at(offset);
	tracked()->chunk = (uint32_t)PIECE;
	for (int i = 0; i < 2; i++) {
		me.grant[FD % WN_GRANTS].left = 0;
		read_at(FD, offset, MIB);
		offset += MIB;
		assert_true(told(&a));
		assert_true(a.flags & WN_ACCESS_LONG);
	}
	/* After 1 MiB of which nothing was seen. */
	me.grant[FD % WN_GRANTS].left = 0;
	fake_read(file, offset, offset + MIB);
	read_at(FD, offset + MIB, 4096);
	hear_all();
	wn_reads_look(&me, FD, (int64_t)(offset + MIB + 4096), MIB, false);
	assert_true(!told(&a) || !(a.flags & WN_ACCESS_LONG));
	me.grant[FD % WN_GRANTS].left = 0;
	read_at(FD, offset + 2 * MIB + 4096, 4096);
	assert_true(!told(&a) || !(a.flags & WN_ACCESS_LONG));
}

TEST(what_one_call_of_advice_reads_is_found_out)
{
	open_file(SIZE);
	listen_to_advice();
	read_at(FD, 0, 2 * MIB);
	assert_int_equal(from, 0);
	assert_int_equal(to, 2 * MIB);
	assert_int_equal(tracked()->chunk, 1280 * KIB);
	/* All of it at once, and then the rest. */
	assert_int_equal(calls, 2);
	assert_int_equal(fake_missing(file, 2 * MIB, SIZE), SIZE - 2 * MIB);
}

TEST(the_rest_of_a_long_read_is_the_helpers)
{
	open_file(SIZE);
	become_cold();
	tracked()->chunk = (uint32_t)PIECE;
	listen_to_advice();
	read_at(FD, 20 * MIB, 16 * MIB);
	assert_int_equal(from, 20 * MIB);
	assert_int_equal(to, 22 * MIB);
	fake.on_advice = NULL;
	fake_evict(file, 22 * MIB, SIZE);
	assert_int_equal(refs(), 2);
	wn_loop_round(&kit.loop);
	assert_true(kit_settle() > 0);
	assert_int_equal(fake_missing(file, 22 * MIB, 36 * MIB), 0);
	assert_int_equal(fake_missing(file, 36 * MIB, SIZE), SIZE - 36 * MIB);
}

TEST(a_thread_asks_for_whole_requests)
{
	static const uint64_t chunk[] = { MIB, 1280 * KIB, 2 * MIB, 4 * MIB };

	for (size_t i = 0; i < sizeof(chunk) / sizeof(chunk[0]); i++) {
		open_file(SIZE);
		become_cold();
		tracked()->chunk = (uint32_t)chunk[i];
		listen_to_advice();
		read_at(FD, 20 * MIB + 4096, 16 * MIB);
		assert_int_equal(from, 20 * MIB + 4096);
		assert_int_equal((to - from) % chunk[i], 0);
		assert_int_equal(calls, (to - from) / chunk[i]);
		assert_in_range(to - from, 2 * MIB, 4 * MIB);
	}
}

TEST(nothing_beyond_the_end)
{
	open_file(8 * MIB);
	become_cold();
	tracked()->chunk = (uint32_t)PIECE;
	listen_to_advice();
	read_at(FD, 7 * MIB, 4 * MIB);
	assert_int_equal(from, 7 * MIB);
	assert_int_equal(to, 8 * MIB);
	hear_all();
	listen_to_advice();
	me.grant[FD % WN_GRANTS].left = 0;
	fake.blocks += 8;
	read_at(FD, 8 * MIB, 4 * MIB);
	me.grant[FD % WN_GRANTS].left = 0;
	read_at(FD, TIB, 4 * MIB);
	assert_int_equal(calls, 0);
	assert_true(nothing_told());
}

TEST(nothing_is_asked_for_when_it_only_observes)
{
	open_file(SIZE);
	wn_options_set(&wn_rt.options, "mode", "observe");
	listen_to_advice();
	for (int i = 0; i < 8; i++)
		read_on(2 * MIB);
	assert_int_equal(calls, 0);
	assert_int_equal(kit.st->stats.asked_bytes, 0);
}

/* -- Off ------------------------------------------------------------------------------- */

TEST(off_or_dormant_means_no_calls)
{
	for (int how = 0; how < 3; how++) {
		open_file(SIZE);
		if (how == 0)
			wn_options_set(&wn_rt.options, "mode", "off");
		else if (how == 1)
			wn_options_set(&wn_rt.options, "reads", "off");
		else
			wn_store(&wn_rt.dormant, 1);
		while (at < SIZE)
			read_on(PIECE);
		wn_reads_closing(&me, FD);
		assert_int_equal(fake.count[FAKE_ANY], 0);
		wn_store(&wn_rt.dormant, 0);
	}
}

TEST(short_memory_means_no_help)
{
	open_file(SIZE);
	kit.st->tight = 1;
	while (at < SIZE)
		read_on(PIECE);
	assert_int_equal(kit.st->stats.asked_bytes, 0);
	assert_int_equal(refs(), 0);
	assert_true(nothing_told());
}

TEST(files_that_cannot_be_helped_are_left_alone)
{
	open_file(SIZE);
	become_cold();
	hear_all();
	tracked()->useless = 1;
	while (at < SIZE)
		read_on(PIECE);
	assert_true(nothing_told());
	assert_true(looks() < 100);
}

/* All of it together, with the helper's rounds: nearly all is there when it is read. */
TEST(reads_in_order_are_led)
{
	for (int down = 0; down < 2; down++) {
		open_file(SIZE);
		while (at < SIZE) {
			at += 8192;
			read_at(FD, down ? SIZE - at : at - 8192, 8192);
			wn_loop_round(&kit.loop);
			fake_arrive();
			fake.now_ns += MS_NS / 10;
		}
		/* Upward, the kernel's own readahead would do what comes first. */
		assert_true(fake.blocks * 512 <= (down ? MIB / 2 : 3 * MIB));
		/* Downward a few pages in front of each ride are read twice; see seed.c. */
		assert_in_range(fake_most_asked(file, 0, SIZE), 1, 1 + down);
		assert_int_equal(fake.foul, 0);
		wn_reads_closing(&me, FD);
		assert_int_equal(refs(), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_bytes_are_not_looked_at),
		cmocka_unit_test(a_first_read_that_is_large_is_looked_at),
		cmocka_unit_test(warm_files_are_looked_at_less_and_less),
		cmocka_unit_test(what_is_warm_for_long_is_looked_at_less),
		cmocka_unit_test(what_turns_warm_is_looked_at_less),
		cmocka_unit_test(what_a_server_sends_shows_by_waiting),
		cmocka_unit_test(what_is_no_file_is_not_looked_at),
		cmocka_unit_test(small_files_are_not_looked_at),
		cmocka_unit_test(descriptors_in_one_place_share_what_is_left),
		cmocka_unit_test(descriptors_of_any_number),
		cmocka_unit_test(blocks_that_the_thread_had_to_read_tell),
		cmocka_unit_test(a_large_first_read_is_looked_up),
		cmocka_unit_test(what_a_child_had_to_read_begins_anew),
		cmocka_unit_test(blocks_of_another_file_are_no_evidence_for_long),
		cmocka_unit_test(a_file_is_held_once),
		cmocka_unit_test(closing_lets_go_and_waits_for_the_helper),
		cmocka_unit_test(closing_what_was_not_cold_waits_for_nobody),
		cmocka_unit_test(a_closed_descriptor_is_met_anew),
		cmocka_unit_test(quiet_files_are_let_go_of),
		cmocka_unit_test(the_end_of_the_helper_lets_go),
		cmocka_unit_test(a_forked_child_can_let_go),
		cmocka_unit_test(what_a_borrowing_child_closes_is_open_still),
		cmocka_unit_test(random_descriptors_are_left_alone),
		cmocka_unit_test(other_advice_changes_nothing),
		cmocka_unit_test(random_is_forgotten),
		cmocka_unit_test(direct_reads_are_not_told),
		cmocka_unit_test(upward),
		cmocka_unit_test(downward),
		cmocka_unit_test(near_and_far),
		cmocka_unit_test(a_step_apart),
		cmocka_unit_test(places_by_turns),
		cmocka_unit_test(random_may_prove_itself),
		cmocka_unit_test(spared_until_closed),
		cmocka_unit_test(each_thread_has_its_own_mark),
		cmocka_unit_test(the_position_tells_where_a_read_is),
		cmocka_unit_test(a_wide_kernel_window_needs_no_help_upward),
		cmocka_unit_test(beyond_four_gib),
		cmocka_unit_test(what_the_program_asked_for_is_not_ours),
		cmocka_unit_test(only_what_the_call_reads_is_asked_for),
		cmocka_unit_test(a_long_call_is_told_from_many_short_ones),
		cmocka_unit_test(what_one_call_of_advice_reads_is_found_out),
		cmocka_unit_test(the_rest_of_a_long_read_is_the_helpers),
		cmocka_unit_test(a_thread_asks_for_whole_requests),
		cmocka_unit_test(nothing_beyond_the_end),
		cmocka_unit_test(nothing_is_asked_for_when_it_only_observes),
		cmocka_unit_test(off_or_dormant_means_no_calls),
		cmocka_unit_test(short_memory_means_no_help),
		cmocka_unit_test(files_that_cannot_be_helped_are_left_alone),
		cmocka_unit_test(reads_in_order_are_led),
	};

	return RUN(tests);
}

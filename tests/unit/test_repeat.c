/* SPDX-License-Identifier: MIT */
/* repeat.h: what is answered, what is trimmed, what must never be. */
#include <errno.h>
#include <fcntl.h>

#include "kit.h"
#include "repeat.h"
#include "request.h"
#include "test.h"

#define CHUNK (128 * KIB)

static off_t offset, length;
static struct wn_repeat r;

/* The program's call: true when it was answered; else `offset` and `length` go on. */
static bool ask(int fd, uint64_t from, uint64_t n)
{
	offset = (off_t)from;
	length = (off_t)n;
	if (wn_repeat_file(&r, fd, WN_READABLE_FILE, &offset, &length))
		return true;
	wn_repeat_told(&r, true);
	return false;
}

static void reset(void)
{
	kit_reset(64 * MIB);
	wn_options_set(&wn_rt.options, "advice", "dedup");
}

/* The clock is looked at when many cycles have passed: let the next call do so. */
static void later(uint64_t seconds)
{
	fake.now_ns += seconds * SECOND_NS;
	kit.st->ticked = 0;
}

TEST(what_was_asked_is_answered)
{
	reset();
	assert_false(ask(KIT_FD, 4096, CHUNK));
	assert_int_equal(offset, 4096);
	assert_int_equal(length, CHUNK);
	assert_true(ask(KIT_FD, 4096, CHUNK));
	assert_true(ask(KIT_FD, 8192, 100));
	assert_false(ask(KIT_FD, 0, 100));
	wn_repeat_settle();
	assert_int_equal(kit.st->stats.advice_calls, 4);
	assert_int_equal(kit.st->stats.advice_answered, 2);
}

TEST(only_as_much_as_the_kernel_takes_was_asked)
{
	reset();
	assert_false(ask(KIT_FD, 0, 4 * MIB));
	assert_int_equal(length, 4 * MIB);
	assert_false(ask(KIT_FD, 0, 4 * MIB));
	assert_int_equal(offset, CHUNK);
	assert_int_equal(length, 4 * MIB - CHUNK);
	wn_store(&kit.track->files.slot[kit.slot].chunk, (uint32_t)MIB);
	assert_false(ask(KIT_FD, 10 * MIB, 4 * MIB));
	assert_false(ask(KIT_FD, 10 * MIB, MIB + 1));
	assert_int_equal(offset, 11 * MIB);
	assert_int_equal(length, 1);
}

TEST(both_ends_are_trimmed)
{
	reset();
	assert_false(ask(KIT_FD, 0, 16 * KIB));
	assert_false(ask(KIT_FD, 48 * KIB, 16 * KIB));
	assert_false(ask(KIT_FD, 0, 64 * KIB));
	assert_int_equal(offset, 16 * KIB);
	assert_int_equal(length, 32 * KIB);
	/* A hole that was asked for, in the middle, does not make two calls of one. */
	assert_false(ask(KIT_FD, 208 * KIB, 16 * KIB));
	assert_false(ask(KIT_FD, 200 * KIB, 64 * KIB));
	assert_int_equal(offset, 200 * KIB);
	assert_int_equal(length, 64 * KIB);
	assert_true(ask(KIT_FD, 200 * KIB, 64 * KIB));
}

TEST(the_end_of_the_file)
{
	reset();
	assert_false(ask(KIT_FD, 64 * MIB - 8192, 0));
	assert_int_equal(length, 0);
	assert_true(ask(KIT_FD, 64 * MIB - 4096, 0));
	assert_true(ask(KIT_FD, 64 * MIB - 4096, 1 * GIB));
	assert_false(ask(KIT_FD, 64 * MIB, 4096));
	assert_false(ask(KIT_FD, 64 * MIB, 4096));
	assert_false(ask(KIT_FD, (uint64_t)-4096, 8192));
	assert_false(ask(KIT_FD, 0, (uint64_t)-1));
}

TEST(another_file_is_never_answered)
{
	int other;

	reset();
	other = fake_file("/data/other", 4712, MIB);
	assert_false(ask(KIT_FD, 0, CHUNK));
	fake_program_fd(KIT_FD, other);
	assert_false(ask(KIT_FD, 0, CHUNK));
	assert_true(ask(KIT_FD, 0, CHUNK));
	fake_program_fd(KIT_FD, kit.file);
	assert_true(ask(KIT_FD, 0, CHUNK));
	/* The same number, another identity. */
	fake_at(kit.file)->ino = 99;
	assert_false(ask(KIT_FD, 0, CHUNK));
	fake_program_fd(KIT_FD, -1);
	assert_false(ask(KIT_FD, 0, CHUNK));
}

TEST(a_descriptor_that_would_be_refused_is)
{
	reset();
	assert_false(ask(KIT_FD, 0, CHUNK));
	fake.getfl = O_WRONLY;
	assert_false(ask(KIT_FD, 0, CHUNK));
	assert_int_equal(length, CHUNK);
	offset = 0;
	assert_true(wn_repeat_file(&r, KIT_FD, WN_ANY_OPEN_FILE, &offset, &length));
	fake.getfl = O_PATH;
	assert_false(wn_repeat_file(&r, KIT_FD, WN_ANY_OPEN_FILE, &offset, &length));
	fake.getfl = -EBADF;
	assert_false(ask(KIT_FD, 0, CHUNK));
}

TEST(a_change_is_noticed)
{
	reset();
	assert_false(ask(KIT_FD, 0, CHUNK));
	assert_true(ask(KIT_FD, 0, CHUNK));
	fake_at(kit.file)->changed++;
	assert_false(ask(KIT_FD, 0, CHUNK));
	assert_true(ask(KIT_FD, 0, CHUNK));
	wn_repeat_forget_file(KIT_FD, 4096, 4096);
	assert_false(ask(KIT_FD, 0, CHUNK));
	assert_int_equal(offset, 4096);
	assert_int_equal(length, 4096);
	wn_repeat_forget_file(KIT_FD, 64 * KIB, 0);
	assert_false(ask(KIT_FD, 0, CHUNK));
	assert_int_equal(offset, 64 * KIB);
}

TEST(a_call_that_fails_has_not_asked)
{
	reset();
	offset = 0;
	length = (off_t)CHUNK;
	assert_false(wn_repeat_file(&r, KIT_FD, WN_READABLE_FILE, &offset, &length));
	wn_repeat_told(&r, false);
	assert_false(ask(KIT_FD, 0, CHUNK));
}

TEST(age_and_settings)
{
	reset();
	assert_false(ask(KIT_FD, 0, CHUNK));
	fake_fail(FAKE_CACHESTAT, 1, EPERM, true);
	later(5);
	assert_true(ask(KIT_FD, 0, CHUNK));
	later(15);
	assert_false(ask(KIT_FD, 0, CHUNK));
	wn_options_set(&wn_rt.options, "advice", "pass");
	assert_false(ask(KIT_FD, 0, CHUNK));
	wn_options_set(&wn_rt.options, "advice", "dedup");
	wn_options_set(&wn_rt.options, "mode", "observe");
	assert_false(ask(KIT_FD, 0, CHUNK));
}

/* After a while it is looked whether the pages are there: for how long does not matter. */
TEST(what_is_old_is_looked_at)
{
	reset();
	fake_cache(kit.file, 0, MIB);
	assert_false(ask(KIT_FD, 0, CHUNK));
	for (int i = 0; i < 6; i++) {
		later(20);
		assert_true(ask(KIT_FD, 0, CHUNK));
		assert_true(ask(KIT_FD, 64 * KIB, 16 * KIB));
	}
	assert_int_equal(fake.count[FAKE_CACHESTAT], 6);
	later(2);
	fake_evict(kit.file, 512 * KIB, 513 * KIB);
	assert_true(ask(KIT_FD, 0, CHUNK));
	assert_false(ask(KIT_FD, 448 * KIB, CHUNK));
	assert_int_equal(length, CHUNK);
}

/* What one call leaves out, the helper asks for, up to the window. */
TEST(large_advice_is_completed)
{
	kit_reset(128 * MIB);
	assert_false(ask(KIT_FD, 0, 4 * MIB));
	assert_true(kit_settle() > 0);
	assert_int_equal(fake_missing(kit.file, CHUNK, 4 * MIB), 0);
	assert_int_equal(fake_missing(kit.file, 4 * MIB, 128 * MIB), 124 * MIB);
	assert_true(ask(KIT_FD, 0, 4 * MIB));
	assert_false(ask(KIT_FD, 8 * MIB, 0));
	assert_true(kit_settle() > 0);
	assert_int_equal(fake_missing(kit.file, 10 * MIB, 72 * MIB), 0);
	assert_true(fake_missing(kit.file, 72 * MIB, 128 * MIB) >= 50 * MIB);
}

TEST(by_address)
{
	void *at = (void *)(KIT_ADDR + MIB);
	size_t n = CHUNK;

	reset();
	assert_false(wn_repeat_memory(&r, &at, &n));
	wn_repeat_told(&r, true);
	assert_true(wn_repeat_memory(&r, &at, &n));
	assert_true(ask(KIT_FD, MIB, CHUNK));
	n = 2 * CHUNK;
	assert_false(wn_repeat_memory(&r, &at, &n));
	assert_int_equal((uint64_t)at, KIT_ADDR + MIB + CHUNK);
	assert_int_equal(n, CHUNK);
	wn_repeat_told(&r, true);
	wn_repeat_forget_memory(at, 4096);
	at = (void *)(KIT_ADDR + MIB);
	n = 2 * CHUNK;
	assert_false(wn_repeat_memory(&r, &at, &n));
	assert_int_equal(n, 4096);
	/* Beyond the mapping, and unaligned: the kernel knows what to say. */
	wn_repeat_told(&r, true);
	at = (void *)(KIT_ADDR + MIB);
	n = 64 * MIB;
	assert_false(wn_repeat_memory(&r, &at, &n));
	assert_int_equal(n, 64 * MIB);
	at = (void *)(KIT_ADDR + MIB + 1);
	n = 4096;
	assert_false(wn_repeat_memory(&r, &at, &n));
	assert_null(r.st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_asked_is_answered),
		cmocka_unit_test(only_as_much_as_the_kernel_takes_was_asked),
		cmocka_unit_test(both_ends_are_trimmed),
		cmocka_unit_test(the_end_of_the_file),
		cmocka_unit_test(another_file_is_never_answered),
		cmocka_unit_test(a_descriptor_that_would_be_refused_is),
		cmocka_unit_test(a_change_is_noticed),
		cmocka_unit_test(a_call_that_fails_has_not_asked),
		cmocka_unit_test(age_and_settings),
		cmocka_unit_test(what_is_old_is_looked_at),
		cmocka_unit_test(large_advice_is_completed),
		cmocka_unit_test(by_address),
	};

	return RUN(tests);
}

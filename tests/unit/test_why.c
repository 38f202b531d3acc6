/* SPDX-License-Identifier: MIT */
/* why.h: each reason once for each file, not too many of them, and nothing unless asked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"
#include "options.h"
#include "test.h"
#include "verdict.h"
#include "why.h"

static char path[] = "/tmp/willneed-why-XXXXXX";
static struct wn_options options;
static char text[65536];

/* The log's own file is a real one, which the fake kernel does not know. */
static ssize_t write_really(int fd, const void *buf, size_t n)
{
	return write(fd, buf, n);
}

static int close_really(int fd)
{
	return close(fd);
}

/* Another process than before; what it tells goes to an empty file, or nowhere. */
static void reset(bool asked)
{
	static struct wn_sys sys;
	static int pid = 4000;

	kit_reset(MIB);
	sys = *wn_sys;
	sys.write = write_really;
	sys.close = close_really;
	wn_sys = &sys;
	fake.process = pid += 10;
	wn_options_defaults(&options);
	if (asked)
		assert_int_equal(wn_options_parse(&options, WN_OPT_LOG, path), 0);
	assert_int_equal(truncate(path, 0), 0);
}

/* How often a text stands in what was told. */
static int times(const char *what)
{
	FILE *f = fopen(path, "r");
	int n = 0;

	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

static void tell(enum wn_reason why, uint64_t inode)
{
	const struct wn_why_file f = {.dev = 7, .ino = inode, .fd = -1};

	wn_why_file(&options, why, &f);
}

TEST(once_for_each_file_and_reason)
{
	reset(true);
	for (int i = 0; i < 3; i++) {
		tell(WN_WHY_CACHED, 11);
		tell(WN_WHY_WIDE, 11);
		tell(WN_WHY_CACHED, 12);
	}
	assert_int_equal(times("\n"), 3);
	assert_int_equal(times("device 0:7 inode 11: left alone: already cached\n"), 1);
	assert_int_equal(times("device 0:7 inode 11: left alone: the kernel reads"), 1);
	assert_int_equal(times("device 0:7 inode 12: left alone: already cached\n"), 1);
	/* A forked child tells its own. */
	fake.process++;
	assert_false(wn_why_told());
	tell(WN_WHY_CACHED, 11);
	assert_true(wn_why_told());
	assert_int_equal(times("inode 11: left alone: already cached\n"), 2);
}

TEST(ten_thousand_files)
{
	reset(true);
	for (uint64_t i = 1; i <= 10000; i++)
		tell(WN_WHY_CACHED, i);
	assert_int_equal(times("\n"), WN_WHY_FILES + 1);
	assert_int_equal(
		times("already cached: more than 32 files, the others are not told"), 1);
	/* The other reasons are told all the same. */
	tell(WN_WHY_SMALL, 10001);
	assert_int_equal(times("\n"), WN_WHY_FILES + 2);
}

TEST(nothing_unless_asked)
{
	reset(false);
	for (int why = 0; why < WN_REASONS; why++)
		tell((enum wn_reason)why, 11);
	wn_why_process(&options, WN_WHY_OFF, 0);
	wn_verdict(&options, &kit.st->stats);
	assert_int_equal(times("\n"), 0);
	assert_false(wn_why_told());
}

TEST(every_reason_has_a_text)
{
	reset(true);
	for (int why = 0; why < WN_REASONS; why++)
		tell((enum wn_reason)why, 11);
	assert_int_equal(times("\n"), WN_REASONS);
	assert_int_equal(times("left alone: \n"), 0);
	/* Cut at the end of its place in the table? */
#define WN_REASON(id, text, help) assert_int_equal(times("left alone: " text "\n"), 1);
#include "why.def"
#undef WN_REASON
}

TEST(the_verdict_says_what_was_missing)
{
	struct willneed_stats *s;

	reset(true);
	s = &kit.st->stats;
	*s = (struct willneed_stats){0};
	wn_verdict(&options, NULL);
	assert_int_equal(times("\n"), 0);
	wn_verdict(&options, s);
	assert_int_equal(times("no file of WILLNEED_MIN_MAP or more"), 1);
	s->maps = 1;
	wn_verdict(&options, s);
	assert_int_equal(times("no copy of WILLNEED_MIN_COPY or more"), 1);
	s->copies = 9;
	wn_verdict(&options, s);
	assert_int_equal(times("what was looked at was cached"), 1);
	s->reads_cold = 1;
	wn_verdict(&options, s);
	assert_int_equal(times("in no order that leads anywhere"), 1);
	s->asked_bytes = 4096;
	wn_verdict(&options, s);
	assert_int_equal(times("at exit: asked for 4096 bytes\n"), 1);
	wn_why_process(&options, WN_WHY_SKIPPED, 0);
	wn_verdict(&options, NULL);
	assert_int_equal(times("nothing was asked for: see above"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(once_for_each_file_and_reason),
		cmocka_unit_test(ten_thousand_files),
		cmocka_unit_test(nothing_unless_asked),
		cmocka_unit_test(every_reason_has_a_text),
		cmocka_unit_test(the_verdict_says_what_was_missing),
	};
	int fd = mkstemp(path), r;

	if (fd < 0)
		return 1;
	close(fd);
	r = RUN(tests);
	unlink(path);
	return r;
}

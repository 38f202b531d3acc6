/* SPDX-License-Identifier: MIT */
/* options.h: every row of options.def, through each door that a value comes in by. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "options.h"
#include "test.h"

enum type { CHOICE, SIZE, NUMBER, TEXT };
enum when { START, ANY };

static const struct row {
	const char *name, *env, *dflt, *allowed, *help;
	enum type type;
	enum when when;
} rows[] = {
#define WN_OPTION(id, name, env, type, dflt, allowed, when, help) \
	{ name, env, dflt, allowed, help, type, when },
#include "options.def"
#undef WN_OPTION
};

static struct wn_options options;

static struct {
	int count;
	char name[64], value[512], allowed[64];
} told;

static void bad(const char *name, const char *value, const char *allowed)
{
	told.count++;
	snprintf(told.name, sizeof(told.name), "%s", name);
	snprintf(told.value, sizeof(told.value), "%s", value);
	snprintf(told.allowed, sizeof(told.allowed), "%s", allowed);
}

static int environment(const char *name, const char *value)
{
	char entry[600];
	char other[] = "WILLNEEDED=1";
	char path[] = "PATH=/bin";
	char *env[] = { path, other, entry, NULL };

	snprintf(entry, sizeof(entry), "%s=%s", name, value);
	memset(&told, 0, sizeof(told));
	wn_options_environment(&options, env, bad);
	return told.count;
}

/* The ends of "MIN-MAX". */
static void range_of(const struct row *r, uint64_t *min, uint64_t *max)
{
	char low[32];
	const char *dash = strchr(r->allowed, '-');

	assert_non_null(dash);
	snprintf(low, sizeof(low), "%.*s", (int)(dash - r->allowed), r->allowed);
	assert_true(wn_size(low, min));
	assert_true(wn_size(dash + 1, max));
	assert_true(*min < *max);
}

static int parse_number(enum wn_option id, uint64_t v)
{
	char s[32];

	snprintf(s, sizeof(s), "%llu", (unsigned long long)v);
	return wn_options_parse(&options, id, s);
}

TEST(every_default_is_allowed)
{
	wn_options_defaults(&options);
	for (int id = 0; id < WN_OPT_COUNT; id++) {
		assert_int_equal(
			wn_options_parse(&options, (enum wn_option)id, rows[id].dflt), 0);
		assert_true(strlen(rows[id].help) > 0);
	}
}

TEST(the_words_are_those_of_the_enums)
{
	wn_options_defaults(&options);
	assert_int_equal(options.value[WN_OPT_MODE], WN_MODE_ON);
	assert_int_equal(options.value[WN_OPT_ENGINE], WN_ENGINE_AUTO);
	assert_int_equal(options.value[WN_OPT_IO], WN_IO_AUTO);
	assert_int_equal(options.value[WN_OPT_WAY], WN_WAY_AUTO);
	wn_options_parse(&options, WN_OPT_MODE, "observe");
	assert_int_equal(options.value[WN_OPT_MODE], WN_MODE_OBSERVE);
	wn_options_parse(&options, WN_OPT_ENGINE, "null");
	assert_int_equal(options.value[WN_OPT_ENGINE], WN_ENGINE_NULL);
	wn_options_parse(&options, WN_OPT_IO, "uring");
	assert_int_equal(options.value[WN_OPT_IO], WN_IO_URING);
	wn_options_parse(&options, WN_OPT_WAY, "address");
	assert_int_equal(options.value[WN_OPT_WAY], WN_WAY_ADDRESS);
}

TEST(ranges_include_their_ends_and_no_more)
{
	for (int id = 0; id < WN_OPT_COUNT; id++) {
		uint64_t min, max;

		if (rows[id].type != SIZE && rows[id].type != NUMBER)
			continue;
		range_of(&rows[id], &min, &max);
		assert_int_equal(parse_number((enum wn_option)id, min), 0);
		assert_int_equal(options.value[id], min);
		assert_int_equal(parse_number((enum wn_option)id, max), 0);
		assert_int_equal(options.value[id], max);
		assert_int_equal(parse_number((enum wn_option)id, max + 1), -EINVAL);
		if (min)
			assert_int_equal(parse_number((enum wn_option)id, min - 1),
					 -EINVAL);
		assert_int_equal(options.value[id], max);
	}
}

TEST(bad_values_change_nothing)
{
	static const char *const wrong[] = { "",   "x",   "-1",
					     "1Q", "on ", "99999999999999999999" };
	struct wn_options before;

	wn_options_defaults(&options);
	before = options;
	for (int id = 0; id < WN_OPT_COUNT; id++) {
		if (rows[id].type == TEXT)
			continue;
		for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
			assert_int_equal(
				wn_options_parse(&options, (enum wn_option)id, wrong[i]),
				-EINVAL);
	}
	assert_memory_equal(&options, &before, sizeof(before));
}

TEST(texts_fit_or_are_refused)
{
	char text[WN_OPTION_TEXT_MAX + 1];

	memset(text, 'a', sizeof(text));
	text[WN_OPTION_TEXT_MAX] = '\0';
	wn_options_defaults(&options);
	for (int id = WN_OPTION_FIRST_TEXT; id < WN_OPT_COUNT; id++) {
		enum wn_option o = (enum wn_option)id;

		assert_null(wn_option_text(&options, o));
		text[WN_OPTION_TEXT_MAX - 1] = 'a';
		assert_int_equal(wn_options_parse(&options, o, text), -EINVAL);
		assert_null(wn_option_text(&options, o));
		text[WN_OPTION_TEXT_MAX - 1] = '\0';
		assert_int_equal(wn_options_parse(&options, o, text), 0);
		assert_string_equal(wn_option_text(&options, o), text);
		assert_int_equal(wn_options_parse(&options, o, ""), 0);
		assert_null(wn_option_text(&options, o));
	}
}

TEST(the_environment_is_read_and_mistakes_are_told)
{
	char too_long[WN_OPTION_TEXT_MAX + 8];

	memset(too_long, 'a', sizeof(too_long) - 1);
	too_long[sizeof(too_long) - 1] = '\0';
	for (int id = 0; id < WN_OPT_COUNT; id++) {
		const char *wrong = rows[id].type == TEXT ? too_long : "nonsense";
		uint64_t dflt;

		wn_options_defaults(&options);
		dflt = options.value[id];
		assert_int_equal(environment(rows[id].env, rows[id].dflt), 0);
		assert_int_equal(environment(rows[id].env, wrong), 1);
		assert_string_equal(told.name, rows[id].env);
		assert_string_equal(told.value, wrong);
		assert_true(strlen(told.allowed) > 0);
		if (rows[id].type != TEXT)
			assert_string_equal(told.allowed, rows[id].allowed);
		assert_int_equal(options.value[id], dflt);
	}
	assert_int_equal(environment("WILLNEED", "off"), 0);
	assert_int_equal(options.value[WN_OPT_MODE], WN_MODE_OFF);
	assert_int_equal(environment("WILLNEED_NO_SUCH", "x"), 0);
	wn_options_environment(&options, NULL, NULL);
}

TEST(settings_by_name)
{
	wn_options_defaults(&options);
	assert_int_equal(wn_options_set(&options, "no such", "1"), -ENOENT);
	assert_int_equal(wn_options_set(&options, "", "1"), -ENOENT);
	for (int id = 0; id < WN_OPT_COUNT; id++) {
		int want = rows[id].when == ANY ? 0 : -EBUSY;

		assert_int_equal(wn_options_set(&options, rows[id].name, rows[id].dflt),
				 want);
		if (!want)
			assert_int_equal(
				wn_options_set(&options, rows[id].name, "nonsense"),
				-EINVAL);
	}
}

TEST(names_are_all_different)
{
	for (int i = 0; i < WN_OPT_COUNT; i++)
		for (int j = 0; j < i; j++) {
			assert_string_not_equal(rows[i].name, rows[j].name);
			assert_string_not_equal(rows[i].env, rows[j].env);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_default_is_allowed),
		cmocka_unit_test(the_words_are_those_of_the_enums),
		cmocka_unit_test(ranges_include_their_ends_and_no_more),
		cmocka_unit_test(bad_values_change_nothing),
		cmocka_unit_test(texts_fit_or_are_refused),
		cmocka_unit_test(the_environment_is_read_and_mistakes_are_told),
		cmocka_unit_test(settings_by_name),
		cmocka_unit_test(names_are_all_different),
	};

	return RUN(tests);
}

/* SPDX-License-Identifier: MIT */
/* base/text.h and base/mem.h: lines and numbers without libc. */
#include "base/mem.h"
#include "base/text.h"
#include "test.h"

#include <string.h>

TEST(lines_are_cut_and_terminated)
{
	char buf[9] = "????????";
	struct wn_text t = wn_text_in(buf, 8);

	wn_text_add(&t, "abc");
	wn_text_number(&t, 1234);
	assert_string_equal(buf, "abc1234");
	wn_text_add(&t, "more");
	wn_text_number(&t, 5);
	assert_string_equal(buf, "abc1234");
	assert_int_equal(t.used, 7);
	assert_int_equal(buf[8], '\0');
}

TEST(numbers_of_all_lengths)
{
	static const struct {
		uint64_t v;
		const char *s;
	} rows[] = {
		{ 0, "0" },
		{ 9, "9" },
		{ 10, "10" },
		{ UINT32_MAX, "4294967295" },
		{ UINT64_MAX, "18446744073709551615" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char buf[32];
		struct wn_text t = wn_text_in(buf, sizeof(buf));
		const char *p = buf;
		uint64_t v;

		wn_text_number(&t, rows[i].v);
		assert_string_equal(buf, rows[i].s);
		assert_true(wn_digits(&p, 10, &v));
		assert_int_equal(v, rows[i].v);
		assert_int_equal(*p, '\0');
	}
}

TEST(digits_stop_where_they_end)
{
	const char *p = "7f00a-b";
	uint64_t v;

	assert_true(wn_digits(&p, 16, &v));
	assert_int_equal(v, 0x7f00a);
	assert_string_equal(p, "-b");
	assert_false(wn_digits(&p, 16, &v));
	assert_string_equal(p, "-b");
	p = "18446744073709551616";
	assert_false(wn_digits(&p, 10, &v));
	p = "";
	assert_false(wn_digits(&p, 10, &v));
}

TEST(sizes)
{
	static const struct {
		const char *s;
		bool ok;
		uint64_t v;
	} rows[] = {
		{ "0", true, 0 },
		{ "4K", true, 4 * KIB },
		{ "4k", true, 4 * KIB },
		{ "64M", true, 64 * MIB },
		{ "16g", true, 16 * GIB },
		{ "1T", true, TIB },
		{ "16777215T", true, 16777215 * TIB },
		{ "16777216T", false, 0 },
		{ "18446744073709551615", true, UINT64_MAX },
		{ "18446744073709551616", false, 0 },
		{ "", false, 0 },
		{ "K", false, 0 },
		{ "4KK", false, 0 },
		{ "4 K", false, 0 },
		{ " 4K", false, 0 },
		{ "4B", false, 0 },
		{ "-1", false, 0 },
		{ "+1", false, 0 },
		{ "1e3", false, 0 },
		{ "0x10", false, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t v = 0;

		assert_int_equal(wn_size(rows[i].s, &v), rows[i].ok);
		if (rows[i].ok)
			assert_int_equal(v, rows[i].v);
	}
}

TEST(words_of_a_list)
{
	assert_int_equal(wn_word_index("off|observe|on", '|', "off"), 0);
	assert_int_equal(wn_word_index("off|observe|on", '|', "observe"), 1);
	assert_int_equal(wn_word_index("off|observe|on", '|', "on"), 2);
	assert_int_equal(wn_word_index("off|observe|on", '|', "o"), -1);
	assert_int_equal(wn_word_index("off|observe|on", '|', "one"), -1);
	assert_int_equal(wn_word_index("off|observe|on", '|', ""), -1);
	assert_int_equal(wn_word_index("off|observe|on", '|', "off|observe"), -1);
	assert_int_equal(wn_word_index("a,b", ',', "b"), 1);
	assert_int_equal(wn_word_index("a", ',', "b"), -1);
}

TEST(prefixes_and_equality)
{
	assert_string_equal(wn_after("0::/a", "0::"), "/a");
	assert_string_equal(wn_after("abc", "abc"), "");
	assert_null(wn_after("ab", "abc"));
	assert_null(wn_after("", "a"));
	assert_true(wn_equal("", ""));
	assert_true(wn_equal("ab", "ab"));
	assert_false(wn_equal("ab", "abc"));
	assert_false(wn_equal("abc", "ab"));
	assert_int_equal(wn_length("abc"), 3);
}

/* Every overlap, length and alignment that matters to the private memmove(). */
TEST(moving_overlapping_memory)
{
	unsigned char got[160], want[160];

	for (size_t n = 0; n <= 40; n++)
		for (size_t from = 40; from < 80; from += 3)
			for (size_t to = 36; to < 84; to++) {
				for (size_t i = 0; i < sizeof(got); i++)
					got[i] = want[i] = (unsigned char)i;
				for (size_t i = 0; i < n; i++)
					want[to + i] = (unsigned char)(from + i);
				assert_ptr_equal(wn_move(got + to, got + from, n),
						 got + to);
				for (size_t i = 0; i < sizeof(got); i++)
					assert_int_equal(got[i], want[i]);
			}
}

TEST(rounding)
{
	assert_int_equal(wn_round_up(0, 4096), 0);
	assert_int_equal(wn_round_up(1, 4096), 4096);
	assert_int_equal(wn_round_up(4096, 4096), 4096);
	assert_int_equal(wn_round_down(4095, 4096), 0);
	assert_int_equal(wn_above(3, 5), 0);
	assert_int_equal(wn_above(5, 3), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_cut_and_terminated),
		cmocka_unit_test(numbers_of_all_lengths),
		cmocka_unit_test(digits_stop_where_they_end),
		cmocka_unit_test(sizes),
		cmocka_unit_test(words_of_a_list),
		cmocka_unit_test(prefixes_and_equality),
		cmocka_unit_test(moving_overlapping_memory),
		cmocka_unit_test(rounding),
	};

	return RUN(tests);
}

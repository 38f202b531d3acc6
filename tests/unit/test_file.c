/* SPDX-License-Identifier: MIT */
/* track/file.h: identities, references, and slots that are used again. */
#include <string.h>

#include "test.h"
#include "track/file.h"

static struct wn_file_table table;

static uint16_t take(uint64_t dev, uint64_t ino, uint64_t size, int fd)
{
	struct stat st = { .st_dev = dev, .st_ino = ino, .st_size = (off_t)size };

	return wn_file_take(&table, &st, fd);
}

TEST(one_slot_for_one_file)
{
	uint16_t a, b;

	memset(&table, 0, sizeof(table));
	a = take(1, 10, 4096, 3);
	assert_int_equal(take(1, 10, 8192, -1), a);
	b = take(2, 10, 4096, 4);
	assert_int_not_equal(a, b);
	assert_int_equal(table.slot[a].refs, 2);
	assert_int_equal(table.slot[a].size, 8192);
	assert_int_equal(table.slot[a].fd, 3);
	assert_int_equal(take(1, 10, 8192, 9), a);
	assert_int_equal(table.slot[a].fd, 9);
	wn_file_ref(&table, a);
	assert_int_equal(table.slot[a].refs, 4);
	for (int i = 0; i < 3; i++)
		assert_false(wn_file_drop(&table, a));
	assert_true(wn_file_drop(&table, a));
	assert_true(wn_file_drop(&table, a));
	assert_int_equal(table.slot[a].refs, 0);
}

TEST(a_file_that_comes_back_is_known)
{
	uint16_t a;
	uint32_t serial;

	memset(&table, 0, sizeof(table));
	a = take(1, 10, 4096, 3);
	serial = table.slot[a].serial;
	wn_file_drop(&table, a);
	/* Another one takes an unused slot first. */
	assert_int_not_equal(take(1, 11, 4096, 3), a);
	assert_int_equal(take(1, 10, 4096, 3), a);
	assert_int_equal(table.slot[a].serial, serial);
}

TEST(a_full_table_refuses_and_slots_are_reused)
{
	uint32_t serial;

	memset(&table, 0, sizeof(table));
	for (uint64_t i = 0; i < WN_FILES; i++)
		assert_int_not_equal(take(1, 100 + i, 4096, -1), WN_NO_FILE);
	assert_int_equal(take(1, 99, 4096, -1), WN_NO_FILE);
	serial = table.slot[7].serial;
	table.slot[7].useless = table.slot[7].heat = table.slot[7].chunk = 5;
	wn_file_drop(&table, 7);
	assert_int_equal(take(1, 99, 4096, -1), 7);
	assert_int_equal(table.slot[7].serial, serial + 1);
	assert_int_equal(table.slot[7].fd, -1);
	assert_int_equal(table.slot[7].useless, 0);
	assert_int_equal(table.slot[7].heat, 0);
	assert_int_equal(table.slot[7].chunk, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_slot_for_one_file),
		cmocka_unit_test(a_file_that_comes_back_is_known),
		cmocka_unit_test(a_full_table_refuses_and_slots_are_reused),
	};

	return RUN(tests);
}

/* SPDX-License-Identifier: MIT */
/* find.c: a descriptor of our own on the very file that is mapped, or none. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kit.h"
#include "test.h"

#define LINE "100000000000-100004000000 r--p 00000000 08:01 4711       /data/file\n"

static int find(void)
{
	return wn_find_file(kit.track, kit.slot, KIT_THREAD);
}

static void expect(int fd, int file)
{
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(wn_sys->fstat(fd, &st), 0);
	assert_int_equal(st.st_ino, fake_at(file)->ino);
	wn_sys->close(fd);
	assert_int_equal(fake_open_fds(), 0);
}

TEST(through_the_programs_descriptor)
{
	kit_reset(64 * MIB);
	expect(find(), kit.file);
}

TEST(a_closed_one_through_the_path)
{
	kit_reset(64 * MIB);
	fake_program_fd(KIT_FD, -1);
	fake_set_text("/proc/self/maps",
		      "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/app\n"
		      "00e03000-00e24000 rw-p 00000000 00:00 0           [heap]\n" LINE
		      "7ffd0-7ffd1 rw-p 00000000 00:00 0                 [stack]\n");
	expect(find(), kit.file);
	/* The thread that opened it is gone, and so is its table. */
	fake_program_fd(KIT_FD, kit.file);
	fake.dead_thread = KIT_THREAD;
	expect(find(), kit.file);
}

TEST(a_descriptor_that_is_another_file_now)
{
	int other;

	kit_reset(64 * MIB);
	other = fake_file("/data/other", 4712, 64 * MIB);
	fake_program_fd(KIT_FD, other);
	assert_true(find() < 0);
	assert_int_equal(fake_open_fds(), 0);
	fake_set_text("/proc/self/maps", LINE);
	expect(find(), kit.file);
	/* The path leads to another file, too. */
	fake_at(kit.file)->path[0] = '\0';
	strcpy(fake_at(other)->path, "/data/file");
	assert_int_equal(find(), -ESTALE);
	assert_int_equal(fake_open_fds(), 0);
}

TEST(only_regular_files)
{
	kit_reset(64 * MIB);
	fake_at(kit.file)->mode = S_IFCHR | 0600;
	assert_true(find() < 0);
	fake_at(kit.file)->mode = S_IFREG;
	fake_at(kit.file)->dev++;
	assert_true(find() < 0);
	assert_int_equal(fake_open_fds(), 0);
}

TEST(texts_that_do_not_help)
{
	static const char *const texts[] = {
		"",
		"\n\n\n",
		"nonsense",
		"100000000000-",
		"100000000000-100004000000",
		"100000000000-100004000000 r--p 00000000 00:00 0\n",
		"100000000000-100004000000 r--p 0 08:01 4711 /data/file (deleted)\n",
		"200000000000-200004000000 r--p 00000000 08:01 4711 /data/file\n",
	};

	kit_reset(64 * MIB);
	fake_program_fd(KIT_FD, -1);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fake_set_text("/proc/self/maps", texts[i]);
		assert_true(find() < 0);
		assert_int_equal(fake_open_fds(), 0);
	}
}

/* Longer than one read, and with a line that is longer than any buffer of ours. */
TEST(a_long_text)
{
	static char text[20000];
	size_t n = 0;

	kit_reset(64 * MIB);
	fake_program_fd(KIT_FD, -1);
	for (unsigned i = 0; i < 150; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "%08x-%08x rw-p 00000000 08:01 4711   /data/file\n",
				      i << 16, (i << 16) + 4096);
	n += (size_t)snprintf(text + n, sizeof(text) - n,
			      "0f000000-0f001000 r--p 0 08:01 1 /");
	memset(text + n, 'x', 3000);
	strcpy(text + n + 3000, "\n" LINE);
	fake_set_text("/proc/self/maps", text);
	expect(find(), kit.file);
}

TEST(every_failure_on_the_way)
{
	for (int kind = FAKE_OPEN; kind <= FAKE_FSTAT; kind++)
		for (uint64_t nth = 1; nth < 6; nth++) {
			int fd;

			kit_reset(64 * MIB);
			fake_program_fd(KIT_FD, nth % 2 ? -1 : kit.file);
			fake_set_text("/proc/self/maps", LINE);
			fake_fail((enum fake_kind)kind, nth, EMFILE, true);
			fd = find();
			fake.fail.nth = 0;
			if (fd >= 0)
				expect(fd, kit.file);
			assert_int_equal(fake_open_fds(), 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(through_the_programs_descriptor),
		cmocka_unit_test(a_closed_one_through_the_path),
		cmocka_unit_test(a_descriptor_that_is_another_file_now),
		cmocka_unit_test(only_regular_files),
		cmocka_unit_test(texts_that_do_not_help),
		cmocka_unit_test(a_long_text),
		cmocka_unit_test(every_failure_on_the_way),
	};

	return RUN(tests);
}

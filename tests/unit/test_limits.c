/* SPDX-License-Identifier: MIT */
/* limits.h and file_io.h: texts of /proc and /sys, as real kernels write them. */
#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/file_io.h"
#include "base/limits.h"
#include "fake_sys.h"
#include "test.h"

#define MEMINFO                                                      \
	"MemTotal:       32762252 kB\nMemFree:         1203048 kB\n" \
	"MemAvailable:   16777216 kB\nBuffers:          310088 kB\n"
#define V2 "/sys/fs/cgroup"
#define V1 "/sys/fs/cgroup/memory"

static void group(const char *dir, const char *const names[3], const char *limit,
		  const char *use, const char *stat)
{
	const char *const texts[] = { limit, use, stat };

	for (int i = 0; i < 3; i++) {
		char path[200];
		size_t n = strlen(dir);

		memcpy(path, dir, n);
		strcpy(path + n, names[i]);
		fake_text(path, texts[i]);
	}
}

static const char *const v2_names[] = { "/memory.max", "/memory.current",
					"/memory.stat" };
static const char *const v1_names[] = { "/memory.limit_in_bytes",
					"/memory.usage_in_bytes", "/memory.stat" };

TEST(what_the_machine_has_free)
{
	fake_reset();
	fake_text("/proc/meminfo", MEMINFO);
	assert_int_equal(wn_memory_headroom(), 16 * GIB);
	fake_reset();
	assert_int_equal(wn_memory_headroom(), UINT64_MAX);
	fake_text("/proc/meminfo", "MemTotal: 5 kB\n");
	assert_int_equal(wn_memory_headroom(), UINT64_MAX);
	fake_set_text("/proc/meminfo", "");
	assert_int_equal(wn_memory_headroom(), UINT64_MAX);
}

TEST(cgroup_v2_and_its_parents)
{
	fake_reset();
	fake_text("/proc/meminfo", MEMINFO);
	fake_text("/proc/self/cgroup", "0::/user.slice/app.scope\n");
	assert_int_equal(wn_memory_headroom(), 16 * GIB);
	group(V2 "/user.slice/app.scope", v2_names, "1073741824\n", "943718400\n",
	      "anon 4096\nfile 838860800\ninactive_anon 7\ninactive_file 104857600\n");
	assert_int_equal(wn_memory_headroom(), GIB - 900 * MIB + 100 * MIB);
	/* The parent is tighter. */
	group(V2 "/user.slice", v2_names, "1073741824\n", "1063256064\n", "anon 0\n");
	assert_int_equal(wn_memory_headroom(), 10 * MIB);
	fake_set_text(V2 "/user.slice/memory.max", "max\n");
	assert_int_equal(wn_memory_headroom(), 224 * MIB);
	/* Over its limit already. */
	fake_set_text(V2 "/user.slice/app.scope/memory.current", "2073741824\n");
	assert_int_equal(wn_memory_headroom(), 0);
	fake_set_text("/proc/self/cgroup", "0::/\n");
	assert_int_equal(wn_memory_headroom(), 16 * GIB);
}

TEST(cgroup_v1)
{
	fake_reset();
	fake_text("/proc/meminfo", MEMINFO);
	fake_text("/proc/self/cgroup", "12:cpu,cpuacct:/x\n5:memory:/docker/abc\n"
				       "1:name=systemd:/docker/abc\n0::/system.slice\n");
	group(V1 "/docker/abc", v1_names, "536870912\n", "530579456\n",
	      "inactive_file 1\ntotal_cache 5\ntotal_inactive_file 4194304\n");
	assert_int_equal(wn_memory_headroom(), 10 * MIB);
	/* Without a limit, version 1 shows a huge number. */
	fake_set_text(V1 "/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(wn_memory_headroom(), 16 * GIB);
	/* In a container the path of the host is not to be seen, but the root is. */
	fake_set_text("/proc/self/cgroup", "5:memory:/not/here\n");
	group(V1, v1_names, "67108864\n", "66060288\n", "total_inactive_file 0\n");
	assert_int_equal(wn_memory_headroom(), MIB);
}

TEST(odd_texts_are_no_limits)
{
	static const char *const odd[] = {
		"", "\n", ":", "::", "0:", "0::", "5:memory", "x\ny\nz", "5:memory:\n0::"
	};
	char path[600];

	fake_reset();
	fake_text("/proc/meminfo", MEMINFO);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		fake_set_text("/proc/self/cgroup", odd[i]);
		assert_int_equal(wn_memory_headroom(), 16 * GIB);
	}
	/* A path that is longer than any buffer. */
	memset(path, 'a', sizeof(path));
	memcpy(path, "0::/", 4);
	path[sizeof(path) - 1] = '\0';
	fake_set_text("/proc/self/cgroup", path);
	assert_int_equal(wn_memory_headroom(), 16 * GIB);
	fake_fail(FAKE_READ, 1, EIO, true);
	assert_int_equal(wn_memory_headroom(), UINT64_MAX);
}

TEST(a_whole_disk)
{
	struct wn_device_limits l;

	fake_reset();
	fake_text("/sys/dev/block/254:0/queue/read_ahead_kb", "128\n");
	fake_text("/sys/dev/block/254:0/queue/max_sectors_kb", "1280\n");
	l = wn_device_limits(makedev(254, 0));
	assert_int_equal(l.readahead, 128 * KIB);
	assert_int_equal(l.request, 1280 * KIB);
}

TEST(a_partition)
{
	struct wn_device_limits l;

	fake_reset();
	fake_text("/sys/dev/block/259:3/../queue/read_ahead_kb", "8192\n");
	fake_text("/sys/dev/block/259:3/../queue/max_sectors_kb", "512\n");
	l = wn_device_limits(makedev(259, 3));
	assert_int_equal(l.readahead, 8 * MIB);
	assert_int_equal(l.request, 512 * KIB);
}

TEST(a_file_system_without_a_disk)
{
	struct wn_device_limits l;

	fake_reset();
	fake_text("/sys/class/bdi/0:47/read_ahead_kb", "4096\n");
	l = wn_device_limits(makedev(0, 47));
	assert_int_equal(l.readahead, 4 * MIB);
	assert_int_equal(l.request, 0);
	l = wn_device_limits(makedev(0, 48));
	assert_int_equal(l.readahead, 0);
	assert_int_equal(l.request, 0);
}

TEST(fields_and_numbers)
{
	uint64_t v = 0;
	char buf[8];

	fake_reset();
	assert_true(wn_text_field("a 1\nab 2\nb 3\n", "b", &v));
	assert_int_equal(v, 3);
	assert_true(wn_text_field("x:\t 17 kB", "x:", &v));
	assert_int_equal(v, 17);
	assert_false(wn_text_field("x: y\n", "x:", &v));
	assert_false(wn_text_field("", "x", &v));
	fake_text("/n", "12345 6\n");
	assert_true(wn_file_number("/n", &v));
	assert_int_equal(v, 12345);
	assert_false(wn_file_number("/none", &v));
	assert_int_equal(wn_file_text("/none", buf, sizeof(buf)), -ENOENT);
	fake_text("/long", "0123456789");
	assert_int_equal(wn_file_text("/long", buf, sizeof(buf)), 7);
	assert_string_equal(buf, "0123456");
	assert_int_equal(fake_open_fds(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_machine_has_free),
		cmocka_unit_test(cgroup_v2_and_its_parents),
		cmocka_unit_test(cgroup_v1),
		cmocka_unit_test(odd_texts_are_no_limits),
		cmocka_unit_test(a_whole_disk),
		cmocka_unit_test(a_partition),
		cmocka_unit_test(a_file_system_without_a_disk),
		cmocka_unit_test(fields_and_numbers),
	};

	return RUN(tests);
}

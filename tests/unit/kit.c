/* SPDX-License-Identifier: MIT */
#include "kit.h"

#include <stdlib.h>
#include <string.h>

#include "copy.h"

/* Somewhere else than any mapping of the tests. */
#define DESTINATION ((char *)0x200000000000)

struct kit kit;

void kit_empty(void)
{
	fake_reset();
	wn_options_defaults(&wn_rt.options);
	wn_store(&wn_rt.dormant, 0);
	if (wn_wake_up(&kit.st) < 0)
		abort();
	memset(kit.st, 0, sizeof(*kit.st));
	memset(wn_rt.track, 0, sizeof(*wn_rt.track));
	kit.track = wn_rt.track;
	kit.st->pid = (uint32_t)wn_sys->getpid();
	kit.st->helper_tid = 1;
	kit.helping = true;
	kit.k = wn_kernel_of(kit.st);
	kit.loop = (struct wn_loop){
		.st = kit.st,
		.k = kit.k,
		.worked = wn_sys->now_ns(),
		.cpu = wn_sys->cpu_ns() / 1000,
	};
	fake_text("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n");
	fake_text("/proc/self/cgroup", "0::/\n");
	fake_text("/proc/self/maps", "");
	fake_device_texts(128, 1280);
}

uint16_t kit_watch(int file, int fd, uint64_t addr, uint64_t length)
{
	struct wn_map m;

	if (fd >= 0)
		fake_program_fd(fd, file);
	fake_map(addr, length, file, 0);
	if (wn_watch((void *)addr, length, fd, 0) < 0 ||
	    !wn_map_find(kit.track, addr, &m))
		abort();
	return m.file;
}

void kit_reset(uint64_t size)
{
	kit_empty();
	kit.file = fake_file("/data/file", 4711, size);
	kit.slot = kit_watch(kit.file, KIT_FD, KIT_ADDR, size);
}

void kit_push(enum wn_access_kind kind, uint64_t offset, uint64_t length, unsigned flags)
{
	struct wn_access a = {
		.offset = offset,
		.length = length,
		.thread = KIT_THREAD,
		.file = kit.slot,
		.kind = (uint8_t)kind,
		.flags = (uint8_t)flags,
	};

	wn_ring_push(&kit.st->ring, &a);
}

static void *touch(void *dst, const void *src, size_t n)
{
	uint64_t from = (uint64_t)src - KIT_ADDR;

	fake_touch(kit.file, from, from + n);
	if (kit.helping) {
		wn_loop_round(&kit.loop);
		fake_arrive();
		fake.now_ns += 1000000;
	}
	return dst;
}

int kit_settle(void)
{
	for (int rounds = 1; rounds < 20000; rounds++) {
		uint64_t ns = wn_loop_round(&kit.loop);

		if (ns == UINT64_MAX)
			return rounds;
		fake_arrive();
		fake.now_ns += ns;
	}
	return -1;
}

void kit_copy(uint64_t offset, uint64_t length)
{
	wn_copy(DESTINATION, (const char *)KIT_ADDR + offset, length, touch);
}

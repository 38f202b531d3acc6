/* SPDX-License-Identifier: MIT */
/*
 * Page faults as perf's software events.  They need no privilege for threads of the same
 * process while perf_event_paranoid is 2 or less, cost nothing while none is open, and
 * each sample tells the address.  Major faults wake us one by one; minor ones, which only
 * tell progress, are kept in the same ring until we look.
 *
 * Events are not inherited: a forked child has none, and the kernel itself keeps the ring
 * out of it, as it does out of core files.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <time.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/sys.h"
#include "watch/taps.h"
#include "watch/watch.h"

static struct perf_event_mmap_page *head_of(const struct wn_tap *t)
{
	return (struct perf_event_mmap_page *)(void *)t->ring;
}

static int open_event(uint64_t config, uint64_t period, uint32_t wakeup, uint32_t thread)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.wakeup_events = wakeup,
	};

	return wn_sys->perf_open(&attr, (int)thread);
}

int wn_tap_first(void)
{
	return open_event(PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1, INT32_MAX, 0);
}

int wn_tap_open(struct wn_tap *t)
{
	int fd = open_event(PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1, 1, t->thread);
	long ring;
	int r;

	if (fd < 0)
		return fd;
	/* Records of both events are in one ring: the identity tells them apart. */
	r = wn_sys->ioctl(fd, PERF_EVENT_IOC_ID, (uint64_t)&t->major_id);
	if (r < 0) {
		wn_sys->close(fd);
		return r;
	}
	ring = wn_sys->map_shared(fd, 2 * wn_page_size());
	if (ring < 0 && ring > -4096) {
		wn_sys->close(fd);
		return (int)ring;
	}
	t->ring = (char *)ring;
	t->major1 = (uint32_t)fd + 1;
	return 0;
}

/* Another event for the ring of the first one: its descriptor, or a negative errno. */
static int join_event(const struct wn_tap *t, uint64_t config, uint64_t *id)
{
	int fd = open_event(config, 1, INT32_MAX, t->thread), r = 0;

	if (fd < 0)
		return fd;
	if (id)
		r = wn_sys->ioctl(fd, PERF_EVENT_IOC_ID, (uint64_t)id);
	if (r >= 0)
		r = wn_sys->ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, t->major1 - 1);
	if (r >= 0)
		return fd;
	wn_sys->close(fd);
	return r;
}

int wn_tap_open_minor(struct wn_tap *t)
{
	int fd;

	if (t->minor1)
		return 0;
	fd = join_event(t, PERF_COUNT_SW_PAGE_FAULTS_MIN, NULL);
	if (fd < 0)
		return fd;
	t->minor1 = (uint32_t)fd + 1;
	return 0;
}

bool wn_tap_run_quiet(struct wn_tap *t)
{
	if (!t->quiet1) {
		int fd = join_event(t, PERF_COUNT_SW_PAGE_FAULTS_MAJ, &t->quiet_id);

		if (fd < 0)
			return false;
		t->quiet1 = (uint32_t)fd + 1;
	}
	t->quiet = wn_sys->ioctl((int)t->quiet1 - 1, PERF_EVENT_IOC_ENABLE, 0) >= 0;
	return t->quiet;
}

void wn_tap_period(struct wn_tap *t)
{
	uint64_t period = t->closer;

	wn_sys->ioctl((int)t->minor1 - 1, PERF_EVENT_IOC_PERIOD, (uint64_t)&period);
}

void wn_tap_run(struct wn_tap *t, bool on)
{
	unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	if (t->quiet)
		wn_sys->ioctl((int)t->quiet1 - 1, PERF_EVENT_IOC_DISABLE, 0);
	t->quiet = false;
	wn_sys->ioctl((int)t->major1 - 1, request, 0);
	if (t->minor1)
		wn_sys->ioctl((int)t->minor1 - 1,
			      t->closer ? request : PERF_EVENT_IOC_DISABLE, 0);
}

/* Records are made of whole words, and one may go on at the beginning of the ring. */
static uint64_t word_at(const struct wn_tap *t, uint64_t at)
{
	uint64_t size = wn_page_size();

	return *(const uint64_t *)(const void *)(t->ring + size + (at & (size - 1)));
}

bool wn_tap_read(struct wn_tap *t, struct wn_fault *out)
{
	struct perf_event_mmap_page *p = head_of(t);
	uint64_t head = wn_load_acquire(&p->data_head);
	uint64_t tail = p->data_tail;
	bool found = false;

	while (!found && tail < head) {
		uint64_t header = word_at(t, tail);
		uint64_t size = header >> 48;

		/* What cannot be is skipped with all that follows. */
		if (size < 8 || size % 8 || size > head - tail) {
			tail = head;
			break;
		}
		if ((uint32_t)header == PERF_RECORD_SAMPLE && size >= 32) {
			out->ns = word_at(t, tail + 8);
			out->addr = word_at(t, tail + 16);
			out->major = word_at(t, tail + 24) == t->major_id ||
				     (t->quiet1 && word_at(t, tail + 24) == t->quiet_id);
			out->thread = t->thread;
			found = true;
		}
		tail += size;
	}
	wn_store_release(&p->data_tail, tail);
	return found;
}

void wn_tap_skip(struct wn_tap *t)
{
	struct perf_event_mmap_page *p = head_of(t);

	wn_store_release(&p->data_tail, wn_load_acquire(&p->data_head));
}

void wn_tap_close(struct wn_tap *t)
{
	if (t->minor1)
		wn_sys->close((int)t->minor1 - 1);
	if (t->quiet1)
		wn_sys->close((int)t->quiet1 - 1);
	if (t->ring)
		wn_sys->unmap(t->ring, 2 * wn_page_size());
	if (t->major1)
		wn_sys->close((int)t->major1 - 1);
	*t = (struct wn_tap){ 0 };
}

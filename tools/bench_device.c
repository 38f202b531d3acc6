/* SPDX-License-Identifier: MIT */
/* The machine below a file: the block device, and what is set while runs are measured. */
#include "bench.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define REPORTING_PATH "/sys/module/page_reporting/parameters/page_reporting_order"

static bool read_text(const char *path, char *text, size_t size)
{
	FILE *in = fopen(path, "re");
	bool ok;

	if (!in)
		return false;
	ok = fgets(text, (int)size, in) != NULL;
	fclose(in);
	return ok;
}

/* -- Settings that are put back ----------------------------------------------- */

/* Negative: there is none, or it cannot be read. */
static long knob_read(const struct bench_knob *k)
{
	char text[64];

	if (!k->path[0] || !read_text(k->path, text, sizeof(text)))
		return -1;
	return strtol(text, NULL, 10);
}

static int knob_write(const struct bench_knob *k, long value)
{
	FILE *out = fopen(k->path, "we");
	int err = out ? 0 : -errno;

	if (!out)
		return err;
	if (fprintf(out, "%ld\n", value) < 0)
		err = -errno;
	if (fclose(out) && !err)
		err = -errno;
	return err;
}

static int knob_set(struct bench_knob *k, long value)
{
	long now = knob_read(k);
	int err;

	if (now == value)
		return 0;
	err = knob_write(k, value);
	if (err)
		return err;
	if (!k->changed)
		k->before = now;
	k->changed = true;
	return knob_read(k) == value ? 0 : -ERANGE;
}

static int knob_restore(struct bench_knob *k)
{
	int err = k->changed ? knob_write(k, k->before) : 0;

	if (err)
		wn_say("could not set %s back to %ld: %s", k->path, k->before,
		       strerror(-err));
	k->changed = false;
	return err;
}

int bench_device_restore(struct bench_device *d)
{
	int err = knob_restore(&d->read_ahead);
	int other = knob_restore(&d->reporting);

	return err ? err : other;
}

/* -- The read-ahead size ------------------------------------------------------ */

static void find_read_ahead(struct bench_device *d)
{
	/* A whole disk, a partition of one, and what has no block device (btrfs has one
	 * below it that does not show here, network file systems have none). */
	static const char *const places[] = {
		"/sys/dev/block/%u:%u/queue/read_ahead_kb",
		"/sys/dev/block/%u:%u/../queue/read_ahead_kb",
		"/sys/class/bdi/%u:%u/read_ahead_kb",
	};
	struct bench_knob *k = &d->read_ahead;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(k->path, sizeof(k->path), places[i], d->major, d->minor);
#pragma GCC diagnostic pop
		if (access(k->path, R_OK) == 0)
			return;
	}
	k->path[0] = '\0';
}

long bench_device_read_ahead(const struct bench_device *d)
{
	return knob_read(&d->read_ahead);
}

int bench_device_check(const struct bench_device *d)
{
	if (bench_device_read_ahead(d) < 0) {
		wn_say("the file's device has no read-ahead size to set");
		return -ENODEV;
	}
	if (access(d->read_ahead.path, W_OK) < 0) {
		wn_say("cannot set %s: %s", d->read_ahead.path, strerror(errno));
		return -EACCES;
	}
	return 0;
}

int bench_device_set_read_ahead(struct bench_device *d, long kb)
{
	int err = knob_set(&d->read_ahead, kb);

	if (err)
		wn_say("cannot set %s to %ld: %s", d->read_ahead.path, kb,
		       strerror(-err));
	return err;
}

/* -- Free page reporting ------------------------------------------------------ */

/* How many sizes of blocks the page allocator has: an order that no block reaches. */
static long page_orders(void)
{
	FILE *in = fopen("/proc/buddyinfo", "re");
	char line[512], *words = line;
	long orders = 0;

	if (in && fgets(line, sizeof(line), in)) {
		/* "Node 0, zone DMA" and a count for each order */
		for (const char *word; (word = strsep(&words, " \n"));)
			orders += *word != '\0';
		orders -= 4;
	}
	if (in)
		fclose(in);
	return orders > 0 ? orders : 11;
}

enum bench_reporting bench_device_stop_reporting(struct bench_device *d)
{
	long order = knob_read(&d->reporting), orders = page_orders();

	/* Negative as long as no driver wants reports. */
	if (order < 0)
		return REPORTING_NONE;
	if (order < orders)
		knob_set(&d->reporting, orders);
	return knob_read(&d->reporting) < orders ? REPORTING_ACTIVE : REPORTING_OFF;
}

void bench_device_fetch_memory(const struct bench_device *d, uint64_t size)
{
	uint64_t room = (uint64_t)sysconf(_SC_AVPHYS_PAGES) / 2 *
			(uint64_t)sysconf(_SC_PAGESIZE);
	void *memory;

	if (!d->reporting.changed)
		return;
	if (size > room)
		size = room;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory != MAP_FAILED)
		munmap(memory, size);
}

/* -- The device --------------------------------------------------------------- */

void bench_device_find(struct bench_device *d, const char *path)
{
	char dir[PATH_MAX];
	struct stat st;

	*d = (struct bench_device){ .reporting.path = REPORTING_PATH };
	snprintf(dir, sizeof(dir), "%s", path);
	if (stat(path, &st) < 0 && stat(dirname(dir), &st) < 0)
		return;
	d->major = major(st.st_dev);
	d->minor = minor(st.st_dev);
	snprintf(d->stat_path, sizeof(d->stat_path), "/sys/dev/block/%u:%u/stat",
		 d->major, d->minor);
	if (access(d->stat_path, R_OK) < 0)
		d->stat_path[0] = '\0';
	find_read_ahead(d);
}

/* Reads that are still under way are counted by the kernel when they end. */
static void wait_idle(const struct bench_device *d)
{
	char path[160], text[64];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/inflight", d->major, d->minor);
	for (int i = 0; i < 100; i++) {
		struct timespec pause = { .tv_nsec = 2000000 };

		if (!read_text(path, text, sizeof(text)) || strtol(text, NULL, 10) == 0)
			return;
		nanosleep(&pause, NULL);
	}
}

bool bench_device_count(const struct bench_device *d, double *reads, double *bytes)
{
	unsigned long long completed, merged, sectors;
	char text[256];

	if (!d->stat_path[0])
		return false;
	wait_idle(d);
	if (!read_text(d->stat_path, text, sizeof(text)) ||
	    sscanf(text, "%llu %llu %llu", &completed, &merged, &sectors) != 3)
		return false;
	*reads = (double)completed;
	*bytes = (double)sectors * 512;
	return true;
}

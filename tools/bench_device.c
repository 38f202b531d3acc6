/* SPDX-License-Identifier: MIT */
/* The machine below a file: the block device, and what is set while runs are measured. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/btrfs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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

	if (now != value) {
		err = knob_write(k, value);
		if (err)
			return err;
		if (!k->changed)
			k->before = now;
		k->changed = true;
	}
	k->ours = knob_read(k);
	return k->ours == value ? 0 : -ERANGE;
}

static bool knob_is_ours(const struct bench_knob *k)
{
	return knob_read(k) == k->ours;
}

static int knob_restore(struct bench_knob *k, bool ours)
{
	int err = k->changed && ours ? knob_write(k, k->before) : 0;

	if (k->changed && !ours)
		wn_say("%s is left at %ld and not set back to %ld: somebody else has set it "
		       "meanwhile", k->path, knob_read(k), k->before);
	if (err)
		wn_say("could not set %s back to %ld: %s", k->path, k->before,
		       strerror(-err));
	k->changed = false;
	return err;
}

/* The one is written first that resets the other. */
int bench_device_restore(struct bench_device *d)
{
	struct bench_knob *k = &d->read_ahead;
	long now = knob_read(k);
	bool reset = d->max_sectors.changed;
	int err = knob_restore(&d->max_sectors, knob_is_ours(&d->max_sectors));
	int other;

	if (reset && now != k->ours)
		knob_write(k, now);
	other = knob_restore(k, now == k->ours);
	return err ? err : other;
}

/* -- The device's limits -------------------------------------------------------- */

/* A whole disk's file, a partition's, or that of what has no block device. */
static void find_knob(const struct bench_device *d, struct bench_knob *k,
		      const char *const *places, size_t count)
{
	for (size_t i = 0; i < count; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(k->path, sizeof(k->path), places[i], d->major, d->minor);
#pragma GCC diagnostic pop
		if (access(k->path, R_OK) == 0)
			return;
	}
	k->path[0] = '\0';
}

/* btrfs reads ahead as it says itself, whatever the devices say that it lies on. */
static void find_btrfs_knob(struct bench_device *d, const char *path)
{
	struct btrfs_ioctl_fs_info_args info = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC), used;
	struct bench_knob *k = &d->read_ahead;

	if (fd < 0 || ioctl(fd, BTRFS_IOC_FS_INFO, &info) < 0) {
		if (fd >= 0)
			close(fd);
		return;
	}
	close(fd);
	used = snprintf(k->path, sizeof(k->path), "/sys/fs/btrfs/");
	for (unsigned i = 0; i < BTRFS_FSID_SIZE; i++)
		used += snprintf(k->path + used, sizeof(k->path) - (size_t)used, "%s%02x",
				 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				 info.fsid[i]);
	snprintf(k->path + used, sizeof(k->path) - (size_t)used, "/bdi/read_ahead_kb");
}

static void find_knobs(struct bench_device *d)
{
	/* Network file systems have no block device. */
	static const char *const read_ahead[] = {
		"/sys/dev/block/%u:%u/queue/read_ahead_kb",
		"/sys/dev/block/%u:%u/../queue/read_ahead_kb",
		"/sys/class/bdi/%u:%u/read_ahead_kb",
	};
	static const char *const max_sectors[] = {
		"/sys/dev/block/%u:%u/queue/max_sectors_kb",
		"/sys/dev/block/%u:%u/../queue/max_sectors_kb",
	};

	find_knob(d, &d->read_ahead, read_ahead, 3);
	find_knob(d, &d->max_sectors, max_sectors, 2);
}

/* cgroups know whole disks only. */
static void find_disk(struct bench_device *d)
{
	char path[128], text[64];

	d->disk_major = d->major;
	d->disk_minor = d->minor;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/partition", d->major, d->minor);
	if (access(path, F_OK) < 0)
		return;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../dev", d->major, d->minor);
	if (read_text(path, text, sizeof(text)) &&
	    sscanf(text, "%u:%u", &d->disk_major, &d->disk_minor) != 2)
		d->disk_major = d->major;
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

int bench_device_set(struct bench_device *d, long max_sectors_kb, long read_ahead_kb)
{
	struct bench_knob *other = &d->read_ahead;
	long before;
	int err;

	if (max_sectors_kb <= 0 && read_ahead_kb < 0)
		return 0;
	/* One lock for both. */
	err = bench_lock(other->path);
	if (err)
		return err;
	before = knob_read(other);
	if (max_sectors_kb > 0) {
		err = knob_set(&d->max_sectors, max_sectors_kb);
		if (err)
			return err;
		/* That may have reset the other, and setting it back may do so too. */
		if (!other->changed)
			other->before = before;
		other->changed = true;
		if (read_ahead_kb < 0)
			read_ahead_kb = before;
	}
	return read_ahead_kb < 0 ? 0 : knob_set(other, read_ahead_kb);
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

enum bench_reporting bench_reporting_stop(struct bench_knob *k)
{
	long order, orders = page_orders();

	snprintf(k->path, sizeof(k->path), "%s", REPORTING_PATH);
	order = knob_read(k);

	/* Negative as long as no driver wants reports. */
	if (order < 0)
		return REPORTING_NONE;
	if (order < orders)
		knob_set(k, orders);
	return knob_read(k) < orders ? REPORTING_ACTIVE : REPORTING_OFF;
}

int bench_reporting_restore(struct bench_knob *k)
{
	return knob_restore(k, knob_is_ours(k));
}

void bench_reporting_fetch_memory(const struct bench_knob *k, uint64_t size)
{
	uint64_t room = (uint64_t)sysconf(_SC_AVPHYS_PAGES) / 2 *
			(uint64_t)sysconf(_SC_PAGESIZE);
	void *memory;

	if (!k->changed)
		return;
	if (size > room)
		size = room;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory != MAP_FAILED)
		munmap(memory, size);
}

/* -- The device --------------------------------------------------------------- */

void bench_device_find(struct bench_device *d, const char *path, dev_t block)
{
	char dir[PATH_MAX];
	struct stat st;

	*d = (struct bench_device){ 0 };
	snprintf(dir, sizeof(dir), "%s", path);
	if (stat(path, &st) < 0 && stat(dirname(dir), &st) < 0)
		return;
	if (!block)
		block = st.st_dev;
	d->major = major(block);
	d->minor = minor(block);
	snprintf(d->stat_path, sizeof(d->stat_path), "/sys/dev/block/%u:%u/stat",
		 d->major, d->minor);
	if (access(d->stat_path, R_OK) < 0)
		d->stat_path[0] = '\0';
	find_knobs(d);
	find_btrfs_knob(d, S_ISDIR(st.st_mode) ? dir : path);
	find_disk(d);
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

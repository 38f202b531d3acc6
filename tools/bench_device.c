/* SPDX-License-Identifier: MIT */
/* The block device below a file: its counters and its read-ahead size. */
#include "bench.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

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

void bench_device_find(struct bench_device *d, const char *path)
{
	/* A whole disk, a partition of one, and what has no block device (btrfs has one
	 * below it that does not show here, network file systems have none). */
	static const char *const places[] = {
		"/sys/dev/block/%u:%u/queue/read_ahead_kb",
		"/sys/dev/block/%u:%u/../queue/read_ahead_kb",
		"/sys/class/bdi/%u:%u/read_ahead_kb",
	};
	char dir[PATH_MAX];
	struct stat st;

	*d = (struct bench_device){ .read_ahead_before = -1 };
	snprintf(dir, sizeof(dir), "%s", path);
	if (stat(path, &st) < 0 && stat(dirname(dir), &st) < 0)
		return;
	d->major = major(st.st_dev);
	d->minor = minor(st.st_dev);
	snprintf(d->stat_path, sizeof(d->stat_path), "/sys/dev/block/%u:%u/stat",
		 d->major, d->minor);
	if (access(d->stat_path, R_OK) < 0)
		d->stat_path[0] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(d->read_ahead_path, sizeof(d->read_ahead_path), places[i],
			 d->major, d->minor);
#pragma GCC diagnostic pop
		if (access(d->read_ahead_path, R_OK) == 0)
			return;
	}
	d->read_ahead_path[0] = '\0';
}

long bench_device_read_ahead(const struct bench_device *d)
{
	char text[64];

	if (!d->read_ahead_path[0] || !read_text(d->read_ahead_path, text, sizeof(text)))
		return -1;
	return strtol(text, NULL, 10);
}

static int write_read_ahead(const struct bench_device *d, long kb)
{
	FILE *out = fopen(d->read_ahead_path, "we");
	int err = out ? 0 : -errno;

	if (!out)
		return err;
	if (fprintf(out, "%ld\n", kb) < 0)
		err = -errno;
	if (fclose(out) && !err)
		err = -errno;
	return err;
}

int bench_device_check(const struct bench_device *d)
{
	if (bench_device_read_ahead(d) < 0) {
		wn_say("the file's device has no read-ahead size to set");
		return -ENODEV;
	}
	if (access(d->read_ahead_path, W_OK) < 0) {
		wn_say("cannot set %s: %s", d->read_ahead_path, strerror(errno));
		return -EACCES;
	}
	return 0;
}

int bench_device_set_read_ahead(struct bench_device *d, long kb)
{
	long now = bench_device_read_ahead(d);
	int err;

	if (now == kb)
		return 0;
	if (d->read_ahead_before < 0)
		d->read_ahead_before = now;
	err = write_read_ahead(d, kb);
	if (!err && bench_device_read_ahead(d) != kb)
		err = -ERANGE;
	if (err)
		wn_say("cannot set %s to %ld: %s", d->read_ahead_path, kb,
		       strerror(-err));
	return err;
}

int bench_device_restore(struct bench_device *d)
{
	int err;

	if (d->read_ahead_before < 0)
		return 0;
	err = write_read_ahead(d, d->read_ahead_before);
	if (err)
		wn_say("could not set %s back to %ld: %s", d->read_ahead_path,
		       d->read_ahead_before, strerror(-err));
	d->read_ahead_before = -1;
	return err;
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

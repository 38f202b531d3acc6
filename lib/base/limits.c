/* SPDX-License-Identifier: MIT */
#include "base/limits.h"

#include <sys/sysmacros.h>

#include "base/file_io.h"
#include "base/mem.h"
#include "base/text.h"

static bool device_number(const char *before, dev_t dev, const char *after, uint64_t *kib)
{
	char path[128];
	struct wn_text t = wn_text_in(path, sizeof(path));

	wn_text_add(&t, before);
	wn_text_number(&t, major(dev));
	wn_text_add(&t, ":");
	wn_text_number(&t, minor(dev));
	wn_text_add(&t, after);
	if (!wn_file_number(path, kib))
		return false;
	*kib *= 1024;
	return true;
}

struct wn_device_limits wn_device_limits(dev_t dev)
{
	struct wn_device_limits l = { 0 };

	/* A whole disk, a partition (its disk is one up), or a file system without either. */
	if (device_number("/sys/dev/block/", dev, "/queue/read_ahead_kb", &l.readahead))
		device_number("/sys/dev/block/", dev, "/queue/max_sectors_kb", &l.request);
	else if (device_number("/sys/dev/block/", dev, "/../queue/read_ahead_kb", &l.readahead))
		device_number("/sys/dev/block/", dev, "/../queue/max_sectors_kb", &l.request);
	else
		device_number("/sys/class/bdi/", dev, "/read_ahead_kb", &l.readahead);
	return l;
}

/*
 * One cgroup directory: limit minus use, where clean page cache that nobody reads again
 * counts as free, as it does in MemAvailable.
 */
static uint64_t cgroup_headroom(const char *dir, const char *limit, const char *use,
				const char *inactive)
{
	char path[320], text[4096];
	uint64_t max, used, cache = 0;
	struct wn_text t = wn_text_in(path, sizeof(path));
	size_t stem;

	wn_text_add(&t, dir);
	stem = t.used;
	wn_text_add(&t, limit);
	/* "max" is no number: no limit here. */
	if (!wn_file_number(path, &max))
		return UINT64_MAX;
	t.used = stem;
	wn_text_add(&t, use);
	if (!wn_file_number(path, &used))
		return UINT64_MAX;
	t.used = stem;
	wn_text_add(&t, "/memory.stat");
	if (wn_file_text(path, text, sizeof(text)) > 0)
		wn_text_field(text, inactive, &cache);
	return wn_above(max, wn_above(used, cache));
}

/* The smallest headroom from the process's own cgroup up to the root that is visible. */
static uint64_t cgroup_walk(const char *mount, const char *path, const char *limit,
			    const char *use, const char *inactive)
{
	char dir[256];
	struct wn_text t = wn_text_in(dir, sizeof(dir));
	size_t stem;
	uint64_t least = UINT64_MAX;

	wn_text_add(&t, mount);
	stem = t.used;
	while (*path && *path != '\n' && t.used + 1 < t.size)
		t.buf[t.used++] = *path++;
	for (;;) {
		t.buf[t.used] = '\0';
		least = wn_min(least, cgroup_headroom(dir, limit, use, inactive));
		if (t.used <= stem)
			return least;
		while (t.used > stem && t.buf[--t.used] != '/')
			;
	}
}

static uint64_t cgroups_headroom(void)
{
	char text[4096];
	uint64_t least = UINT64_MAX;

	if (wn_file_text("/proc/self/cgroup", text, sizeof(text)) <= 0)
		return least;
	for (const char *p = text; *p;) {
		const char *v2 = wn_after(p, "0::");
		const char *list = p, *v1 = NULL;

		/* Version 1: "4:memory:/path", or "4:hugetlb,memory:/path". */
		while (*list && *list != ':' && *list != '\n')
			list++;
		while (*list == ':' || *list == ',') {
			const char *path = wn_after(++list, "memory:");

			v1 = path ? path : v1;
			while (*list && *list != ',' && *list != ':' && *list != '\n')
				list++;
			if (*list == ':')
				break;
		}
		if (v2) {
			least = wn_min(least, cgroup_walk("/sys/fs/cgroup", v2, "/memory.max",
							  "/memory.current", "inactive_file"));
			least = wn_min(least, cgroup_walk("/sys/fs/cgroup", v2, "/memory.high",
							  "/memory.current", "inactive_file"));
		}
		if (v1)
			least = wn_min(least, cgroup_walk("/sys/fs/cgroup/memory", v1,
							  "/memory.limit_in_bytes",
							  "/memory.usage_in_bytes",
							  "total_inactive_file"));
		while (*p && *p != '\n')
			p++;
		if (*p)
			p++;
	}
	return least;
}

uint64_t wn_memory_headroom(void)
{
	char text[2048];
	uint64_t kib, free_bytes = UINT64_MAX;

	if (wn_file_text("/proc/meminfo", text, sizeof(text)) > 0 &&
	    wn_text_field(text, "MemAvailable:", &kib))
		free_bytes = kib * 1024;
	return wn_min(free_bytes, cgroups_headroom());
}

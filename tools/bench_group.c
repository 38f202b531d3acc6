/* SPDX-License-Identifier: MIT */
/*
 * A cgroup for the programs that are measured: a slow device, little memory.  Version 1
 * has a hierarchy for each controller, version 2 one for all.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <mntent.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct controller {
	const char *v1, *v2;
};

static const struct controller io_controller = { "blkio", "io" };
static const struct controller memory_controller = { "memory", "memory" };

/* Is the word in a list with these separators? */
static bool listed(const char *list, const char *word, const char *separators)
{
	size_t length = strlen(word);

	while (*list) {
		size_t span = strcspn(list, separators);

		if (span == length && !strncmp(list, word, length))
			return true;
		list += span;
		list += strspn(list, separators);
	}
	return false;
}

/* Our own group in the hierarchy of a controller of version 1, or NULL in that of 2. */
static bool own_path(const char *v1, char path[PATH_MAX])
{
	FILE *in = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX];
	bool found = false;

	while (in && !found && fgets(line, sizeof(line), in)) {
		char *at = line, *number, *controllers;

		line[strcspn(line, "\n")] = '\0';
		number = strsep(&at, ":");
		controllers = strsep(&at, ":");
		if (!number || !controllers || !at)
			continue;
		found = v1 ? listed(controllers, v1, ",") : !*controllers;
		snprintf(path, PATH_MAX, "%s", strcmp(at, "/") ? at : "");
	}
	if (in)
		fclose(in);
	return found;
}

static bool mount_point(const char *v1, char path[PATH_MAX])
{
	FILE *in = setmntent("/proc/self/mounts", "re");
	struct mntent entry;
	char buffer[3 * PATH_MAX];
	bool found = false;

	while (in && !found && getmntent_r(in, &entry, buffer, sizeof(buffer))) {
		found = v1 ? !strcmp(entry.mnt_type, "cgroup") &&
				     hasmntopt(&entry, v1) :
			     !strcmp(entry.mnt_type, "cgroup2");
		if (found)
			snprintf(path, PATH_MAX, "%s", entry.mnt_dir);
	}
	if (in)
		endmntent(in);
	return found;
}

static bool join(char path[PATH_MAX], const char *dir, const char *name)
{
	return snprintf(path, PATH_MAX, "%s%s", dir, name) < PATH_MAX;
}

/* Does this group let those below it use the controller? */
static bool passes_on(const char *dir, const char *controller)
{
	char path[PATH_MAX], line[1024] = "";
	FILE *in = NULL;

	if (join(path, dir, "/cgroup.subtree_control"))
		in = fopen(path, "re");
	if (!in)
		return false;
	if (!fgets(line, sizeof(line), in))
		line[0] = '\0';
	fclose(in);
	return listed(line, controller, " \n");
}

/* Where a group may be made: below our own, or as near to it as there is. */
static int find_parent(const struct controller *c, bool *v2, char parent[PATH_MAX])
{
	char mount[PATH_MAX], own[PATH_MAX];
	size_t least;

	*v2 = !own_path(c->v1, own);
	if (*v2 && !own_path(NULL, own))
		return -ENOENT;
	if (!mount_point(*v2 ? NULL : c->v1, mount))
		return -ENOENT;
	least = strlen(mount);
	if (!join(parent, mount, own))
		return -ENAMETOOLONG;
	/* The path is not seen where another part of the hierarchy is mounted. */
	if (access(parent, F_OK) < 0)
		snprintf(parent, PATH_MAX, "%s", mount);
	while (*v2 && !passes_on(parent, c->v2)) {
		char *slash = strrchr(parent, '/');

		if (strlen(parent) <= least || !slash)
			return -ENOENT;
		*slash = '\0';
	}
	return 0;
}

static int put(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	int fd, err = 0;

	if (!join(path, dir, name))
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* The folder of the group with this controller; made, unless version 2 has it already. */
static int open_group(struct bench_group *g, const struct controller *c, bool *v2,
		      const char **dir)
{
	char parent[PATH_MAX], *path = g->dirs[g->ndirs];
	int err = find_parent(c, v2, parent);

	if (err)
		return err;
	if (snprintf(path, PATH_MAX, "%s/willneed-bench-%d", parent, (int)getpid()) >=
	    PATH_MAX)
		return -ENAMETOOLONG;
	*dir = path;
	if (g->ndirs && !strcmp(path, g->dirs[0])) {
		*dir = g->dirs[0];
		return 0;
	}
	if (mkdir(path, 0755) < 0)
		return -errno;
	g->ndirs++;
	return 0;
}

static int limit_io(struct bench_group *g, const struct bench_place *p,
		    const struct bench_device *d)
{
	unsigned long long iops = p->iops, rate = p->rate;
	char text[128];
	const char *dir;
	bool v2;
	int err = open_group(g, &io_controller, &v2, &dir);

	if (err)
		return err;
	if (v2) {
		int used = snprintf(text, sizeof(text), "%u:%u", d->disk_major,
				    d->disk_minor);

		if (iops)
			used += snprintf(text + used, sizeof(text) - (size_t)used,
					 " riops=%llu", iops);
		if (rate)
			snprintf(text + used, sizeof(text) - (size_t)used, " rbps=%llu",
				 rate);
		return put(dir, "/io.max", text);
	}
	snprintf(text, sizeof(text), "%u:%u %llu", d->disk_major, d->disk_minor, iops);
	if (iops)
		err = put(dir, "/blkio.throttle.read_iops_device", text);
	snprintf(text, sizeof(text), "%u:%u %llu", d->disk_major, d->disk_minor, rate);
	if (rate && !err)
		err = put(dir, "/blkio.throttle.read_bps_device", text);
	return err;
}

static int limit_memory(struct bench_group *g, uint64_t memory)
{
	char text[32];
	const char *dir;
	bool v2;
	int err = open_group(g, &memory_controller, &v2, &dir);

	snprintf(text, sizeof(text), "%llu", (unsigned long long)memory);
	return err ? err : put(dir, v2 ? "/memory.max" : "/memory.limit_in_bytes", text);
}

int bench_group_make(struct bench_group *g, const struct bench_place *p,
		     const struct bench_device *d, char *why, size_t why_size)
{
	const char *what = "no cgroup that makes the device slow";
	int err = 0;

	g->ndirs = 0;
	if (p->iops || p->rate)
		err = limit_io(g, p, d);
	if (!err && p->memory) {
		what = "no cgroup that limits the memory";
		err = limit_memory(g, p->memory);
	}
	if (!err)
		return 0;
	snprintf(why, why_size, "%s: %s", what, strerror(-err));
	bench_group_drop(g);
	return err;
}

int bench_group_join(const struct bench_group *g)
{
	int err = 0;

	for (unsigned i = 0; i < g->ndirs && !err; i++)
		err = put(g->dirs[i], "/cgroup.procs", "0");
	return err;
}

double bench_group_refaults(const struct bench_group *g)
{
	char path[PATH_MAX], line[256];
	double refaults = NAN;

	for (unsigned i = 0; i < g->ndirs; i++) {
		FILE *in = NULL;

		if (join(path, g->dirs[i], "/memory.stat"))
			in = fopen(path, "re");
		while (in && fgets(line, sizeof(line), in)) {
			if (sscanf(line, "workingset_refault_file %lf", &refaults) == 1)
				break;
		}
		if (in)
			fclose(in);
	}
	return refaults;
}

void bench_group_drop(struct bench_group *g)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	while (g->ndirs) {
		const char *dir = g->dirs[--g->ndirs];

		/* A process that has just ended may still be counted. */
		for (int try = 0; try < 100 && rmdir(dir) < 0 && errno == EBUSY; try++)
			nanosleep(&pause, NULL);
	}
}

/* SPDX-License-Identifier: MIT */
/* How much of the files is cached while a program reads them. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <math.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451	/* on all architectures alike */
#endif

struct cachestat_range {
	uint64_t offset, length;	/* 0: to the end */
};

struct cachestat_result {
	uint64_t cached, dirty, writeback, evicted, recently_evicted; /* pages */
};

static bool wanted(const struct bench_case *c)
{
	for (const struct bench_bar *bar = c->bars; bar->of != OF_NOTHING; bar++) {
		if (bar->metric == METRIC_CACHED)
			return true;
	}
	return false;
}

/* overlayfs has an inode of its own, whose cache is always empty. */
static bool tells(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type != OVERLAYFS_SUPER_MAGIC;
}

void bench_cached_begin(struct bench_cached *k, const struct bench *b,
			const struct bench_case *c)
{
	*k = (struct bench_cached){ .peak = NAN };
	if (!wanted(c))
		return;
	k->peak = 0;
	for (; k->nfds < b->site->nfiles; k->nfds++) {
		int fd = open(b->site->files[k->nfds].path, O_RDONLY | O_CLOEXEC);

		k->fds[k->nfds] = fd;
		if (fd < 0 || !tells(fd))
			k->peak = NAN;
	}
	bench_cached_sample(k);
}

int bench_cached_sample(struct bench_cached *k)
{
	enum { EVERY_MS = 4, SHARE = 25 };
	struct cachestat_range all = { 0 };
	double begin = bench_now(), pages = 0, pause;

	if (isnan(k->peak))
		return -1;
	for (unsigned i = 0; i < k->nfds; i++) {
		struct cachestat_result found;

		if (syscall(SYS_cachestat, k->fds[i], &all, &found, 0) < 0) {
			k->peak = NAN;
			return -1;
		}
		pages += (double)found.cached;
	}
	pages *= (double)sysconf(_SC_PAGESIZE);
	if (pages > k->peak)
		k->peak = pages;
	/* Where there is much to count, less often: the processor is for those who read. */
	pause = (bench_now() - begin) * 1000 * SHARE;
	return pause > EVERY_MS ? (int)pause : EVERY_MS;
}

double bench_cached_end(struct bench_cached *k)
{
	bench_cached_sample(k);
	for (unsigned i = 0; i < k->nfds; i++) {
		if (k->fds[i] >= 0)
			close(k->fds[i]);
	}
	return k->peak;
}

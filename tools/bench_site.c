/* SPDX-License-Identifier: MIT */
/* The places where cases run: made when a case needs one, each with its files. */
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1ull << 20)

/* Beside a case's files XFS wants 300 MiB, and every file system a little. */
#define FS_SPACE(size) ((size) + (size) / 16 + 512 * MIB)

enum {
	SMALLEST_MIB = 8,	/* of several files */
};

static uint64_t size_of_each(const struct bench *b, const struct bench_place *p)
{
	uint64_t size = b->size;

	if (p->mib && size > p->mib * MIB)
		size = p->mib * MIB;
	if (!p->files)
		return size;
	size = size / p->files & ~(MIB - 1);
	return size < SMALLEST_MIB * MIB ? SMALLEST_MIB * MIB : size;
}

static int name_files(struct bench_site *s, const char *dir, uint64_t size,
		      unsigned count)
{
	char of[32] = "", number[16] = "";

	if (count > 1)
		snprintf(of, sizeof(of), "-of-%u", count);
	for (s->nfiles = 0; s->nfiles < count; s->nfiles++) {
		struct bench_file *f = &s->files[s->nfiles];

		if (s->nfiles)
			snprintf(number, sizeof(number), ".%u", s->nfiles);
		if (snprintf(f->path, sizeof(f->path), "%s/willneed-bench-%llu%s.dat%s",
			     dir, (unsigned long long)size, of,
			     number) >= (int)sizeof(f->path))
			return -ENAMETOOLONG;
		f->size = size;
		f->number = s->nfiles;
		f->temporary = true;
	}
	return 0;
}

static int make_files(struct bench_site *s, const char *dir, uint64_t size,
		      unsigned count, char *why, size_t why_size)
{
	int err = name_files(s, dir, size, count);

	if (!err && !bench_file_room(s->files, s->nfiles, dir))
		err = -ENOSPC;
	for (unsigned i = 0; i < s->nfiles && !err; i++)
		err = bench_file_make(&s->files[i]);
	if (err)
		snprintf(why, why_size, "cannot make files of %llu MiB in %s: %s",
			 (unsigned long long)(size * count / MIB), dir, strerror(-err));
	return err;
}

/* One of each kind: a file or several, on the disk or on a loop device. */
static struct bench_site *site_for(struct bench *b, const struct bench_place *p)
{
	return &b->sites[(p->fs ? 2 : 0) + (p->files ? 1 : 0)];
}

static bool fits(const struct bench_site *s, const struct bench_place *p, uint64_t size)
{
	if (p->fs && strcmp(s->loop.fs, p->fs))
		return false;
	return s->nfiles == (p->files ? p->files : 1) && s->files[0].size == size;
}

struct bench_site *bench_site_get(struct bench *b, const struct bench_place *p, char *why,
				  size_t why_size)
{
	struct bench_site *s = site_for(b, p);
	const char *dir = b->dir;
	uint64_t size = size_of_each(b, p);
	unsigned count = p->files ? p->files : 1;
	int err = 0;

	/* Those of the user are as they are. */
	if (s->ready && (!s->files[0].temporary || fits(s, p, size)))
		return s;
	bench_site_drop(s, b->keep);
	if (p->fs) {
		err = bench_loop_make(&s->loop, b->dir, p->fs, FS_SPACE(size * count),
				      why, why_size);
		dir = s->loop.mount;
	}
	if (!err)
		err = make_files(s, dir, size, count, why, why_size);
	if (err) {
		bench_site_drop(s, b->keep);
		return NULL;
	}
	bench_device_find(&s->device, s->files[0].path,
			  s->loop.mounted ? s->loop.device : 0);
	s->ready = true;
	return s;
}

void bench_site_drop(struct bench_site *s, bool keep)
{
	bench_device_restore(&s->device);
	for (unsigned i = 0; i < s->nfiles; i++)
		bench_file_drop(&s->files[i], keep);
	bench_loop_drop(&s->loop);
	s->nfiles = 0;
	s->ready = false;
}

int bench_place_set(struct bench *b, struct bench_place *p, char *why, size_t why_size)
{
	struct bench_site *s = b->site;
	int err = bench_device_set(&s->device, p->max_sectors_kb, p->read_ahead_kb);

	if (err) {
		snprintf(why, why_size, "cannot set the device's limits: %s",
			 strerror(-err));
		return err;
	}
	if (p->memory_percent)
		p->memory = s->files[0].size / 100 * p->memory_percent;
	/* Each run has a group of its own; what cannot be had is known before the first. */
	err = bench_group_make(&b->group, p, &s->device, why, why_size);
	if (!err)
		bench_group_drop(&b->group);
	return err;
}

void bench_place_leave(struct bench *b)
{
	bench_device_restore(&b->site->device);
}

struct bench_place bench_place_of(const struct bench_args *args,
				  const struct bench_case *c, long read_ahead_kb)
{
	struct bench_place p = bench_places[c->place];

	if (args->place.fs)
		p.fs = args->place.fs;
	if (args->place.max_sectors_kb)
		p.max_sectors_kb = args->place.max_sectors_kb;
	if (read_ahead_kb >= 0)
		p.read_ahead_kb = read_ahead_kb;
	else if (!p.read_ahead_kb)
		p.read_ahead_kb = -1;
	if (args->throttle) {
		p.iops = args->place.iops;
		p.rate = args->place.rate;
	}
	if (args->place.memory || args->place.memory_percent) {
		p.memory = args->place.memory;
		p.memory_percent = args->place.memory_percent;
	}
	return p;
}

void bench_place_words(const struct bench_place *p, char *text, size_t size)
{
	FILE *out = fmemopen(text, size, "w");

	if (!out)
		return;
	if (p->files)
		fprintf(out, ", %u files", p->files);
	if (p->fs)
		fprintf(out, ", %s on a loop device", p->fs);
	if (p->max_sectors_kb)
		fprintf(out, ", max_sectors_kb %ld", p->max_sectors_kb);
	if (p->iops)
		fprintf(out, ", %llu reads/s", (unsigned long long)p->iops);
	if (p->rate)
		fprintf(out, ", %llu MiB/s", (unsigned long long)(p->rate / MIB));
	if (p->memory)
		fprintf(out, ", in %llu MiB of memory",
			(unsigned long long)(p->memory / MIB));
	fclose(out);
}

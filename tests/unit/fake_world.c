/* SPDX-License-Identifier: MIT */
#include "fake_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/arena.h"

#define PAGE   ((uint64_t)wn_page_size())
#define EXT4   0xef53
#define DEVICE makedev(8, 1)

struct fake fake;
struct fake_file fake_files[FAKE_MAX_FILES];
struct fake_open fake_fds[FAKE_MAX_FDS];
struct fake_mapping fake_maps[FAKE_MAX_MAPS];
int fake_map_count;
static int file_count;

/* -- Set-up -------------------------------------------------------------------------- */

void fake_reset(void)
{
	for (int i = 0; i < file_count; i++) {
		free(fake_files[i].page);
		free(fake_files[i].mark);
		free(fake_files[i].asked);
	}
	memset(fake_files, 0, sizeof(fake_files));
	memset(fake_fds, 0, sizeof(fake_fds));
	memset(&fake, 0, sizeof(fake));
	file_count = fake_map_count = 0;
	fake.thread = fake.process = 1234;
	fake.now_ns = 1000 * (uint64_t)1000000000;
	fake.readahead = 128 * 1024;
	fake.request = 1280 * 1024;
	wn_sys = &fake_sys;
}

int fake_huge_file(const char *path, uint64_t ino, uint64_t size)
{
	struct fake_file *f = &fake_files[file_count];

	if (file_count == FAKE_MAX_FILES)
		abort();
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->dev = DEVICE;
	f->ino = ino;
	f->size = size;
	f->mode = S_IFREG | 0644;
	f->magic = EXT4;
	return file_count++;
}

int fake_file(const char *path, uint64_t ino, uint64_t size)
{
	int file = fake_huge_file(path, ino, size);
	struct fake_file *f = &fake_files[file];
	size_t pages = size / PAGE + 1;

	f->page = calloc(pages, 1);
	f->mark = calloc(pages, 1);
	f->asked = calloc(pages, 1);
	if (!f->page || !f->mark || !f->asked)
		abort();
	return file;
}

int fake_text(const char *path, const char *text)
{
	int file = fake_huge_file(path, 0, 0);

	fake_files[file].text = text;
	return file;
}

int fake_by_path(const char *path)
{
	for (int i = 0; i < file_count; i++)
		if (fake_files[i].path[0] && !strcmp(fake_files[i].path, path))
			return i;
	return -1;
}

void fake_set_text(const char *path, const char *text)
{
	int file = fake_by_path(path);

	if (file < 0)
		fake_text(path, text);
	else
		fake_files[file].text = text;
}

struct fake_file *fake_at(int file)
{
	return &fake_files[file];
}

void fake_map(uint64_t addr, uint64_t length, int file, uint64_t offset)
{
	if (fake_map_count == FAKE_MAX_MAPS)
		abort();
	fake_maps[fake_map_count++] = (struct fake_mapping){ addr, length, offset, file };
}

void fake_device_texts(uint64_t readahead_kib, uint64_t request_kib)
{
	static char texts[2][32];
	char path[64];

	fake.readahead = readahead_kib * 1024;
	fake.request = request_kib * 1024;
	snprintf(texts[0], sizeof(texts[0]), "%llu\n", (unsigned long long)readahead_kib);
	snprintf(texts[1], sizeof(texts[1]), "%llu\n", (unsigned long long)request_kib);
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/queue/read_ahead_kb",
		 major(DEVICE), minor(DEVICE));
	fake_set_text(path, texts[0]);
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/queue/max_sectors_kb",
		 major(DEVICE), minor(DEVICE));
	fake_set_text(path, texts[1]);
}

/* -- The page cache ------------------------------------------------------------------ */

static uint64_t pages_of(const struct fake_file *f)
{
	return f->page ? (f->size + PAGE - 1) / PAGE : 0;
}

static void ask_page(struct fake_file *f, uint64_t page)
{
	if (page >= pages_of(f) || f->page[page] != FAKE_MISSING)
		return;
	f->page[page] = fake.at_once ? FAKE_CACHED : FAKE_UNDER_WAY;
	f->asked[page]++;
	if (f->coming_from == f->coming_to)
		f->coming_from = f->coming_to = page;
	f->coming_from = page < f->coming_from ? page : f->coming_from;
	f->coming_to = page >= f->coming_to ? page + 1 : f->coming_to;
}

void fake_arrive(void)
{
	for (int i = 0; i < file_count; i++) {
		struct fake_file *f = &fake_files[i];

		for (uint64_t p = f->coming_from; p < f->coming_to && p < pages_of(f); p++)
			if (f->page[p] == FAKE_UNDER_WAY)
				f->page[p] = FAKE_CACHED;
		f->coming_from = f->coming_to = 0;
	}
}

static void set_pages(int file, uint64_t from, uint64_t to, enum fake_page state)
{
	struct fake_file *f = &fake_files[file];

	for (uint64_t p = from / PAGE; p < (to + PAGE - 1) / PAGE && p < pages_of(f);
	     p++) {
		f->page[p] = (unsigned char)state;
		f->mark[p] = 0;
	}
}

void fake_cache(int file, uint64_t from, uint64_t to)
{
	set_pages(file, from, to, FAKE_CACHED);
}

void fake_evict(int file, uint64_t from, uint64_t to)
{
	set_pages(file, from, to, FAKE_MISSING);
}

void fake_touch(int file, uint64_t from, uint64_t to)
{
	struct fake_file *f = &fake_files[file];

	for (uint64_t p = from / PAGE; p < (to + PAGE - 1) / PAGE && p < pages_of(f); p++)
		fake.major_faults += f->page[p] == FAKE_MISSING;
	set_pages(file, from, to, FAKE_CACHED);
}

void fake_read(int file, uint64_t from, uint64_t to)
{
	fake.blocks += fake_missing(file, from, to) / 512;
	set_pages(file, from, to, FAKE_CACHED);
}

uint64_t fake_missing(int file, uint64_t from, uint64_t to)
{
	const struct fake_file *f = &fake_files[file];
	uint64_t n = 0;

	for (uint64_t p = from / PAGE; p < (to + PAGE - 1) / PAGE && p < pages_of(f); p++)
		n += f->page[p] == FAKE_MISSING;
	return n * PAGE;
}

unsigned fake_most_asked(int file, uint64_t from, uint64_t to)
{
	const struct fake_file *f = &fake_files[file];
	unsigned most = 0;

	for (uint64_t p = from / PAGE; p < (to + PAGE - 1) / PAGE && p < pages_of(f); p++)
		most = f->asked[p] > most ? f->asked[p] : most;
	return most;
}

/* A window of an open file: only a page that is new can carry the mark. */
static void start_window(struct fake_open *o, uint64_t start, uint64_t size,
			 uint64_t mark)
{
	struct fake_file *f = &fake_files[o->file1 - 1];

	if (mark < pages_of(f) && f->page[mark] == FAKE_MISSING)
		f->mark[mark] = 1;
	for (uint64_t p = start; p < start + size; p++)
		ask_page(f, p);
	o->ra_start = start;
	o->ra_size = size;
	o->ra_mark = mark;
}

long fake_read_nowait(struct fake_open *o, uint64_t offset, uint64_t length)
{
	struct fake_file *f = &fake_files[o->file1 - 1];
	uint64_t page = offset / PAGE, want = (length + PAGE - 1) / PAGE;
	uint64_t own = fake.readahead * (o->sequential ? 2 : 1) / PAGE;
	uint64_t most = own;

	if (offset >= f->size)
		return 0;
	if (!f->page)
		return 1;
	if (want > own && fake.request / PAGE > own)
		most = want < fake.request / PAGE ? want : fake.request / PAGE;
	if (o->random) {
		bool missing = f->page[page] == FAKE_MISSING;

		if (missing)
			fake_read_advised(o->file1 - 1, offset, length);
		return f->page[page] == FAKE_CACHED && !missing ? 1 : -EAGAIN;
	}
	/* A short read begins a window only behind what this file has read last. */
	if (f->page[page] == FAKE_MISSING && want <= most && page && page - o->ra_prev > 1) {
		for (uint64_t p = page; p < page + want; p++)
			ask_page(f, p);
		return -EAGAIN;
	}
	if (f->page[page] == FAKE_MISSING) {
		uint64_t size = want > most ? most : 4 * want < most ? 4 * want : most;

		start_window(o, page, size, want > most ? page + size / 2 : page + want);
		return -EAGAIN;
	}
	if (f->mark[page]) {
		uint64_t next = o->ra_start + o->ra_size;

		f->mark[page] = 0;
		if (page != o->ra_mark)
			for (next = page; next < pages_of(f) && f->page[next]; next++)
				;
		start_window(o, next, most, next);
	}
	if (f->page[page] != FAKE_CACHED)
		return -EAGAIN;
	/* All that is copied is one byte; see last_byte in engine.h. */
	o->ra_prev = (offset + 1) / PAGE;
	return 1;
}

void fake_read_advised(int file, uint64_t offset, uint64_t length)
{
	struct fake_file *f = &fake_files[file];
	uint64_t cap = fake.readahead > fake.request ? fake.readahead : fake.request;
	uint64_t end = (offset + length + PAGE - 1) / PAGE;

	if (end > offset / PAGE + cap / PAGE)
		end = offset / PAGE + cap / PAGE;
	for (uint64_t p = offset / PAGE; f->page && p < end; p++) {
		fake.again += p < pages_of(f) && f->page[p] != FAKE_MISSING;
		ask_page(f, p);
	}
}

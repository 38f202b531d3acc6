/* SPDX-License-Identifier: MIT */
/*
 * fake_world.h - what fake_sys.c (the calls) and fake_world.c (files and the page cache)
 * share.  Tests include fake_sys.h only.
 */
#ifndef WN_FAKE_WORLD_H
#define WN_FAKE_WORLD_H

#include "fake_sys.h"

struct fake_open {
	int file1; /* plus one; 0: closed */
	uint64_t text_at;
	bool sequential, random;
	int64_t position;
	/* What the kernel keeps for each open file, in pages. */
	uint64_t ra_start, ra_size, ra_mark, ra_prev;
};

struct fake_mapping {
	uint64_t addr, length, offset;
	int file;
};

extern struct fake_file fake_files[FAKE_MAX_FILES];
extern struct fake_open fake_fds[FAKE_MAX_FDS];
extern struct fake_mapping fake_maps[FAKE_MAX_MAPS];
extern int fake_map_count;

int fake_by_path(const char *path);
/* Starts what such a read starts: 0 (end of file), 1, or -EAGAIN. */
long fake_read_nowait(struct fake_open *o, uint64_t offset, uint64_t length);
/* fake_table.c */
ssize_t fake_table_read(void *buf, size_t n, uint64_t offset);
int fake_table_scan(uint64_t arg);
/* One call of advice. */
void fake_read_advised(int file, uint64_t offset, uint64_t length);

#endif

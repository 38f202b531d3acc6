/* SPDX-License-Identifier: MIT */
/*
 * written.h - uncached writes as plain ones, where the file system refuses the flag.
 * For front/: runs on the program's threads, around their writes.  As the flag does it,
 * what has been written is sent to the disk, 2 MiB at a time, and leaves the page cache
 * once it is there.
 *
 * Promises: nothing is waited for.  Only pages are dropped that were not cached before
 * they were written, of files that the process has not mapped; of an inode of which
 * dropped pages are read again nothing more is.  What is not yet on the disk is looked at
 * again at later writes to the file, and once more when a descriptor of it is closed; what
 * is on its way even then stays.
 */
#ifndef WN_WRITTEN_H
#define WN_WRITTEN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pieces.h"

enum { WN_WRITTEN_FILES = 8, WN_WRITTEN_RUNS = 8 };

/* Of pieces. */
struct wn_written_run {
	uint64_t from, to;
};

struct wn_writtens {
	uint32_t busy; /* held by the thread that reads or changes what follows */
	uint32_t used; /* 1: there is a file */
	uint32_t turn;
	struct wn_written_file {
		struct wn_piece_file file;
		uint64_t piece; /* that is being written */
		uint64_t bytes; /* of it, so far */
		struct wn_written_run cold; /* not cached before they were written */
		struct wn_written_run gone; /* dropped last, in a row */
		/* On their way to the disk, in the order in which they were sent. */
		struct wn_written_run sent[WN_WRITTEN_RUNS];
		uint32_t tries; /* at the first of these */
	} of[WN_WRITTEN_FILES];
};

/* A write that is being made. */
struct wn_write {
	uint64_t ino; /* 0: its end need not be told */
	uint64_t at;
};

/* A write that was refused for its flag is about to be made without; -1: at the position. */
void wn_written_begin(struct wn_write *w, int fd, off_t offset);
void wn_written_end(const struct wn_write *w, int fd, size_t put);
/* A descriptor is about to be closed. */
void wn_written_closing(int fd);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * log.h - what WILLNEED_LOG asked to be told; silence otherwise.
 * Calls base and options.  Every line opens, appends and closes, so that no descriptor is
 * kept; lines come from the helper, or from a moment that is rare by nature.
 */
#ifndef WN_LOG_H
#define WN_LOG_H

#include <stdbool.h>

#include "base/text.h"
#include "options.h"

struct wn_line {
	struct wn_text text;
	char buf[512];
	const char *path; /* NULL: nobody asked, and building the line costs nothing */
};

/* Between the two, the caller adds to text. */
bool wn_line_begin(struct wn_line *l, const struct wn_options *o);
void wn_line_end(struct wn_line *l);
/* Adds which file it is: "device 254:0 inode 12". */
void wn_line_id(struct wn_line *l, uint64_t dev, uint64_t ino);
/* Adds the path of the file that is open under this number of the calling thread. */
void wn_line_file(struct wn_line *l, int fd);
/* The same for one that a link in /proc stands for. */
void wn_line_link(struct wn_line *l, const char *link);
void wn_log(const struct wn_options *o, const char *what, const char *more,
	    uint64_t number);

/* The number of the program's under which its stderr is found from now on. */
void wn_log_stderr(int fd);
/* Opens a file that the user named, or "stderr", for appending: a descriptor or -errno. */
int wn_log_open(const char *path);

#endif

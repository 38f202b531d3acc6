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
	char buf[240];
	const char *path; /* NULL: nobody asked, and building the line costs nothing */
};

/* Between the two, the caller adds to text. */
bool wn_line_begin(struct wn_line *l, const struct wn_options *o);
void wn_line_end(struct wn_line *l);
void wn_log(const struct wn_options *o, const char *what, const char *more,
	    uint64_t number);

/* Opens a file that the user named, or "stderr", for appending: a descriptor or -errno. */
int wn_log_open(const char *path);

#endif

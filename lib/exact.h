/* SPDX-License-Identifier: MIT */
/*
 * exact.h - a large read that is about to be made, asked for by its own thread.
 * Calls request; runs on the program's threads.  The kernel cuts a large read into windows
 * that begin wherever the last one ended, and waits for each; this asks for all of it at
 * once, for what the read is going to read and nothing else.
 */
#ifndef WN_EXACT_H
#define WN_EXACT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "cover.h"

struct wn_state;

/* Is most of this range missing from the cache, for certain?  And is all of it there? */
bool wn_exact_is_cold(int fd, uint64_t from, uint64_t to);
bool wn_exact_is_warm(int fd, uint64_t from, uint64_t to);

/*
 * A cold range: nothing is done when the kernel takes it in one piece.  The beginning is
 * asked for here, what comes later is a request to the helper.
 */
void wn_exact_ask(struct wn_state *st, struct wn_cover_file id, const struct stat *file,
		  int fd, uint64_t from, uint64_t to);

#endif

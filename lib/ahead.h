/* SPDX-License-Identifier: MIT */
/*
 * ahead.h - reading ahead of uncached reads that are made as plain ones.
 * For drop.c; runs on the program's threads, before their reads.  The kernel's readahead
 * goes on at a mark that it leaves in what it reads, and begins where a page is missing.
 * Advice leaves no mark: a reader that asks for what comes next itself, in time, never
 * sets it off, and no more is cached in front of it than was asked for here.
 *
 * Promises: never more than has been read in sequence, nor than the readers of a file may
 * have together; nothing that another reader has read already; no advice that changes how
 * the descriptor is read.  Late or refused, the reader is served by the kernel.
 */
#ifndef WN_AHEAD_H
#define WN_AHEAD_H

#include <stdint.h>

#include "pieces.h"

struct wn_state;

/* A read at this offset, of a piece that is read in sequence, is about to be made. */
void wn_ahead_ask(struct wn_state *st, struct wn_piece_file *f, int fd, uint64_t offset);

#endif

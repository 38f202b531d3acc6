/* SPDX-License-Identifier: MIT */
/*
 * read.h - what the wrappers of calls that read share.
 * For files of front/ only.
 */
#ifndef WN_FRONT_READ_H
#define WN_FRONT_READ_H

#include "front/front.h"

#include <stdbool.h>
#include <stdint.h>

/* A call has returned, having read so much at `at`; see reads.h. */
void wn_front_has_read(int fd, int64_t at, ssize_t got)
	__attribute__((visibility("hidden")));

/*
 * libc is about to read so much at the descriptor's position by itself; and it has.  What
 * the first returns is for the second.
 */
off_t wn_front_fills(int fd, size_t n) __attribute__((visibility("hidden")));
void wn_front_filled(int fd, off_t from) __attribute__((visibility("hidden")));

/* This number is about to be nobody's, or another file's. */
void wn_front_closing(int fd) __attribute__((visibility("hidden")));
/* The same for one of several; true: wn_reads_closed() is to be called after the last. */
bool wn_front_lets_go(int fd) __attribute__((visibility("hidden")));

#endif

/* SPDX-License-Identifier: MIT */
/*
 * kit.h - an engine with everything that it works with, over the fake kernel, and no
 * thread: a test makes the helper's rounds itself.
 */
#ifndef WN_KIT_H
#define WN_KIT_H

#include "fake_sys.h"
#include "loop.h"
#include "runtime.h"

#define KIT_ADDR   ((uint64_t)0x100000000000)
#define KIT_FD     5
#define KIT_THREAD 77

struct kit {
	struct wn_loop loop;
	struct wn_state *st;
	struct wn_track *track;
	struct wn_kernel k;
	int file;      /* of the fake */
	uint16_t slot; /* of the file table */
	bool helping;
};

extern struct kit kit;

/*
 * Everything anew: one file of this size, tracked by the fake page cache, open as KIT_FD
 * and mapped at KIT_ADDR; a helper that seems to run.
 */
void kit_reset(uint64_t size);

/* The same by hand: state and fake are empty. */
void kit_empty(void);
uint16_t kit_watch(int file, int fd, uint64_t addr, uint64_t length);

void kit_push(enum wn_access_kind kind, uint64_t offset, uint64_t length, unsigned flags);

/*
 * A copy as the program makes it: wn_copy() from KIT_ADDR + offset; nothing is moved, but
 * pages are touched.  After each piece the helper makes a round, and what it asked for
 * arrives, if kit.helping.
 */
void kit_copy(uint64_t offset, uint64_t length);

/*
 * Rounds of the helper, with as much time between them as it would sleep, until nothing
 * is going on: how many; -1 when it never ends.
 */
int kit_settle(void);

#endif

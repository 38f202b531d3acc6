/* SPDX-License-Identifier: MIT */
/*
 * repeat.h - advice that the program gives, and that it or we have given a moment ago.
 * For front/: runs on the program's threads, around their calls of readahead() and the
 * like.  Takes no lock but once for each file, writes nothing that other threads read
 * while advice is answered, and leaves errno alone.
 *
 * A file is known by fstat() at every call, and by the time of its last change: what was
 * asked for before that is forgotten, whoever cut, punched or wrote it.
 */
#ifndef WN_REPEAT_H
#define WN_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mem.h"
#include "cover.h"

struct wn_repeat {
	struct wn_state *st; /* NULL: the call is passed on as it is, and not looked at again */
	struct wn_cover_file id;
	uint64_t from, to; /* of the file, what the program asked for */
	uint64_t taken;	   /* up to here the kernel is told, and reads */
	int fd;
};

/* What a call of advice needs of its descriptor. */
enum wn_repeat_need { WN_ANY_OPEN_FILE, WN_READABLE_FILE };

/*
 * The program asks for a range.  True: it has been asked for, the call would succeed and
 * change nothing, and is not to be made.  False: it is to be made, with offset and length
 * as they are now; then wn_repeat_told() is to hear whether it succeeded.
 */
bool wn_repeat_file(struct wn_repeat *r, int fd, enum wn_repeat_need need,
			      off_t *offset, off_t *length);
bool wn_repeat_memory(struct wn_repeat *r, void **addr, size_t *length);
void wn_repeat_told(const struct wn_repeat *r, bool success);

/* The program gave up a range of the page cache; length 0: to the end of the file. */
void wn_repeat_forget_file(int fd, off_t offset, off_t length);
void wn_repeat_forget_memory(const void *addr, size_t length);

/* Adds what is counted apart, thread by thread, to the counters. */
void wn_repeat_settle(void);

#endif

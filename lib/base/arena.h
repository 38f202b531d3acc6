/* SPDX-License-Identifier: MIT */
/*
 * arena.h - the one anonymous mapping that holds everything the engine remembers.
 * Calls the kernel only.  Four parts, so four VMAs at most: tables that a forked child
 * inherits, state that the kernel zeroes in a forked child (all zeroes is a valid, empty
 * state), a page without access, and the helper's stack.  Never unmapped.
 */
#ifndef WN_ARENA_H
#define WN_ARENA_H

#include <stddef.h>

struct wn_arena {
	void *kept;
	void *wiped;
	char *last_byte; /* in front of the page without access: where reads stop */
	char *stack_top;
};

/* 0, or a negative errno and nothing mapped. */
int wn_arena_map(struct wn_arena *a, size_t kept, size_t wiped, size_t stack);
/* For an arena that nobody has seen yet. */
void wn_arena_unmap(const struct wn_arena *a);
size_t wn_page_size(void);

#endif

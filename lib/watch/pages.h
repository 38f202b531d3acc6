/* SPDX-License-Identifier: MIT */
/*
 * pages.h - which pages of our own address space have an entry in the page table.
 * Calls base only.  By the PAGEMAP_SCAN call of Linux 6.7 and later, which passes over
 * what is empty at once, or by reading /proc/thread-self/pagemap, a word for each page.
 * Neither takes a privilege.
 */
#ifndef WN_PAGES_H
#define WN_PAGES_H

#include <stdbool.h>
#include <stdint.h>

struct wn_pages {
	uint32_t fd1; /* descriptor, plus one */
	bool by_scan;
};

struct wn_stretch {
	uint64_t start;
	uint64_t end;
};

/* 0, or a negative errno: it does not work here. */
int wn_pages_open(struct wn_pages *p, bool by_scan);

/*
 * The regions of [start, end) that are there, upward, as far as they fit in r[max], and in
 * *stopped how far that was: how many, or a negative errno.
 */
int wn_pages_look(const struct wn_pages *p, uint64_t start, uint64_t end,
		  struct wn_stretch *r, unsigned max, uint64_t *stopped);

void wn_pages_close(struct wn_pages *p);

#endif

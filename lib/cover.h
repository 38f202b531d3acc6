/* SPDX-License-Identifier: MIT */
/*
 * cover.h - what has been asked of the kernel a moment ago, page by page.
 * Calls base only.  Lock-free from any thread; of fixed size, so it forgets the oldest.
 * Promise: a page is only ever reported as asked for if somebody marked it, and a page
 * near it within the last few seconds (as wn_cover_tick() was told the time), unless two
 * threads recycle the same slot at the same instant: then a hint is wrong, which costs
 * speed only.
 */
#ifndef WN_COVER_H
#define WN_COVER_H

#include <stdbool.h>
#include <stdint.h>

enum { WN_COVER_SLOTS = 4096, WN_COVER_WORDS = 4 };

struct wn_cover {
	uint32_t now; /* in ticks of 2^20 ns, about a millisecond */
	struct wn_cover_slot {
		uint64_t key; /* file, its serial, and which 256 pages; 0: empty */
		uint64_t bits[WN_COVER_WORDS];
		uint32_t stamp;
	} slot[WN_COVER_SLOTS];
};

/* The bytes that one slot is about, where pages have 4 KiB. */
#define WN_COVER_REACH ((uint64_t)256 * 1024 * WN_COVER_WORDS)

/* Identifies a file for as long as its slot keeps its serial. */
struct wn_cover_file {
	uint16_t file;
	uint32_t serial;
};

void wn_cover_tick(struct wn_cover *c, uint64_t now_ns);
void wn_cover_clear(struct wn_cover *c);
/* True when some of it was not marked before: of two threads at it, only one hears that. */
bool wn_cover_mark(struct wn_cover *c, struct wn_cover_file f, uint64_t from, uint64_t to);
/*
 * Since how many ticks (milliseconds, about) anything of this range has been known, also
 * what is too old to count as asked for; WN_COVER_NEVER where nothing is known of a part.
 */
#define WN_COVER_NEVER UINT32_MAX
uint32_t wn_cover_age(const struct wn_cover *c, struct wn_cover_file f, uint64_t from,
		      uint64_t to);
/* The pages of this range are no longer there, or soon will not be. */
void wn_cover_forget(struct wn_cover *c, struct wn_cover_file f, uint64_t from,
		     uint64_t to);
/* How many bytes from `from` on, without a gap and up to `to`, have been asked for. */
uint64_t wn_cover_asked(const struct wn_cover *c, struct wn_cover_file f, uint64_t from,
			uint64_t to);
/* How many bytes from `from` on, up to `to`, have not been. */
uint64_t wn_cover_missing(const struct wn_cover *c, struct wn_cover_file f, uint64_t from,
			  uint64_t to);

#endif

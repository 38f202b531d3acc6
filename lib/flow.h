/* SPDX-License-Identifier: MIT */
/*
 * flow.h - the plain records that pass between the rooms: access -> order.
 * Calls nothing, owns nothing.
 */
#ifndef WN_FLOW_H
#define WN_FLOW_H

#include <stdint.h>

/* What a thread of the program does, as it tells the helper. */
enum wn_access_kind {
	WN_ACCESS_BEGIN, /* it is about to read all of this range; DOWN: a part may be read already */
	WN_ACCESS_STEP,	 /* it is about to read this piece of such a range */
	WN_ACCESS_FAULT, /* it took a page fault there; FAULTED: a major one */
	WN_ACCESS_READ,	 /* it reads, or has just read, this range of a descriptor's file */
	WN_ACCESS_LEAD,	 /* its uncached reads are to be led there; file: of pieces.h */
};

enum {
	WN_ACCESS_FAULTED = 1, /* the piece before this one, though asked for, faulted */
	WN_ACCESS_EXACT = 2,   /* the program asked that nothing be guessed */
	WN_ACCESS_UP = 4,      /* the same thread has read what lies before it */
	WN_ACCESS_DOWN = 8,    /* or what lies behind it */
	WN_ACCESS_HUGE = 16,   /* it asked for huge pages, and the kernel reads in such */
	WN_ACCESS_APART = 32,  /* it is a step away, and the last step was as long */
	WN_ACCESS_LONG = 64,   /* one call that its own thread asks for; see exact.h */
	WN_ACCESS_COVERED = 128, /* a piece all of which had been asked for */
};

struct wn_access {
	uint64_t offset;
	uint64_t length;
	uint32_t thread; /* kernel thread id */
	uint16_t file;	 /* slot in the file table */
	uint8_t kind;
	uint8_t flags;
};

/* What the engine is to ask of the kernel. */
struct wn_order {
	uint64_t from;
	uint64_t exact; /* what is before this will be read for certain */
	uint64_t to;	/* what is before this, most likely */
	/* May the kernel read past `to`, because the reader will most likely go there? */
	uint64_t slack;
	uint64_t unit; /* what to ask for at a time; less than the engine's: memory is tight */
};

#endif

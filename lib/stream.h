/* SPDX-License-Identifier: MIT */
/*
 * stream.h - which reads belong together, and where each reader is.
 * Calls base and the track room only; the helper's own, so nothing here is shared.
 * A stream is one reader's way through one file, or several threads' that take turns on
 * it.  Old streams survive a jump: a reader that comes back finds its stream again.
 */
#ifndef WN_STREAM_H
#define WN_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "flow.h"
#include "track/file.h"

enum { WN_STREAMS = 128 };

struct wn_stream {
	/* What the reader did: written here only. */
	uint64_t begin;	   /* of the range that it is reading now */
	uint64_t pos;	   /* up to here it has come */
	uint64_t end;	   /* up to here it said it would read: exact */
	uint64_t run;	   /* bytes that it read in sequence before begin */
	uint64_t piece;	   /* it reads this much at a time */
	uint64_t habit;	   /* how long runs in this file have been; 0: not known */
	uint64_t turn;	   /* when it began its range, as a count of such beginnings */
	uint64_t used_ns;  /* when it was last seen */
	uint32_t thread;
	uint32_t serial;   /* of the file slot */
	uint16_t file;
	bool live;
	bool stirred;	   /* something happened since it was last served */
	bool exact;	   /* nothing may be guessed */
	bool counted;	   /* as a stream: more than one range has been read */
	bool returned;	   /* its reader has been elsewhere and came back */
	bool request;	   /* nobody reads: a range that was asked for through the API */
	/* What was done about it: written by policy and engine. */
	uint64_t asked;	   /* everything from begin up to here has been asked for */
	uint64_t landed;   /* and up to here it has arrived, as far as is known */
	uint64_t lead;	   /* how far ahead of the reader to be */
};

struct wn_streams {
	struct wn_stream slot[WN_STREAMS];
	uint64_t turn;
	/* The length of the runs that readers of a file ended by going elsewhere in it. */
	struct wn_habit {
		uint64_t run;
		uint32_t serial;
	} habit[WN_FILES];
	uint32_t used; /* no slot from here on is live */
};

/*
 * Takes an access in and gives the stream that it belongs to, or -1 when none is affected.
 * A stream that had to make room is given to retired(), if set, before it is reused.
 */
int wn_stream_access(struct wn_streams *t, const struct wn_access *a, uint32_t serial,
		     uint64_t now_ns, void (*retired)(void *ctx, int index), void *ctx);

/* A slot for a range that the API asked for, or -1 while none is free. */
int wn_stream_request(struct wn_streams *t, uint16_t file, uint32_t serial, uint64_t from,
		      uint64_t to, uint64_t now_ns);
/* Is there one? */
bool wn_stream_room(const struct wn_streams *t);

/* Bytes that the stream has in flight or waiting in the cache, ahead of its reader. */
uint64_t wn_stream_ahead(const struct wn_stream *s);

/* Bytes that its reader has read in sequence; 0 while it is no sequence. */
uint64_t wn_stream_consumed(const struct wn_stream *s);

/*
 * How far behind the end of the current range it may be expected to go on: as far as it has
 * come, but not past the usual length of runs in this file, before it has gone past that.
 */
uint64_t wn_stream_outlook(const struct wn_stream *s);

#endif

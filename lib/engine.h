/* SPDX-License-Identifier: MIT */
/*
 * engine.h - who asks the kernel, and how.
 * Calls base, track, cover and stats; used by one thread at a time (the helper, or in
 * tests the only one).  Descriptors here are the helper's own: the program's table never
 * sees them.  Promises: harmless advice only; at most the order and its slack is asked
 * for; what was asked for is marked in the cover only after the kernel knows of it.
 */
#ifndef WN_ENGINE_H
#define WN_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "cover.h"
#include "devices.h"
#include "filesystems.h"
#include "flow.h"
#include "options.h"
#include "stats.h"
#include "stream.h"
#include "track/mapping.h"
#include "uring.h"
#include "walk.h"
#include "whole.h"

/* One for each stream, behind them one for each walk, and for each file fetched as a whole. */
enum { WN_LANES = WN_STREAMS + WN_WALKS + WN_WHOLES };

/* Descriptors are kept plus one, so that zeroed memory means "none". */
struct wn_engine_file {
	uint64_t unit;	 /* what to ask for at a time: the kernel's window when riding */
	uint64_t readahead; /* what the kernel reads at a fault */
	uint64_t chunk;	 /* what one call of advice reads */
	uint64_t align;	 /* where a ride should begin, so that its folios can be large */
	uint64_t size;
	uint64_t told;	 /* the size that the program's side knew at the last look */
	uint32_t serial; /* of the file slot, to notice that it has been reused */
	uint32_t fd1;
	uint8_t way;
	bool uring;	 /* its advice, and the watch for its pages, go through the ring */
	uint8_t strikes; /* grows by pages that were asked for and missing, and is forgiven */
};

/* One ride: a private open file, and so a readahead state of its own in the kernel. */
struct wn_lane {
	uint64_t edge;	  /* up to here everything has been asked for */
	uint64_t advised; /* and with advice, to finish an order exactly, up to here */
	uint64_t watched; /* io_uring: a read of the page before this is under way; 0: none */
	uint64_t arrived; /* and this is where such reads have ended */
	uint64_t mark;	  /* the last window may have its mark here; 0: at its beginning */
	/* Seeds: at multiples of spacing from seed on, their windows from sprout on, */
	uint64_t seed, sprout, top; /* and all of them below top */
	uint64_t spacing;
	uint64_t bought;  /* bytes that were asked for here, and not before by others */
	uint32_t fd1;
	uint16_t file;	  /* that fd1 is open on */
	bool riding;	  /* reading at edge, or before it, goes on */
	bool refused;	  /* the kernel answered with an error: it cannot be done here */
};

struct wn_engine {
	uint32_t held; /* files that are open, or are being opened */
	struct wn_engine_file file[WN_FILES];
	struct wn_lane lane[WN_LANES];
	struct wn_uring uring;
	struct wn_devices devices; /* read by threads of the program too */
};

/* What the engine works with; the pieces live in the runtime's state. */
struct wn_kernel {
	struct wn_engine *engine;
	struct wn_track *track;
	struct wn_cover *cover;
	struct willneed_stats *stats;
	const struct wn_options *options;
	char *last_byte; /* the last byte in front of memory that cannot be accessed */
	bool record_only;
	/* Null engine: sees every order.  May be NULL. */
	void (*recorded)(void *ctx, uint16_t file, const struct wn_order *o);
	void *ctx;
};

/*
 * Makes a file ready, if it is not yet: finds it again, opens it, chooses the way.
 * thread: one of the program's, through which its descriptors can be reached.
 * False: nothing can be done for this file.
 */
bool wn_engine_prepare(const struct wn_kernel *k, uint16_t file, uint32_t thread);

/* Has that been done? */
bool wn_engine_is_open(const struct wn_kernel *k, uint16_t file);

/*
 * Carries an order out for a stream, or for what stands in the stream's place.  Returns
 * the end of what has been asked for: less than `to`, but not than `exact`, when a ride
 * would have to overshoot to get there.
 */
uint64_t wn_engine_ask(const struct wn_kernel *k, int stream, const struct wn_stream *s,
		       const struct wn_order *o);

/* The same for a few pages by themselves, for no stream: by advice, and nothing more. */
void wn_engine_ask_exactly(const struct wn_kernel *k, struct wn_cover_file id,
			   const struct wn_order *o);

/* How far the stream's pages have arrived; never less than s->landed. */
uint64_t wn_engine_landed(const struct wn_kernel *k, int stream, const struct wn_stream *s);

/*
 * Was a piece that had been asked for there when it was read?  When it often is not, the
 * file is asked for in a simpler way.
 */
void wn_engine_judge(const struct wn_kernel *k, int stream, uint16_t file, bool faulted);

/* It has ended, and its reader has not come to so much of what was asked for. */
void wn_engine_unused(const struct wn_kernel *k, int stream, uint64_t ahead);
void wn_engine_close_lane(const struct wn_kernel *k, int stream);
/* Closes everything that is open for files which the program no longer needs, or all. */
void wn_engine_close_files(const struct wn_kernel *k, bool all);

/* Where a ride of this order can begin, at or behind `near`: up to there it is for advice. */
uint64_t wn_ride_from(const struct wn_engine_file *f, const struct wn_order *o,
		      uint64_t near);

/* For the log: how a file is asked for (error: why it is not open), and a change of that. */
void wn_engine_tell_way(const struct wn_kernel *k, const struct wn_engine_file *f, int error);
void wn_engine_tell_fall(const struct wn_kernel *k, const struct wn_engine_file *f,
			 const char *why);

/* The ways, one file each; the end of what was asked for is returned. */
uint64_t wn_ride(const struct wn_kernel *k, const struct wn_engine_file *f,
		 struct wn_lane *lane, struct wn_cover_file id, const struct wn_order *o);
uint64_t wn_advise(const struct wn_kernel *k, const struct wn_engine_file *f, uint64_t from,
		   uint64_t to);
uint64_t wn_advise_address(const struct wn_kernel *k, uint16_t file, uint64_t chunk,
			   uint64_t from, uint64_t to);

/*
 * Seeds, see seed.c.  wn_seed_plant() does what can be done now for the places at multiples
 * of `spacing` below `at`; it is to be called whenever a walk comes on.  A ride that reads
 * at wn_seed_mark() first begins at a ripe place with large folios; 0 where there is none.
 */
void wn_seed_plant(const struct wn_kernel *k, const struct wn_engine_file *f,
		   struct wn_lane *lane, uint64_t at, uint64_t spacing);
bool wn_seed_ripe(const struct wn_lane *lane, uint64_t at);
uint64_t wn_seed_mark(const struct wn_lane *lane, uint64_t at);
/* It has been used: lets go of the pages that it is made of. */
void wn_seed_clear(const struct wn_kernel *k, const struct wn_engine_file *f,
		   struct wn_lane *lane, uint64_t at);

/* Submits what is queued in the ring, and takes in what has completed. */
void wn_engine_flush(const struct wn_kernel *k);

/* Does this process have /dev/fuse open?  Then its threads must not wait for FUSE files. */
bool wn_serves_fuse(uint32_t thread);

/* To read from, leaving the time of the last access alone where that is allowed. */
int wn_open_quietly(const char *path);
/* An open descriptor on the very file in the slot, in the caller's table, or -errno. */
int wn_find_file(const struct wn_track *t, uint16_t file, uint32_t thread);
/* The same by way of the program's descriptor alone. */
int wn_open_descriptor(const struct wn_file *f, uint32_t thread);

#endif

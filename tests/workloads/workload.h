/* SPDX-License-Identifier: MIT */
/*
 * willneed-workload: one access pattern, run once in this process, measured from inside.
 * It links nothing but libc and allocates nothing while the clock runs, so that what is
 * measured is the pattern and not the program around it.
 *
 * A pattern is one function that is called once per thread and asks wl_next() for its
 * pieces; which pieces, in which order and for which thread, is decided by the
 * parameters (params.def) and is the same for every pattern.
 */
#ifndef WL_WORKLOAD_H
#define WL_WORKLOAD_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define WL_PAGE 4096u		/* the sampling stride; the same on every machine */
#define WL_THREADS_MAX 256u
#define WL_NS_MAX 10u		/* small copies: 8, 16, ... 4096 bytes */

enum wl_order { WL_FORWARD, WL_BACKWARD, WL_SHUFFLED, WL_RANDOM, WL_JITTER,
		WL_ALTERNATE, WL_STRAY };
enum wl_split { WL_RANGE, WL_INTERLEAVE, WL_SAME, WL_QUEUE };
enum wl_advice { WL_NONE, WL_ADV_RANDOM, WL_ADV_SEQUENTIAL, WL_ADV_HUGEPAGE };
enum wl_map { WL_PRIVATE, WL_SHARED };

struct wl_params {
#define WL_NUMBER(field, name, def, help) uint64_t field;
#define WL_CHOICE(field, name, words, help) unsigned field;
#include "params.def"
};

/* What a pattern needs to be set up before it starts. */
enum {
	WL_NEEDS_MAP = 1,	/* the file mapped for reading */
	WL_NEEDS_WRITE = 2,	/* the mapping writable, private */
	WL_NEEDS_LOG = 4,	/* an empty file beside the given one, instead of it */
};

struct wl_thread;

struct wl_pattern {
	const char *name;
	int (*run)(struct wl_thread *t);	/* 0 or a negative errno */
	unsigned needs;
	const char *help;
};

struct wl {
	const struct wl_pattern *pattern;
	struct wl_params p;
	const char *path;
	char log_path[PATH_MAX];
	int fd;
	uint64_t size;			/* of the file */
	uint64_t begin, end;		/* the region of it that is read */
	unsigned char *map;
	uint32_t *shuffle;		/* a permutation of the pieces, or NULL */
	_Atomic uint64_t queue;		/* next piece of --split queue */
	_Atomic uint64_t progress;	/* of the one reader that others follow */
	double ns[WL_NS_MAX];		/* per call, of ns_count kinds of calls */
	unsigned ns_count;
};

/* One thread's share; written by that thread alone until it is joined. */
struct wl_thread {
	struct wl *w;
	unsigned index;
	int fd;
	uint64_t begin, end;
	uint64_t k;			/* pieces taken so far */
	uint64_t random;
	uint64_t lookups;		/* of those that come after the pieces */
	uint64_t position;		/* where the last read() has left the descriptor */
	FILE *stream;			/* of it, for fread() */
	uint64_t asked;			/* how far this thread has asked ahead */
	unsigned prologue;		/* 1: the lead is done, 2: the tail too */
	unsigned char *dst;
	uint64_t dst_size;
	uint64_t sum, bytes, calls;
	int err;
};

struct wl_piece {
	uint64_t offset, length;
};

/* The next piece of this thread; false at the end.  */
bool wl_next(struct wl_thread *t, struct wl_piece *piece);

/* How many pieces the range [begin, end) has. */
uint64_t wl_count(const struct wl_params *p, uint64_t begin, uint64_t end);

/* Fill w->shuffle when the order asks for it.  0 or a negative errno. */
int wl_shuffle(struct wl *w);

/* Add what was read at a file offset to the checksum: sampled words, or all of them. */
void wl_account(struct wl_thread *t, const void *data, const struct wl_piece *piece);

/* How something is read; the rest of a short read is asked for again. */
typedef ssize_t (*wl_read_fn)(struct wl_thread *t, void *to, size_t length, off_t offset);
ssize_t wl_by_dontcache(struct wl_thread *t, void *to, size_t length, off_t offset);
/* Read a piece and account for it.  0 or a negative errno. */
int wl_read_piece(struct wl_thread *t, const struct wl_piece *piece, wl_read_fn read_some);

/* Set up, run all threads, measure, print the one line.  0 or a negative errno. */
int wl_run(struct wl *w);

/* Set one parameter by name.  -ENOENT: no such name; -EINVAL: bad value. */
int wl_param_set(struct wl_params *p, const char *name, const char *value, uint64_t size);
void wl_param_defaults(struct wl_params *p, uint64_t size);
void wl_param_help(void);

/* memcpy and memmove as the C library exports them, never inlined by the compiler. */
extern void *(*volatile wl_memcpy)(void *, const void *, size_t);
extern void *(*volatile wl_memmove)(void *, const void *, size_t);

/* The patterns. */
#define WL_PATTERN(name, function, needs, help) int function(struct wl_thread *t);
#include "patterns.def"

#endif

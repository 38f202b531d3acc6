/* SPDX-License-Identifier: MIT */
/*
 * scan.h - page faults as the page table shows them afterwards.
 * Calls base, track, pages and watch.h.  What readers have touched has entries in the page
 * table, so where a region of these grows at one end, a reader comes on there: for each
 * neighbourhood that was added a fault is told.  Promises: nothing is looked at while the
 * process takes no page faults, and looking takes half a hundredth of a processor at most
 * where it is of no use.
 */
#ifndef WN_SCAN_H
#define WN_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "track/mapping.h"
#include "watch/pages.h"

struct wn_fault;
struct wn_watch_use;

enum { WN_PATCHES = 64 };
/* What the kernel maps at a fault, around it. */
#define WN_PATCH_STEP (64u * 1024)

/* Memory that is there without a gap, in one mapping. */
struct wn_patch {
	uint64_t low;
	uint64_t high;
	uint64_t down; /* what is below this, and above low, has not been told yet */
	uint64_t up;
	uint64_t moved_ns;
	uint64_t owed; /* major faults before it was seen to grow */
	uint64_t step; /* how far the faults in it are from each other, about */
	bool edge;  /* it began at an end of its mapping */
	bool falls; /* its lower end has been seen to grow */
	bool rises;
};

/* What looking has cost lately, in processor time, and when it may cost more. */
struct wn_account {
	uint64_t debt_ns;
	uint64_t paid_ns;
	uint64_t due_ns;
};

struct wn_scan {
	struct wn_pages pages;
	struct wn_patch patch[WN_PATCHES];
	uint32_t used;
	uint32_t next;	  /* of which patch to tell next */
	uint32_t thread;
	uint64_t cursor;  /* where to look for new patches */
	uint64_t faults;  /* of the process, when it was looked at last */
	uint64_t majors;
	uint64_t cold;	  /* and what it has had to read */
	uint64_t cold_ns; /* when that was more than before */
	uint64_t looked_ns;
	struct wn_account look;
	struct wn_account search; /* for new patches */
	uint32_t turn;	  /* which part of each mapping is sampled next */
	bool sampled;	  /* any of them was, this turn */
	uint64_t rest_ns; /* how long to sleep if nothing else happens */
	uint32_t useless;   /* looks that showed faults, and nothing that grows */
	uint64_t lull_ns;   /* at least so long between looks that are of no use */
	uint64_t useful_ns; /* when something that was told was of use */
};

/* 0, or a negative errno: it does not work here. */
int wn_scan_open(struct wn_scan *s, bool by_scan);
/* Looks, if it is time; *busy: the program reads what is not cached. */
int wn_scan_tend(struct wn_scan *s, const struct wn_watch_use *u, uint64_t now_ns, bool *busy);
bool wn_scan_next(struct wn_scan *s, struct wn_fault *out);
/* Was the last fault worth telling? */
void wn_scan_judge(struct wn_scan *s, bool useful, uint64_t now_ns);
void wn_scan_close(struct wn_scan *s);

/* patch.c: regions that grow. */
struct wn_patch *wn_patch_below(struct wn_scan *s, uint64_t at); /* the last that begins there */
struct wn_patch *wn_patch_above(struct wn_scan *s, uint64_t at); /* the first that ends there */
void wn_patch_add(struct wn_scan *s, const struct wn_stretch *r, uint64_t now_ns);
/* The page at `at`, the last or the first one of its mapping. */
void wn_patch_edge(struct wn_scan *s, uint64_t at, bool last, uint64_t now_ns);
/* True if any has grown; the process has had so many major faults meanwhile. */
bool wn_patches_grow(struct wn_scan *s, const struct wn_track *t, uint64_t majors,
		     uint64_t now_ns);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * file.h - the files that the program has mapped, by device and inode.
 * Calls base only.  Identity is a hint: it may be stale, and whoever acts on it checks
 * again.  Writers hold the track lock; readers read single words at any time.
 */
#ifndef WN_FILE_H
#define WN_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum { WN_FILES = 256, WN_COPIERS = 8, WN_NO_FILE = 0xffff };

/* What the kernel reads at a fault or for one call of advice, until more is known. */
#define WN_SOME_WINDOW (128u * 1024)

struct wn_file {
	uint64_t dev;
	uint64_t ino;
	uint64_t size;	 /* bytes, when the program last mapped it */
	uint32_t refs;	 /* mappings and requests that need it; 0: the slot may be reused */
	uint32_t serial; /* counts the identities that this slot has had */
	uint32_t owed;	 /* references that are to be dropped by whoever has the lock next */
	int32_t fd;	 /* the program's descriptor, if it is still the same file */
	uint32_t spared; /* it must not be opened: the program has a lease on it */
	/* What threads of the program note for one another; see copy.c. */
	uint32_t heat;	 /* copies in a row that found everything cached */
	uint32_t chill;	 /* copies to come that need no proof that the file is cold */
	uint32_t unasked; /* warm copies since one was last looked at */
	uint64_t copied[WN_COPIERS]; /* by thread: where its last cold copy began */
	uint32_t descents; /* how many more of them lay right below the last one than did not */
	uint32_t hidden; /* the kernel does not tell us what of it is cached */
	uint32_t was_cached; /* when a mapping of it was last looked at; see watch.c */
	/* Written by the helper, and by who meets the file, from what is known of its device. */
	uint32_t kernel_window; /* bytes that the kernel's own readahead reads at a time */
	uint32_t wide;	/* so much, by the setting, that upward it is best left alone */
	uint32_t chunk; /* bytes that one call of advice reads, 0 while unknown */
	uint32_t useless; /* prefetching cannot help here: do not even ask inline */
	/* When its content last changed, as the last call of advice on it saw; see repeat.c. */
	uint64_t changed;
};

struct wn_file_table {
	struct wn_file slot[WN_FILES];
	uint16_t guess[WN_FILES]; /* by a hash of the identity: where it was last found */
	uint32_t turn;		  /* whose identity is given up next */
};

/*
 * The slot of this file, with one reference more; WN_NO_FILE when all are taken.
 * fd is what the program used, or -1.
 */
uint16_t wn_file_take(struct wn_file_table *t, const struct stat *st, int fd);
/* The same without a lock, if it has one, and its serial; takes no reference. */
uint16_t wn_file_find(struct wn_file_table *t, const struct stat *st, uint32_t *serial);
void wn_file_ref(struct wn_file_table *t, uint16_t file);
/* True when that was the last reference. */
bool wn_file_drop(struct wn_file_table *t, uint16_t file);

#endif

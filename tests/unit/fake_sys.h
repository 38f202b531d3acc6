/* SPDX-License-Identifier: MIT */
/*
 * fake_sys.h - a kernel and a clock for tests, behind struct wn_sys.
 *
 * It knows files by path, the program's descriptors, those of the helper, mappings, small
 * texts of /proc and /sys, and a page cache that behaves as readahead does:
 *
 *	- a page is missing, under way or cached; fake_arrive() completes what is not
 *	- a read under RWF_NOWAIT of a missing page starts a window there; if it is longer
 *	  than the largest window W, W bytes, with a mark in the middle
 *	- whoever reads a marked page uses the mark up; where this open file expects it,
 *	  the next window begins where the last one ended, marked at its beginning
 *	- where RANDOM was advised, such a read starts what it asks for, as advice does
 *	- advice reads at most the larger of the device's readahead and request sizes
 *
 * Every call is counted and recorded; any can be made to fail.  One thread at a time.
 */
#ifndef WN_FAKE_SYS_H
#define WN_FAKE_SYS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sys.h"

enum fake_kind {
	FAKE_OPEN,
	FAKE_CLOSE,
	FAKE_READ,
	FAKE_WRITE,
	FAKE_PREADV2,
	FAKE_FADVISE,
	FAKE_MADVISE,
	FAKE_CACHESTAT,
	FAKE_FSTAT,
	FAKE_FSTATFS,
	FAKE_GETFL,
	FAKE_POSITION,
	FAKE_FUTEX_WAIT,
	FAKE_KINDS,
	FAKE_ANY = FAKE_KINDS,
};

enum { FAKE_MAX_FILES = 64, FAKE_MAX_FDS = 512, FAKE_MAX_MAPS = 16, FAKE_MAX_LOG = 4096 };
enum fake_page { FAKE_MISSING, FAKE_UNDER_WAY, FAKE_CACHED };

struct fake_file {
	char path[256];   /* empty: no path leads to it */
	const char *text; /* of a small file; then nothing below matters */
	uint64_t dev;
	uint64_t ino;
	uint64_t size;
	uint64_t changed; /* st_ctim, in seconds */
	uint32_t mode;
	uint32_t magic;      /* of the file system */
	uint64_t coming_from, coming_to; /* pages between which all are that are under way */
	unsigned char *page; /* enum fake_page; NULL: a file too large to keep track of */
	unsigned char *mark;
	uint8_t *asked; /* how often each page was asked for while missing */
};

struct fake_call {
	enum fake_kind kind;
	int file;        /* -1: none */
	uint64_t offset; /* or address */
	uint64_t length;
	long result;
};

struct fake {
	/* For a test to set. */
	uint64_t now_ns;
	uint64_t readahead; /* of the device, in bytes */
	uint64_t request;
	bool at_once;         /* what is asked for arrives at once */
	int refuse_nowait;    /* errno of every read under RWF_NOWAIT; 0: it works */
	uint32_t dead_thread; /* /proc/self/task/N of this one is gone */
	int getfl;            /* what F_GETFL says */
	int lease;            /* has any descriptor one? */
	int thread;           /* that makes the calls */
	uint64_t major_elsewhere; /* faults of all other threads */
	uint64_t minor_elsewhere;
	int process;
	struct {
		enum fake_kind kind;
		uint64_t nth; /* counted from the moment it is set; 0: never */
		int error;
		bool for_ever;
	} fail;
	void (*on_advice)(int file, uint64_t offset, uint64_t length);
	/* For a test to read. */
	uint64_t major_faults;
	uint64_t table_looks;
	uint64_t blocks; /* that threads had to read, of 512 bytes */
	uint64_t waits;	 /* times that they waited */
	uint64_t count[FAKE_KINDS + 1]; /* the last one: of all kinds */
	uint64_t again; /* pages that advice named though they were not missing */
	uint64_t foul;  /* things that no correct caller does: bad descriptors */
	unsigned write_outs; /* times that pages were sent to the disk */
	struct fake_call log[FAKE_MAX_LOG];
	unsigned logged;
};

extern struct fake fake;
extern const struct wn_sys fake_sys;

/* Forgets everything and puts the fake in wn_sys; a device of 128 KiB and 1280 KiB. */
void fake_reset(void);

/* A regular file on ext4; size 0 pages are kept if !tracked. Its index. */
int fake_file(const char *path, uint64_t ino, uint64_t size);
int fake_huge_file(const char *path, uint64_t ino, uint64_t size);
int fake_text(const char *path, const char *text);
/* The same text file, later. */
void fake_set_text(const char *path, const char *text);
struct fake_file *fake_at(int file);
/* The program has this file open as fd; -1: it closes fd. */
void fake_program_fd(int fd, int file);
void fake_map(uint64_t addr, uint64_t length, int file, uint64_t offset);
/* The sysfs entries of the device that all files live on. */
void fake_device_texts(uint64_t readahead_kib, uint64_t request_kib);

/* The page table from addr on, 1 GiB, is empty; and now there are entries for this. */
void fake_table_at(uint64_t addr);
void fake_populate(uint64_t from, uint64_t to);

/* All pages that are under way. */
void fake_arrive(void);
void fake_cache(int file, uint64_t from, uint64_t to);
void fake_evict(int file, uint64_t from, uint64_t to);
/* The program reads there: a major fault for each page that is missing; marks go. */
void fake_touch(int file, uint64_t from, uint64_t to);
/* The same through a descriptor: no faults, but blocks to be read from the device. */
void fake_read(int file, uint64_t from, uint64_t to);
/* Where the program's read() of this descriptor would read; -1: it has no position. */
void fake_seek(int fd, int64_t position);
/* How many bytes of the range are missing. */
uint64_t fake_missing(int file, uint64_t from, uint64_t to);
/* The most often that one page of the range was asked for while it was missing. */
unsigned fake_most_asked(int file, uint64_t from, uint64_t to);
/* Descriptors that the helper has open. */
unsigned fake_open_fds(void);

/* From now on the nth call of this kind (1: the next) fails, once or for ever. */
void fake_fail(enum fake_kind kind, uint64_t nth, int error, bool for_ever);

#endif

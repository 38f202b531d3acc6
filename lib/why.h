/* SPDX-License-Identifier: MIT */
/*
 * why.h - tells in the log why something is left alone, from the list in why.def.
 * Calls base, options, log, track and filesystems; any thread.  Costs a comparison where no log
 * was asked for.  Promises: once for each file and reason in a process, for
 * WN_WHY_FILES files of each reason; that there are more is told once.
 */
#ifndef WN_WHY_H
#define WN_WHY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "log.h"
#include "options.h"
#include "track/file.h"

enum wn_reason {
#define WN_REASON(id, text, help) WN_WHY_##id,
#include "why.def"
#undef WN_REASON
	WN_REASONS
};

enum { WN_WHY_FILES = 32 };

/* A file as it is known where the reason is found. */
struct wn_why_file {
	uint64_t dev, ino;
	int fd; /* of the program's descriptors, or -1: only its path comes from there */
	uint32_t thread; /* one of the program's */
};

static inline bool wn_why_asked(const struct wn_options *o)
{
	return wn_unlikely(wn_load(&o->value[WN_OPT_LOG]));
}

/* The process is left alone; error: an errno to be shown, or 0. */
void wn_why_process(const struct wn_options *o, enum wn_reason why, int error);
void wn_why_file(const struct wn_options *o, enum wn_reason why,
		 const struct wn_why_file *f);
/* The same of one in the table of files; thread: one of the program's. */
void wn_why_tracked(const struct wn_options *o, enum wn_reason why,
		    const struct wn_file *file, uint32_t thread);
/* The same on a thread of the program, of its descriptor. */
void wn_why_fd(const struct wn_options *o, enum wn_reason why, int fd);
/* Has anything been told in this process? */
bool wn_why_told(void);

#endif

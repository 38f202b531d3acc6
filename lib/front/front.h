/* SPDX-License-Identifier: MIT */
/*
 * front.h - the interposed names of libwillneed-preload.so.
 *
 * Rules of this room:
 *  1. A wrapper passes its call on exactly once, with the same arguments, and returns what
 *     that returned.  Nothing is held meanwhile.
 *  2. It works from the first instruction of the process: before the constructor has run,
 *     struct wn_front is all zeroes, and everything falls back to raw system calls and to
 *     wn_move().  Data here must therefore not need relocation.
 *  3. errno is what the real call left.
 *  4. No malloc, no stdio, no lock, no dlsym but in the constructor.
 *  5. What it learns it reports to the room of lib/ that knows such calls (copy.h, reads.h,
 *     drop.h, repeat.h, helper.h); it decides nothing.
 */
#ifndef WN_FRONT_H
#define WN_FRONT_H

/*
 * Its wrappers would take the place of what is defined here.  So this header comes first in
 * every file of this room.
 */
#undef _FORTIFY_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sched.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

/* In libc, but in none of its headers. */
int capset(cap_user_header_t header, const cap_user_data_t data);
ssize_t __getdelim(char **line, size_t *room, int end, FILE *stream);
char *__fgets_chk(char *to, size_t size, int room, FILE *stream);
/* In those of glibc 2.34 and later. */
void closefrom(int first);
int close_range(unsigned first, unsigned last, int flags);

/* What most calls need lies in one line of the processor's cache. */
struct wn_front {
	_Alignas(64) size_t copy_min; /* smaller copies go straight on; 0: not ready yet */
	size_t plain_reads; /* granted reads go straight on; 0: not, or not ready yet */
#define WN_NEXT(name) __typeof__(name) *name;
#define WN_ALIAS(name)
#include "front/wrappers.def"
#undef WN_NEXT
#undef WN_ALIAS
};

extern struct wn_front wn_front __attribute__((visibility("hidden")));

#define WN_EXPORT __attribute__((visibility("default")))

/*
 * The next definition of a name, before the constructor: for calls of libc that it allocates
 * in itself, and has no other name for.
 */
void *wn_front_early(const char *name) __attribute__((visibility("hidden")));

/* The result of a raw system call as libc would return it. */
long wn_front_result(long raw) __attribute__((visibility("hidden")));

#endif

/* SPDX-License-Identifier: MIT */
/*
 * reads.h - what threads of the program read through descriptors.
 * For front/: runs on the program's threads, around read() and its kin; calls request and
 * exact.  Takes the track lock for a moment when a cold file is met, waits for nothing but
 * in wn_reads_closing(), and leaves errno alone.
 *
 * Most reads are not looked at: a thread is granted so many bytes of a descriptor until
 * the next look.  A look asks the kernel which file this is and whether the thread had to
 * read from a device since its last look; files that are warm, small or no files at all
 * get large grants.  What is read cold, and in some order, is told to the helper.
 */
#ifndef WN_READS_H
#define WN_READS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fds.h"
#include "base/mem.h"
#include "due.h"
#include "marks.h"
#include "track/file.h"

enum { WN_GRANTS = 8, WN_READ_FDS = WN_FDS };

/* In thread-local storage: all zeroes is a thread that has not read yet. */
struct wn_reader {
	union wn_grant {
		struct {
			uint16_t left; /* KiB that may be read before the next look */
			uint16_t fd1;  /* the descriptor, plus one */
		};
		uint32_t both; /* left in the lower half, so that taking of it may borrow */
	} grant[WN_GRANTS];
	uint32_t blocks; /* read from devices at the last look, plus one */
	uint16_t waits;	 /* that there had been at the last look */
	uint16_t warm;	 /* MiB that it has been granted since it had to read any */
};

/*
 * What has been read lately of each file.  All its readers write here with relaxed stores,
 * each at its own mark; two threads that share one spoil it, which costs speed only.
 */
struct wn_reads {
	struct wn_read_file {
		_Alignas(64) uint32_t serial; /* of the file slot */
		uint32_t leased; /* a reference is held, until it is quiet or closed */
		uint32_t crowd;	 /* the helper's: so many read it that nothing need be done */
		uint32_t gaps;	 /* the helper's: reads leave gaps, and may be steps of a stride */
		struct wn_marks marks;
	} file[WN_FILES];
	uint16_t by_fd[WN_READ_FDS]; /* the slot that it was leased for, plus one */
	uint64_t seen_ns[WN_FILES];  /* the helper's: when a read was told to it last */
	uint64_t expired_ns;	     /* the helper's: when it last looked for quiet files */
	struct wn_due due;
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "see union wn_grant");

/* The offset of a read that begins wherever the descriptor's position is. */
#define WN_AT_POSITION INT64_MIN
/* Or that has just ended there. */
#define WN_BEHIND_POSITION (INT64_MIN + 1)

/* May n bytes be read without a look?  The way of nearly all reads. */
static inline bool wn_reads_granted(struct wn_reader *me, int fd, size_t n)
{
	union wn_grant *g = &me->grant[(unsigned)fd % WN_GRANTS];
	/* Of too little it borrows from the descriptor, which then is another one. */
	uint64_t both = (uint64_t)g->both - ((n >> 10) + 1);

	if (wn_unlikely(both >> 16 != (unsigned)fd + 1u))
		return false;
	g->both = (uint32_t)both;
	return true;
}

/* They may not: looks at a read that is about to be made (ahead), or has just been. */
void wn_reads_look(struct wn_reader *me, int fd, int64_t at, size_t n, bool ahead);

/*
 * A descriptor is about to be closed.  True: the helper may have its file open, and nobody
 * else needs it; wn_reads_closed() returns when it has let go, also of several.
 */
bool wn_reads_closing(struct wn_reader *me, int fd);
void wn_reads_closed(void);

/*
 * Its file must not be opened once more, until that is taken back: the helper lets go of
 * it, also where it is mapped.
 */
void wn_reads_spare(int fd, bool spare);

/* The program has given advice for all of a descriptor; POSIX_FADV_RANDOM: no guessing. */
void wn_reads_advised(int fd, int advice);
/* Did it say that it reads at random, and is that to be obeyed? */
bool wn_reads_random(int fd);

#endif

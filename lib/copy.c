/* SPDX-License-Identifier: MIT */
#include "copy.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sys.h"
#include "helper.h"
#include "runtime.h"
#include "why.h"

/* The first look: so little that it costs a fault or two if the source is cold. */
#define PROBE (16u * 1024)
/* Below this nobody asks how large the caches are, which a virtual machine takes long to tell. */
#define VAST ((size_t)64 << 20)
/* A cold copy moves this much at a time, and tells the helper after each piece. */
#define PIECE (1024u * 1024)
/* What a thread asks for itself at a time, while the helper does not lead. */
#define BITE (2u * 1024 * 1024)

#define CHILL 8u
/* So many more copies that lie right below the one before than do not, are a way down. */
#define DESCENTS 2u
#define GAP	 (64u * 1024)
/* A fault or two in so many bytes may be chance. */
#define FAULT_SPAN (512u * 1024)

struct job {
	struct wn_state *st;
	struct wn_file *file;
	struct wn_cover_file id;
	uint32_t thread;
	uint8_t flags;   /* of every access that is reported */
	uint64_t offset; /* in the file, of src */
	char *dst;
	const char *src;
	size_t n;
	size_t done;
	wn_copy_fn copy;
};

static void why(const struct job *j, enum wn_reason reason)
{
	if (wn_why_asked(&wn_rt.options))
		wn_why_tracked(&wn_rt.options, reason, j->file, (uint32_t)wn_sys->gettid());
}

static void move(struct job *j, size_t n)
{
	j->copy(j->dst + j->done, j->src + j->done, n);
	j->done += n;
}

/*
 * Moves n bytes and tells what the thread had to read for it: major faults, or none where
 * the kernel's own readahead was always a little ahead of a cold copy.
 */
static struct wn_thread_reads move_counting(struct job *j, size_t n)
{
	struct wn_thread_reads before, after;

	wn_sys->thread_reads(&before);
	move(j, n);
	wn_sys->thread_reads(&after);
	return (struct wn_thread_reads){
		.faults = after.faults - before.faults,
		.blocks = after.blocks - before.blocks,
	};
}

static void report(struct job *j, uint8_t kind, uint8_t flags, size_t n)
{
	struct wn_access a = {
		.offset = j->offset + j->done,
		.length = n,
		.thread = j->thread,
		.file = j->id.file,
		.kind = kind,
		.flags = flags | j->flags,
	};

	wn_ring_push(&j->st->ring, &a);
}

/*
 * The thread itself asks for bytes that this very copy is about to read, since nobody has:
 * one call now is better than a fault for every few pages.  By address, so that no
 * descriptor is needed.
 */
static void ask_inline(struct job *j, size_t at, size_t n)
{
	uint64_t page = wn_page_size();
	uint64_t chunk = wn_load(&j->file->chunk);
	uint64_t from = wn_round_down((uint64_t)(j->src + at), page);
	uint64_t to = (uint64_t)(j->src + at + n);

	if (wn_load(&j->file->useless) || wn_load(&j->st->tight) || !wn_may_ask())
		return;
	/* First, so that the helper does not begin a ride on pages that are under way. */
	wn_cover_mark(&j->st->cover, j->id, j->offset + at, j->offset + at + n);
	for (chunk = chunk ? chunk : WN_SOME_WINDOW; from < to; from += chunk) {
		wn_count(&j->st->stats, kernel_calls, 1);
		if (wn_sys->madvise(from, wn_round_up(wn_min(chunk, to - from), page),
				    MADV_WILLNEED) < 0)
			break;
	}
	wn_count(&j->st->stats, asked_bytes, n);
	wn_count(&j->st->stats, inline_bytes, n);
}

/* How much a thread may ask for itself at a time, in the memory that there is. */
static uint64_t bite_of(const struct job *j)
{
	uint64_t limit = wn_load(&j->st->bite);

	return limit ? wn_min(limit, BITE) : BITE;
}

static uint64_t asked_from(const struct job *j, size_t at, size_t to)
{
	return wn_cover_asked(&j->st->cover, j->id, j->offset + at, j->offset + to);
}

/* Sees to it that the next n bytes have been asked for; how many already were? */
static uint64_t ensure_asked(struct job *j, size_t n)
{
	size_t to = j->done + n;
	uint64_t asked = asked_from(j, j->done, to);

	if (asked < n) {
		uint64_t from = j->done + asked;

		ask_inline(j, from, wn_min(wn_max(bite_of(j), n - asked), j->n - from));
	}
	/* Without a helper nobody else keeps the device busy meanwhile. */
	if (!wn_helper_expected(j->st) && to < j->n &&
	    !asked_from(j, to, wn_min(to + PIECE, j->n)))
		ask_inline(j, to, wn_min(bite_of(j), j->n - to));
	return asked;
}

static void wake_when_due(struct job *j, size_t n, bool now)
{
	uint64_t progress = wn_add(&j->st->progress, n) + n;

	if (now || progress >= wn_load(&j->st->wake_at))
		wn_helper_kick(j->st);
}

/* A wide window of its own serves what goes up; downward each copy begins behind its back. */
static bool kernel_serves_well(const struct job *j)
{
	return wn_load(&j->st->tight) ||
	       (wn_load(&j->file->wide) && !j->flags && wn_load(&j->file->descents) < DESCENTS);
}

static void why_well(const struct job *j)
{
	if (wn_load(&j->st->tight))
		wn_why_process(&wn_rt.options, WN_WHY_NO_MEMORY, 0);
	else
		why(j, WN_WHY_WIDE);
}

/*
 * Does a cold copy end where the last one of its thread began, or a little below?  *n bytes
 * of the file from its offset on lead up to there, once that has proved to be a way down:
 * what a wide window of the kernel brings with one copy, the next ones find warm.
 */
static bool goes_down(struct job *j, uint64_t *n)
{
	uint64_t window = wn_load(&j->file->wide) ? wn_load(&j->file->kernel_window) : 0;
	uint64_t *place, last, end = j->offset + j->n;
	uint32_t descents = wn_load(&j->file->descents);
	bool down;

	*n = j->n;
	j->thread = (uint32_t)wn_sys->gettid();
	if (j->flags & WN_ACCESS_EXACT)
		return false;
	place = &j->file->copied[j->thread % WN_COPIERS];
	last = wn_load(place);
	wn_store(place, j->offset);
	down = end <= last && last - end <= wn_max(window, GAP);
	if (down && window && descents >= DESCENTS)
		*n = last - j->offset;
	wn_store(&j->file->descents,
		 down ? descents + (descents < 2 * DESCENTS) : descents - (descents > 0));
	return down;
}

/*
 * What of the rest to move at a time where the kernel serves ascending copies well.  The C
 * library makes copies that are larger than the caches past them, ascending, and faster
 * than a piece at a time (its threshold is three quarters of the last cache, or less).
 */
static size_t ascending_piece(const struct job *j)
{
	static size_t cache; /* plus one; 0: nobody has asked yet */
	size_t left = j->n - j->done, known;

	if (left < VAST)
		return wn_min(left, PIECE);
	known = wn_load(&cache);
	if (!known) {
		long size = sysconf(_SC_LEVEL3_CACHE_SIZE);

		known = size > 0 ? (size_t)size + 1 : 1;
		wn_store(&cache, known);
	}
	return known > 1 && left / 2 >= known - 1 ? left : PIECE;
}

/* The source is being read cold: ask, tell, move, piece by piece. */
static void copy_cold(struct job *j)
{
	uint64_t range;
	uint8_t flags = goes_down(j, &range) ? WN_ACCESS_DOWN : 0;

	wn_cover_tick(&j->st->cover, wn_sys->now_ns());
	report(j, WN_ACCESS_BEGIN, flags, range - j->done);
	flags = 0;
	/* Leave the helper the rest, if any: it begins where we have asked to. */
	if (j->n - j->done > PIECE)
		wake_when_due(j, 0, asked_from(j, j->done, j->n) < j->n - j->done);
	/* The helper finds out meanwhile whether the kernel needs any help: then it gets none. */
	while (j->done < j->n && !kernel_serves_well(j)) {
		size_t n = wn_min(PIECE, j->n - j->done);
		uint64_t asked = ensure_asked(j, n);
		uint64_t faults;

		/* First, so that what the helper counts of it is never more. */
		wn_count(&j->st->stats, demand_bytes, n);
		wn_count(&j->st->stats, covered_bytes, asked);
		report(j, WN_ACCESS_STEP, flags | (asked == n ? WN_ACCESS_COVERED : 0), n);
		wake_when_due(j, n, asked < n);
		faults = move_counting(j, n).faults;
		flags = 0;
		/* Asked for, but not there: evicted meanwhile, or never read.  Ask anew. */
		if (asked == n && faults > n / FAULT_SPAN) {
			flags = WN_ACCESS_FAULTED;
			wn_cover_forget(&j->st->cover, j->id, j->offset + j->done,
					j->offset + j->n);
		}
		wn_count(&j->st->stats, major_faults, faults);
	}
	if (j->done < j->n)
		why_well(j);
	while (j->done < j->n)
		move(j, ascending_piece(j));
}

/*
 * Nobody has asked for the source: is it cached?  Only what a real copy has to read tells,
 * so a little is copied, then more; a file that has been warm often gets large pieces
 * at once.  Returns at the first sign of cold, unless the kernel's own readahead is good
 * enough: then the pieces, which ascend, are all the help that it needs.
 */
static void copy_probing(struct job *j, bool alone)
{
	uint32_t heat = wn_load(&j->file->heat);
	size_t piece = (size_t)PROBE << wn_min(2 * (uint64_t)heat, 24);
	struct wn_thread_reads r;
	uint64_t range;
	bool cold = false;

	do {
		r = move_counting(j, wn_min(piece, j->n - j->done));
		wn_count(&j->st->stats, major_faults, r.faults);
		if (r.faults || r.blocks) {
			cold = true;
			heat = 0;
			piece = ((alone ? ascending_piece(j) : PIECE) + 1) / 2;
		}
		piece *= 2;
	} while ((!cold || alone) && j->done < j->n);
	wn_store(&j->file->heat, heat + (heat < 12 && !cold));
	if (!cold)
		why(j, WN_WHY_CACHED);
	if (cold && alone) {
		goes_down(j, &range);
		why_well(j);
	} else if (cold)
		wn_store(&j->file->chill, CHILL);
}

/*
 * A file that was found cold is taken for cold a few more times without a proof, since each
 * proof is a fault, and the range in between was read ahead by nobody or only in part.
 */
static bool still_cold(struct job *j)
{
	uint32_t chill = wn_load(&j->file->chill);

	if (chill)
		wn_store(&j->file->chill, chill - 1);
	return chill;
}

/* Small copies of a file that was warm many times are looked at once in 32 only. */
static bool not_worth_a_look(struct job *j)
{
	uint32_t heat = wn_load(&j->file->heat), unasked;

	if (!heat || j->n >= PIECE)
		return false;
	unasked = wn_load(&j->file->unasked) + 1;
	wn_store(&j->file->unasked, unasked);
	return unasked % (1u << wn_min(heat, 5));
}

/* Has the beginning been asked for?  What is believed must not be too old. */
static bool believe(struct job *j)
{
	size_t to = wn_min(j->n, PIECE);

	if (!asked_from(j, 0, to))
		return false;
	wn_tick(j->st);
	return asked_from(j, 0, to);
}

static void copy_watched(struct job *j)
{
	wn_count(&j->st->stats, copies, 1);
	wn_count(&j->st->stats, copy_bytes, j->n);
	if (!believe(j)) {
		bool alone = kernel_serves_well(j);

		if (not_worth_a_look(j))
			move(j, j->n);
		else if (alone || !still_cold(j))
			copy_probing(j, alone);
	}
	if (j->done == j->n)
		return;
	wn_count(&j->st->stats, copies_cold, 1);
	if (wn_mode() == WN_MODE_ON)
		copy_cold(j);
	else
		move(j, j->n - j->done);
}

void *wn_copy(void *dst, const void *src, size_t n, wn_copy_fn copy)
{
	uint64_t from = (uint64_t)src, to = (uint64_t)dst;
	struct wn_state *st = wn_awake();
	struct wn_map m;
	struct job j;

	/* Overlapping ranges may have to be copied backward: not in ascending pieces. */
	if (!st || to - from < n || from - to < n || wn_mode() == WN_MODE_OFF ||
	    !wn_map_find(wn_rt.track, from, &m))
		return copy(dst, src, n);
	j = (struct job){
		.st = st,
		.file = &wn_rt.track->files.slot[m.file],
		.id = { .file = m.file },
		.flags = m.random ? WN_ACCESS_EXACT : 0,
		.offset = m.offset + (from - m.start),
		.dst = dst,
		.src = src,
		.n = wn_min(n, m.end - from),
		.copy = copy,
	};
	j.id.serial = wn_load(&j.file->serial);
	copy_watched(&j);
	/* What lies behind the mapping. */
	if (j.n < n)
		copy(j.dst + j.n, j.src + j.n, n - j.n);
	return dst;
}

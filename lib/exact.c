/* SPDX-License-Identifier: MIT */
#include "exact.h"

#include <fcntl.h>

#include "base/arena.h"
#include "base/sys.h"
#include "request.h"
#include "runtime.h"

/* What a thread asks for itself at least, in whole requests. */
#define BITE (2u * 1024 * 1024)

static uint64_t end_of_bite(uint64_t from, uint64_t to, uint64_t chunk)
{
	uint64_t requests = chunk ? (BITE + chunk - 1) / chunk : 0;

	return wn_min(to, from + wn_max(requests * chunk, BITE));
}

/* How much of a range is cached; false where the kernel does not tell. */
static bool cached(int fd, uint64_t from, uint64_t to, uint64_t *bytes)
{
	struct wn_cachestat found;

	if (wn_sys->cachestat(fd, from, to - from, &found) < 0)
		return false;
	*bytes = found.cached * wn_page_size();
	return true;
}

bool wn_exact_is_cold(int fd, uint64_t from, uint64_t to)
{
	uint64_t there;

	return cached(fd, from, to, &there) && there < (to - from) / 2;
}

bool wn_exact_is_warm(int fd, uint64_t from, uint64_t to)
{
	uint64_t there, page = wn_page_size();

	from = wn_round_down(from, page);
	return cached(fd, from, to, &there) && there >= wn_round_up(to - from, page);
}

static bool advise(struct wn_state *st, int fd, uint64_t from, uint64_t to)
{
	wn_count(&st->stats, kernel_calls, 1);
	return wn_sys->fadvise(fd, (off_t)from, (off_t)(to - from),
			       POSIX_FADV_WILLNEED) >= 0;
}

/*
 * Advice for all of a range reads as much of it as one call of advice can, which tells how
 * much that is, before there is anybody who could look it up; 0: it cannot be known.
 */
static uint64_t learn_chunk(struct wn_state *st, int fd, uint64_t from, uint64_t to,
			    uint64_t before)
{
	uint64_t after, there;

	if (!advise(st, fd, from, to) || !cached(fd, from, to, &after) || after <= before)
		return 0;
	/* A beginning that was there before was a part of it. */
	if (cached(fd, from, from + after, &there) && there < after)
		after -= before;
	return wn_min(wn_round_down(after, wn_page_size()), UINT32_MAX);
}

void wn_exact_ask(struct wn_state *st, struct wn_cover_file id, const struct stat *file,
		  int fd, uint64_t from, uint64_t to)
{
	struct wn_file *f = &wn_rt.track->files.slot[id.file];
	uint64_t chunk = wn_load(&f->chunk), before;
	uint64_t mine = end_of_bite(from, to, chunk), at = from;
	uint16_t slot;

	if (!wn_may_ask() || (chunk ? to - from <= chunk : !cached(fd, from, to, &before)))
		return;
	wn_cover_mark(&st->cover, id, from, mine);
	if (!chunk) {
		chunk = learn_chunk(st, fd, from, to, before);
		if (!chunk)
			return;
		wn_store(&f->chunk, (uint32_t)chunk);
		at += chunk;
		mine = end_of_bite(from, to, chunk);
		wn_cover_mark(&st->cover, id, from, mine);
	}
	while (at < mine && advise(st, fd, at, wn_min(mine, at + chunk)))
		at += chunk;
	wn_count(&st->stats, asked_bytes, wn_min(at, mine) - from);
	wn_count(&st->stats, inline_bytes, wn_min(at, mine) - from);
	slot = mine < to ? wn_request_hold(st, file, fd) : WN_NO_FILE;
	/* Another one, if another thread has just closed the file. */
	if (slot != WN_NO_FILE && (slot != id.file || !wn_request(st, slot, mine, to)))
		wn_track_drop(wn_rt.track, &st->lock, slot);
}

/* SPDX-License-Identifier: MIT */
/* Which mappings are watched: the writing side of the tables in track/. */
#include <errno.h>
#include <sys/mman.h>

#include "base/arch.h"
#include "base/sys.h"
#include "copy.h"
#include "helper.h"
#include "runtime.h"
#include "why.h"

/* So many pages of a mapping are looked at. */
#define SAMPLES 16

static int add(struct wn_state *st, struct wn_map *m, const struct stat *file, int fd)
{
	struct wn_track *t = wn_rt.track;
	int r = -ENOSPC;
	bool dropped;

	if (!wn_track_lock(t, &st->lock))
		return -EAGAIN;
	/* Whatever was here before was removed unseen. */
	dropped = wn_map_remove(t, m->start, m->end - m->start);
	m->file = wn_file_take(&t->files, file, fd);
	if (m->file != WN_NO_FILE) {
		r = wn_map_add(t, m);
		if (r < 0)
			wn_file_drop(&t->files, m->file);
	}
	wn_set_gate();
	wn_track_unlock(&st->lock);
	if (dropped)
		wn_released(st);
	return r;
}

/*
 * Does any page of a sample miss from the cache?  Of a file that is not ours the kernel
 * says that all are there, and that may be so or not.
 */
static bool may_be_cold(uint64_t addr, uint64_t length, bool hidden)
{
	uint64_t page = wn_page_size();
	uint64_t step = wn_round_down(length / SAMPLES, page);
	unsigned char there;

	if (hidden)
		return true;
	for (uint64_t at = 0; at < length; at += step)
		if (wn_sys->mincore(addr + at, page, &there) < 0 || !(there & 1))
			return true;
	return false;
}

/*
 * A helper is needed to see page faults, so it has to be there before the first one.  Some
 * programs map and unmap all the time: a helper that is there is woken, and a file that
 * was cached is looked at again, about once in a millisecond at most.
 */
static void look_at_faults(struct wn_state *st, const struct wn_map *m,
			   const struct stat *file, int fd)
{
	const struct wn_options *o = &wn_rt.options;
	struct wn_file *f = &wn_rt.track->files.slot[m->file];
	uint32_t now = (uint32_t)(wn_cycles() >> 22) | 1;
	bool watched = wn_load(&st->watching) && wn_load(&st->helper_tid);
	uint32_t *last = watched ? &st->watch_woken : &f->was_cached;
	uint32_t user;

	if (m->end - m->start < o->value[WN_OPT_MIN_WATCH]) {
		wn_why_fd(o, WN_WHY_SMALL_WATCH, fd);
		return;
	}
	if (o->value[WN_OPT_WATCH] == WN_WATCH_OFF || wn_mode() != WN_MODE_ON ||
	    !wn_helper_expected(st) || wn_load(last) == now)
		return;
	wn_store(last, now);
	user = wn_sys->geteuid();
	wn_store(&f->hidden, user && user != file->st_uid);
	if (!watched && !may_be_cold(m->start, m->end - m->start, wn_load(&f->hidden))) {
		wn_why_fd(o, WN_WHY_CACHED, fd);
		return;
	}
	wn_store(&st->watching, 1);
	wn_helper_kick(st);
}

static int refuse(enum wn_reason why, int fd, int error)
{
	wn_why_fd(&wn_rt.options, why, fd);
	return error;
}

int wn_watch(const void *addr, size_t length, int fd, off_t offset)
{
	struct wn_state *st;
	struct stat file;
	struct wn_map m = { .start = (uint64_t)addr, .offset = (uint64_t)offset };
	int r;

	if (wn_load(&wn_rt.dormant) || wn_mode() == WN_MODE_OFF)
		return -ECANCELED;
	if (length < wn_rt.options.value[WN_OPT_MIN_MAP])
		return refuse(WN_WHY_SMALL, fd, -EOPNOTSUPP);
	r = wn_sys->fstat(fd, &file);
	if (r < 0)
		return r;
	if (!S_ISREG(file.st_mode))
		return refuse(WN_WHY_NO_FILE, fd, -ESPIPE);
	/* To open it would break the lease. */
	if (wn_sys->has_lease(fd))
		return refuse(WN_WHY_LEASED, fd, -EOPNOTSUPP);
	/* Beyond the end of the file there is nothing to read, however much is mapped. */
	length = wn_min(length, wn_round_up(wn_above((uint64_t)file.st_size, m.offset),
					    wn_page_size()));
	if (length < wn_rt.options.value[WN_OPT_MIN_MAP])
		return refuse(WN_WHY_SMALL, fd, -EOPNOTSUPP);
	if (wn_why_asked(&wn_rt.options) && wn_filesystem_way(fd) == WN_NONE)
		wn_why_fd(&wn_rt.options, WN_WHY_UNSUITED, fd);
	r = wn_wake_up(&st);
	if (r < 0)
		return r;
	m.end = m.start + length;
	r = add(st, &m, &file, fd);
	if (r < 0)
		wn_count(&st->stats, maps_refused, 1);
	else
		wn_count(&st->stats, maps, 1);
	if (r >= 0)
		wn_devices_meet(&st->engine.devices, &wn_rt.track->files.slot[m.file],
				wn_load(&wn_rt.options.value[WN_OPT_WIDE]));
	if (r >= 0)
		look_at_faults(st, &m, &file, fd);
	if (r == -ENOSPC)
		wn_why_fd(&wn_rt.options, WN_WHY_NO_ROOM, fd);
	return r;
}

void wn_unwatch(const void *addr, size_t length)
{
	struct wn_state *st = wn_awake();
	struct wn_track *t = wn_rt.track;
	bool dropped;

	if (!st || !wn_map_may_overlap(t, (uint64_t)addr, length) ||
	    !wn_track_lock(t, &st->lock))
		return;
	dropped = wn_map_remove(t, (uint64_t)addr, length);
	wn_set_gate();
	wn_track_unlock(&st->lock);
	if (dropped)
		wn_released(st);
}

/* The part of the file that is mapped at `to` now; false when that is nothing. */
static bool moved_part(const struct wn_track *t, uint64_t from, uint64_t to,
		       uint64_t length, struct wn_map *m)
{
	uint64_t left;

	m->offset += from - m->start;
	left = wn_round_up(wn_above(t->files.slot[m->file].size, m->offset), wn_page_size());
	m->start = to;
	m->end = to + wn_min(length, left);
	return m->end > to;
}

void wn_moved(const void *from, size_t old_length, const void *to, size_t length, int keep)
{
	struct wn_state *st = wn_awake();
	struct wn_track *t = wn_rt.track;
	struct wn_map m;
	bool watched, dropped = false;

	if (!st || !wn_load(&t->count) || !wn_track_lock(t, &st->lock))
		return;
	watched = wn_map_find(t, (uint64_t)from, &m);
	if (watched)
		wn_file_ref(&t->files, m.file);
	if (!keep)
		dropped = wn_map_remove(t, (uint64_t)from, old_length);
	dropped |= wn_map_remove(t, (uint64_t)to, length);
	if (watched && (!moved_part(t, (uint64_t)from, (uint64_t)to, length, &m) ||
			wn_map_add(t, &m) < 0))
		dropped |= wn_file_drop(&t->files, m.file);
	wn_set_gate();
	wn_track_unlock(&st->lock);
	if (dropped)
		wn_released(st);
}

void wn_advised(const void *addr, size_t length, int advice)
{
	struct wn_state *st = wn_awake();
	struct wn_track *t = wn_rt.track;

	if (advice != MADV_RANDOM && advice != MADV_HUGEPAGE &&
	    advice != MADV_NOHUGEPAGE && advice != MADV_NORMAL &&
	    advice != MADV_SEQUENTIAL)
		return;
	if (!st || !wn_map_may_overlap(t, (uint64_t)addr, length) ||
	    !wn_track_lock(t, &st->lock))
		return;
	if (advice == MADV_HUGEPAGE || advice == MADV_NOHUGEPAGE)
		wn_map_set_huge(t, (uint64_t)addr, length, advice == MADV_HUGEPAGE);
	else
		wn_map_set_random(t, (uint64_t)addr, length, advice == MADV_RANDOM);
	wn_track_unlock(&st->lock);
}

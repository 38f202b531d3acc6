/* SPDX-License-Identifier: MIT */
#include "repeat.h"

#include <fcntl.h>

#include "base/arena.h"
#include "base/sys.h"
#include "request.h"
#include "runtime.h"

/* About a second. */
#define OLD_TICKS 1024

/* Threads on one file must not meet on a counter: each adds to one of a few. */
static struct wn_tally *tally(struct wn_state *st)
{
	/* Stacks are apart, and each is the same thread's for long. */
	uint64_t stack = (uint64_t)__builtin_frame_address(0) >> 14;

	return &st->tally[(stack * 0x9e3779b97f4a7c15u) >> 60];
}

void wn_repeat_settle(void)
{
	struct wn_state *st = wn_load_acquire(&wn_rt.state);

	for (int i = 0; st && i < WN_TALLIES; i++) {
		struct wn_tally *t = &st->tally[i];

		wn_count(&st->stats, advice_calls,
			 __atomic_exchange_n(&t->calls, 0, __ATOMIC_RELAXED));
		wn_count(&st->stats, advice_answered,
			 __atomic_exchange_n(&t->answered, 0, __ATOMIC_RELAXED));
	}
}

static bool wanted(void)
{
	return !wn_load(&wn_rt.dormant) && wn_may_ask() &&
	       wn_load(&wn_rt.options.value[WN_OPT_ADVICE]) != WN_ADVICE_PASS;
}

/* A file that is advised for the first time gets a slot; its device may be known. */
static uint16_t introduce(struct wn_state *st, const struct stat *file, int fd)
{
	struct wn_file_table *t = &wn_rt.track->files;
	uint16_t slot = wn_request_hold(st, file, fd);

	if (slot == WN_NO_FILE)
		return slot;
	for (int i = 0; i < WN_FILES && !wn_load(&t->slot[slot].chunk); i++)
		if (wn_load(&t->slot[i].dev) == file->st_dev)
			wn_store(&t->slot[slot].chunk, wn_load(&t->slot[i].chunk));
	/* Nobody has it open for our sake: nothing is waited for. */
	wn_track_drop(wn_rt.track, &st->lock, slot);
	return slot;
}

static uint64_t changed(const struct stat *file)
{
	return (uint64_t)file->st_ctim.tv_sec * 1000000000u + (uint64_t)file->st_ctim.tv_nsec;
}

/* Finds the file of a descriptor, and forgets what is no longer true of it. */
static bool identify(struct wn_state *st, int fd, struct wn_cover_file *id, uint64_t *size)
{
	struct stat file;
	struct wn_file *f;

	if (wn_sys->fstat(fd, &file) < 0 || !S_ISREG(file.st_mode))
		return false;
	id->file = wn_file_find(&wn_rt.track->files, &file, &id->serial);
	if (id->file == WN_NO_FILE) {
		introduce(st, &file, fd);
		id->file = wn_file_find(&wn_rt.track->files, &file, &id->serial);
	}
	if (id->file == WN_NO_FILE)
		return false;
	f = &wn_rt.track->files.slot[id->file];
	if (wn_load(&f->changed) != changed(&file)) {
		wn_cover_forget(&st->cover, *id, 0, UINT64_MAX);
		wn_store(&f->changed, changed(&file));
	}
	*size = (uint64_t)file.st_size;
	return true;
}

/* Would the call have been refused, for the sake of the descriptor? */
static bool would_fail(int fd, enum wn_repeat_need need)
{
	int flags = wn_sys->fcntl_getfl(fd);

	return flags < 0 || (flags & O_PATH) ||
	       (need == WN_READABLE_FILE && (flags & O_ACCMODE) == O_WRONLY);
}

/*
 * Leaves of [from, to) what has not been asked for at its beginning and at its end; true
 * when nothing is left.
 */
static bool trim(const struct wn_repeat *r, uint64_t *from, uint64_t *to)
{
	const struct wn_cover *c = &r->st->cover;
	uint64_t last = *from, at = *from;

	*from += wn_cover_asked(c, r->id, *from, *to);
	for (at = *from; at < *to;) {
		last = at += wn_cover_missing(c, r->id, at, *to);
		at += wn_cover_asked(c, r->id, at, *to);
	}
	*to = last;
	return *from >= *to;
}

/* Are all pages of a range cached?  Also false where the kernel does not tell. */
static bool is_cached(int fd, uint64_t from, uint64_t to)
{
	struct wn_cachestat found;

	return wn_sys->cachestat(fd, from, to - from, &found) >= 0 &&
	       found.cached * wn_page_size() >= to - from;
}

/*
 * What was asked for a while ago may have been evicted: once in a while we look whether it
 * is there, and then it counts as asked for now, or not any more.  Where the kernel does
 * not tell, the cover's own idea of age is all there is.
 */
static void look_again(const struct wn_repeat *r, uint64_t size)
{
	struct wn_cover *c = &r->st->cover;
	uint64_t page = wn_page_size();
	uint64_t from = wn_round_down(r->from, page);
	uint64_t to = wn_min(wn_round_up(r->to, page), size);
	uint64_t first = wn_round_down(from, WN_COVER_REACH);
	uint64_t last = wn_min(wn_round_up(to, WN_COVER_REACH), size);
	uint32_t age = wn_cover_age(c, r->id, from, to);
	struct wn_cachestat found;

	if (age < OLD_TICKS || age == WN_COVER_NEVER)
		return;
	/* For all that shares the slots' age; but its end may not have been asked for yet. */
	if (is_cached(r->fd, first, last))
		wn_cover_mark(c, r->id, first, last);
	else if (wn_sys->cachestat(r->fd, from, to - from, &found) >= 0 &&
		 found.cached * page < to - from)
		wn_cover_forget(c, r->id, from, to);
}

/*
 * What the kernel will read of the range that it is now told; others need not ask too.
 * False: another thread tells it this very moment.
 */
static bool tell(struct wn_repeat *r, uint64_t from, uint64_t to)
{
	uint64_t chunk = wn_load(&wn_rt.track->files.slot[r->id.file].chunk);
	uint64_t first = wn_round_down(from, wn_page_size());

	r->taken = wn_min(to, first + (chunk ? chunk : WN_SOME_WINDOW));
	return wn_cover_mark(&r->st->cover, r->id, from, r->taken);
}

static bool answer(const struct wn_repeat *r)
{
	wn_add(&tally(r->st)->answered, 1);
	return true;
}

bool wn_repeat_file(struct wn_repeat *r, int fd, enum wn_repeat_need need, off_t *offset,
		    off_t *length)
{
	uint64_t from = (uint64_t)*offset, size, to;

	r->st = NULL;
	if (!wanted() || *offset < 0 || *length < 0 || wn_wake_up(&r->st) < 0)
		return false;
	wn_tick(r->st);
	wn_add(&tally(r->st)->calls, 1);
	if (!identify(r->st, fd, &r->id, &size)) {
		r->st = NULL;
		return false;
	}
	r->fd = fd;
	r->from = from;
	to = *length ? from + (uint64_t)*length : UINT64_MAX;
	r->to = to = wn_min(to, size);
	if (from >= to) {
		r->st = NULL;
		return false;
	}
	look_again(r, size);
	/* Nothing is known of it: the kernel judges the descriptor as well. */
	if (wn_cover_missing(&r->st->cover, r->id, from, to) == to - from && tell(r, from, to))
		return false;
	if (would_fail(fd, need)) {
		r->st = NULL;
		return false;
	}
	if (trim(r, &from, &to) || !tell(r, from, to))
		return answer(r);
	*offset = (off_t)from;
	*length = (off_t)(to - from);
	return false;
}

bool wn_repeat_memory(struct wn_repeat *r, void **addr, size_t *length)
{
	uint64_t at = (uint64_t)*addr, from, to;
	struct wn_map m;

	r->st = wanted() ? wn_awake() : NULL;
	r->fd = -1;
	/* Only what lies in one mapping that is known is certain to succeed. */
	if (!r->st || at % wn_page_size() || !*length ||
	    !wn_map_find(wn_rt.track, at, &m) || *length > m.end - at) {
		r->st = NULL;
		return false;
	}
	wn_tick(r->st);
	wn_add(&tally(r->st)->calls, 1);
	r->id.file = m.file;
	r->id.serial = wn_load(&wn_rt.track->files.slot[m.file].serial);
	r->from = from = m.offset + (at - m.start);
	r->to = to = from + *length;
	if (trim(r, &from, &to) || !tell(r, from, to))
		return answer(r);
	*addr = (char *)*addr + (from - r->from);
	*length = to - from;
	return false;
}

/*
 * One call reads so much and says nothing about the rest: the helper asks for that, as far
 * as a stream would be read ahead.
 */
static void complete(const struct wn_repeat *r)
{
	uint64_t most = wn_load(&wn_rt.options.value[WN_OPT_WINDOW]);
	uint64_t to = wn_min(r->to, r->taken + most);
	struct wn_track *t = wn_rt.track;
	bool held;

	if (wn_load(&wn_rt.options.value[WN_OPT_ADVICE]) != WN_ADVICE_COMPLETE ||
	    r->taken >= to || !wn_track_lock(t, &r->st->lock))
		return;
	held = wn_load(&t->files.slot[r->id.file].serial) == r->id.serial;
	if (held) {
		wn_file_ref(&t->files, r->id.file);
		/* Through which the helper will find the file. */
		if (r->fd >= 0)
			wn_store(&t->files.slot[r->id.file].fd, r->fd);
	}
	wn_track_unlock(&r->st->lock);
	if (held && !wn_request(r->st, r->id.file, r->taken, to))
		wn_track_drop(t, &r->st->lock, r->id.file);
}

void wn_repeat_told(const struct wn_repeat *r, bool success)
{
	if (!r->st)
		return;
	if (success)
		complete(r);
	else
		wn_cover_forget(&r->st->cover, r->id, r->from, r->taken);
}

void wn_repeat_forget_file(int fd, off_t offset, off_t length)
{
	struct wn_state *st = wn_awake();
	struct wn_cover_file id;
	struct stat file;
	uint64_t from = (uint64_t)offset;

	if (!st || wn_sys->fstat(fd, &file) < 0)
		return;
	id.file = wn_file_find(&wn_rt.track->files, &file, &id.serial);
	if (id.file != WN_NO_FILE)
		wn_cover_forget(&st->cover, id, from,
				length > 0 ? from + (uint64_t)length : UINT64_MAX);
}

void wn_repeat_forget_memory(const void *addr, size_t length)
{
	struct wn_state *st = wn_awake();
	uint64_t at = (uint64_t)addr, end = at + length;
	struct wn_cover_file id;
	struct wn_map m;

	if (!st)
		return;
	for (; at < end && wn_map_find(wn_rt.track, at, &m); at = m.end) {
		id.file = m.file;
		id.serial = wn_load(&wn_rt.track->files.slot[m.file].serial);
		wn_cover_forget(&st->cover, id, m.offset + (at - m.start),
				m.offset + (wn_min(end, m.end) - m.start));
	}
}

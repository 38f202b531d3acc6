/* SPDX-License-Identifier: MIT */
#include "track/mapping.h"

#include <errno.h>
#include <stddef.h>

#include "base/arch.h"
#include "base/mem.h"

/* The first time in this process: what a fork() has left is not all true. */
static void count_references(struct wn_track *t)
{
	/* Another thread was writing: what it left is torn. */
	if (t->seq & 1) {
		wn_store(&t->count, 0);
		wn_store_release(&t->seq, t->seq + 1);
	}
	for (int i = 0; i < WN_FILES; i++) {
		t->files.slot[i].refs = 0;
		t->files.slot[i].owed = 0;
	}
	for (uint32_t i = 0; i < t->count; i++)
		t->files.slot[t->map[i].file].refs++;
}

static void settle(struct wn_track *t)
{
	wn_store(&t->owed, 0);
	for (uint16_t i = 0; i < WN_FILES; i++) {
		struct wn_file *f = &t->files.slot[i];

		for (uint32_t n = __atomic_exchange_n(&f->owed, 0, __ATOMIC_RELAXED); n; n--)
			if (wn_file_drop(&t->files, i))
				wn_store(&t->orphaned, 1);
	}
}

void wn_track_drop(struct wn_track *t, struct wn_track_lock *l, uint16_t file)
{
	wn_add(&t->files.slot[file].owed, 1);
	wn_store_release(&t->owed, 1);
	if (wn_track_lock(t, l))
		wn_track_unlock(l);
}

static void set_signals(uint64_t set, uint64_t *before)
{
	wn_raw(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &set, before, sizeof(set));
}

bool wn_track_lock(struct wn_track *t, struct wn_track_lock *l)
{
	uint64_t before = 0;

	/* No handler may leave by a jump while it is held. */
	set_signals(~(uint64_t)0, &before);
	/* Bounded: the holder may be stopped. */
	for (int tries = 0; !wn_swap32(&l->held, 0, 1); tries++) {
		if (tries == 1000) {
			set_signals(before, NULL);
			return false;
		}
		wn_pause();
	}
	l->signals = before;
	if (!l->counted)
		count_references(t);
	l->counted = 1;
	if (wn_load(&t->owed))
		settle(t);
	return true;
}

void wn_track_unlock(struct wn_track_lock *l)
{
	uint64_t before = l->signals;

	wn_store_release(&l->held, 0);
	set_signals(before, NULL);
}

static void begin_change(struct wn_track *t)
{
	wn_store(&t->seq, t->seq + 1);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void end_change(struct wn_track *t)
{
	wn_store_release(&t->seq, t->seq + 1);
}

static void put(struct wn_map *to, const struct wn_map *from)
{
	wn_store(&to->start, from->start);
	wn_store(&to->end, from->end);
	wn_store(&to->offset, from->offset);
	wn_store(&to->file, from->file);
	wn_store(&to->random, from->random);
	wn_store(&to->huge, from->huge);
}

static struct wn_map get(const struct wn_map *from)
{
	return (struct wn_map){
		.start = wn_load(&from->start),
		.end = wn_load(&from->end),
		.offset = wn_load(&from->offset),
		.file = wn_load(&from->file),
		.random = wn_load(&from->random),
		.huge = wn_load(&from->huge),
	};
}

/* The first entry that ends behind addr. */
static uint32_t search(const struct wn_track *t, uint32_t count, uint64_t addr)
{
	uint32_t low = 0, high = count < WN_MAPS ? count : WN_MAPS;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (wn_load(&t->map[mid].end) <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Runs look() over a table that did not change meanwhile; gives up if it keeps changing. */
#define WN_STEADY(t, found, look)                                              \
	for (int wn_tries = 0; wn_tries < 4; wn_tries++) {                     \
		uint32_t wn_seq = wn_load_acquire(&(t)->seq);                  \
									       \
		if (wn_seq & 1)                                                \
			continue;                                              \
		found = (look);                                                \
		__atomic_thread_fence(__ATOMIC_ACQUIRE);                       \
		if (wn_load(&(t)->seq) == wn_seq)                              \
			return found;                                          \
	}

static bool look_after(const struct wn_track *t, uint64_t addr, struct wn_map *out)
{
	uint32_t count = wn_load(&t->count);
	uint32_t i = search(t, count, addr);

	if (i >= count || i >= WN_MAPS)
		return false;
	*out = get(&t->map[i]);
	return addr < out->end && out->start < out->end && out->file < WN_FILES;
}

static bool look_addr(const struct wn_track *t, uint64_t addr, struct wn_map *out)
{
	return look_after(t, addr, out) && out->start <= addr;
}

bool wn_map_find(const struct wn_track *t, uint64_t addr, struct wn_map *out)
{
	bool found = false;

	WN_STEADY(t, found, look_addr(t, addr, out));
	return false;
}

bool wn_map_after(const struct wn_track *t, uint64_t addr, struct wn_map *out)
{
	bool found = false;

	WN_STEADY(t, found, look_after(t, addr, out));
	return false;
}

static bool look_offset(const struct wn_track *t, uint16_t file, uint64_t offset,
			struct wn_map *out)
{
	uint32_t count = wn_load(&t->count);

	for (uint32_t i = 0; i < count && i < WN_MAPS; i++) {
		*out = get(&t->map[i]);
		if (out->file != file)
			continue;
		if (offset == WN_ANY_OFFSET ||
		    (out->offset <= offset && offset - out->offset < out->end - out->start))
			return true;
	}
	return false;
}

bool wn_map_find_offset(const struct wn_track *t, uint16_t file, uint64_t offset,
			struct wn_map *out)
{
	bool found = false;

	WN_STEADY(t, found, look_offset(t, file, offset, out));
	return false;
}

static bool look_overlap(const struct wn_track *t, uint64_t start, uint64_t end)
{
	uint32_t count = wn_load(&t->count);
	uint32_t i = search(t, count, start);

	return i < count && i < WN_MAPS && wn_load(&t->map[i].start) < end;
}

bool wn_map_may_overlap(const struct wn_track *t, uint64_t start, uint64_t length)
{
	bool found = false;

	if (!wn_load(&t->count))
		return false;
	WN_STEADY(t, found, look_overlap(t, start, start + length));
	return true;
}

static void open_gap(struct wn_track *t, uint32_t at)
{
	for (uint32_t i = t->count; i > at; i--)
		put(&t->map[i], &t->map[i - 1]);
	wn_store(&t->count, t->count + 1);
}

static void close_gap(struct wn_track *t, uint32_t at)
{
	wn_store(&t->count, t->count - 1);
	for (uint32_t i = at; i < t->count; i++)
		put(&t->map[i], &t->map[i + 1]);
}

int wn_map_add(struct wn_track *t, const struct wn_map *m)
{
	uint32_t at;

	if (t->count >= WN_MAPS)
		return -ENOSPC;
	at = search(t, t->count, m->start);
	begin_change(t);
	open_gap(t, at);
	put(&t->map[at], m);
	end_change(t);
	return 0;
}

void wn_map_set_random(struct wn_track *t, uint64_t start, uint64_t length, bool random)
{
	for (uint32_t i = search(t, t->count, start);
	     i < t->count && t->map[i].start < start + length; i++)
		if (t->map[i].start >= start)
			wn_store(&t->map[i].random, random);
}

void wn_map_set_huge(struct wn_track *t, uint64_t start, uint64_t length, bool huge)
{
	for (uint32_t i = search(t, t->count, start);
	     i < t->count && t->map[i].start < start + length; i++)
		if (t->map[i].start >= start)
			wn_store(&t->map[i].huge, huge);
}

bool wn_map_remove(struct wn_track *t, uint64_t start, uint64_t length)
{
	uint64_t end = start + length;
	uint32_t i = search(t, t->count, start);
	bool dropped = false;

	/* The program may pass any length to munmap(). */
	if (end < start)
		end = UINT64_MAX;
	begin_change(t);
	while (i < t->count && t->map[i].start < end) {
		struct wn_map m = t->map[i], behind = m;

		behind.start = end;
		behind.offset += end - m.start;
		if (m.start < start && m.end > end) {
			/* A hole: both ends stay, or only the first when there is no room. */
			wn_store(&t->map[i].end, start);
			if (t->count < WN_MAPS) {
				open_gap(t, i + 1);
				put(&t->map[i + 1], &behind);
				wn_file_ref(&t->files, m.file);
			}
			break;
		}
		if (m.start < start) {
			wn_store(&t->map[i++].end, start);
		} else if (m.end > end) {
			put(&t->map[i], &behind);
			break;
		} else {
			close_gap(t, i);
			dropped |= wn_file_drop(&t->files, m.file);
		}
	}
	end_change(t);
	return dropped;
}

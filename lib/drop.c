/* SPDX-License-Identifier: MIT */
#include "drop.h"

#include <fcntl.h>

#include "base/arch.h"
#include "base/arena.h"
#include "base/sys.h"
#include "runtime.h"

/* The largest folio: less than that of one cannot be dropped. */
#define PIECE_BITS 21
#define PIECE ((uint64_t)1 << PIECE_BITS)
/* Readahead runs so far in front of a reader, and what it brought is not "cached before". */
#define AHEAD 17u
/* How many pieces later it is looked whether somebody has read a dropped piece again. */
#define REFAULT 4u
/* Several threads that share a stream arrive out of order by this much. */
#define NEAR ((uint64_t)1 << 20)
/* Reads of this size leave no folio in parts: the kernel's own way is as good. */
#define LARGE ((uint64_t)2 << 20)

static uint64_t bit(uint64_t piece)
{
	return (uint64_t)1 << piece % 64;
}

static uint8_t *hint_of(struct wn_drops *d, int fd, uint64_t piece)
{
	/* Multiplicative hashing (Knuth). */
	uint64_t mixed = ((uint64_t)(unsigned)fd << 44 ^ piece) * 0x9e3779b97f4a7c15u;

	return &d->hint[(mixed >> 40) % WN_DROP_HINTS];
}

static struct wn_drop_stream *find(struct wn_drops *d, int fd, uint64_t offset)
{
	uint8_t at = wn_load(hint_of(d, fd, offset >> PIECE_BITS)) % WN_DROP_STREAMS;
	struct wn_drop_stream *s = &d->stream[at];
	uint64_t next = wn_load(&s->next);

	/* The second read is the evidence: it has to begin where the first one ended. */
	uint64_t slack = wn_load(&s->goes_on) ? NEAR : 0;

	return wn_load(&s->fd1) == fd + 1 && offset + slack >= next && offset <= next + slack ?
		       s : NULL;
}

static bool lock(struct wn_drop_stream *s)
{
	return wn_swap32(&s->busy, 0, 1);
}

static void unlock(struct wn_drop_stream *s)
{
	wn_store_release(&s->busy, 0);
}

static bool is_spared(const struct wn_drops *d, const struct stat *file)
{
	for (int i = 0; i < WN_DROP_SPARED; i++)
		if (wn_load(&d->spared[i].ino) == file->st_ino &&
		    wn_load(&d->spared[i].dev) == file->st_dev)
			return true;
	return false;
}

/* Somebody else reads this file: leave its pages alone from now on. */
static void spare(struct wn_drops *d, struct wn_drop_stream *s)
{
	struct wn_drop_inode *i = &d->spared[wn_add(&d->spared_next, 1) % WN_DROP_SPARED];

	wn_store(&i->dev, s->dev);
	wn_store(&i->ino, s->ino);
	s->stopped = true;
}

static bool stat_piece(int fd, uint64_t piece, struct wn_cachestat *found)
{
	return wn_sys->cachestat(fd, piece << PIECE_BITS, PIECE, found) >= 0;
}

/* Looks which pieces before `to` are cached, before the reader comes near. */
static bool look(struct wn_drop_stream *s, int fd, uint64_t to)
{
	struct wn_cachestat found;

	for (; s->looked < to; s->looked++) {
		if (!stat_piece(fd, s->looked, &found))
			return false;
		s->cold &= ~bit(s->looked);
		if (!found.cached)
			s->cold |= bit(s->looked);
	}
	return true;
}

static uint64_t changed(const struct stat *file)
{
	return (uint64_t)file->st_ctim.tv_sec * 1000000000u + (uint64_t)file->st_ctim.tv_nsec;
}

static bool is_mapped(const struct stat *file)
{
	uint32_t serial;
	struct wn_map m;
	uint16_t slot = wn_file_find(&wn_rt.track->files, file, &serial);

	return slot != WN_NO_FILE && wn_map_find_offset(wn_rt.track, slot, WN_ANY_OFFSET, &m);
}

static void drop_piece(struct wn_state *st, struct wn_drop_stream *s, int fd, uint64_t piece)
{
	uint64_t before = piece - REFAULT;
	struct wn_cachestat found;

	s->gone &= ~bit(piece);
	/*
	 * Not there, although it has just been read: evicted, or a file system that keeps its
	 * pages in another file, as overlayfs does, so that nothing is known about them.
	 */
	if (!(s->cold & bit(piece)) || !stat_piece(fd, piece, &found) || !found.cached ||
	    found.dirty || found.writeback)
		return;
	wn_sys->fadvise(fd, (off_t)(piece << PIECE_BITS), (off_t)PIECE, POSIX_FADV_DONTNEED);
	wn_count(&st->stats, drop_calls, 1);
	wn_count(&st->stats, dropped_bytes, found.cached * wn_page_size());
	if (stat_piece(fd, piece, &found) && !found.cached)
		s->gone |= bit(piece);
	if (piece >= REFAULT && (s->gone & bit(before)) && stat_piece(fd, before, &found) &&
	    found.cached)
		spare(&st->drops, s);
}

/* The reader has come to another piece, or to the end of the file. */
static void pass(struct wn_state *st, struct wn_drop_stream *s, int fd, uint64_t next)
{
	uint64_t piece = next >> PIECE_BITS;
	uint64_t done = piece ? piece - 1 : 0;
	struct stat file;

	s->used = wn_cycles();
	wn_store(hint_of(&st->drops, fd, piece), (uint8_t)(s - st->drops.stream));
	/* Offsets may straddle the border for a while. */
	wn_store(hint_of(&st->drops, fd, piece + 1), (uint8_t)(s - st->drops.stream));
	if (s->stopped || !s->plain)
		return;
	if (wn_sys->fstat(fd, &file) < 0 || file.st_dev != s->dev || file.st_ino != s->ino ||
	    changed(&file) != s->changed || (uint64_t)file.st_size != s->size ||
	    is_mapped(&file)) {
		/* Another file, or one that grows or is written: nothing of it is ours. */
		s->stopped = true;
		return;
	}
	if (next >= s->size)
		done = (s->size + PIECE - 1) >> PIECE_BITS;
	if (!look(s, fd, piece + AHEAD))
		s->stopped = true;
	for (; s->freed < done && !s->stopped; s->freed++)
		drop_piece(st, s, fd, s->freed);
}

/* An unused slot, or the one that was quiet for longest; locked. */
static struct wn_drop_stream *make_room(struct wn_drops *d)
{
	struct wn_drop_stream *oldest = NULL;

	for (int i = 0; i < WN_DROP_STREAMS; i++) {
		struct wn_drop_stream *s = &d->stream[i];

		if (!wn_load(&s->busy) &&
		    (!oldest || wn_load(&s->used) < wn_load(&oldest->used)))
			oldest = s;
	}
	return oldest && lock(oldest) ? oldest : NULL;
}

/* The first read somewhere: may become a stream, which the next one will tell. */
static struct wn_drop_stream *begin(struct wn_state *st, int fd, uint64_t offset)
{
	struct wn_drops *d = &st->drops;
	uint64_t piece = offset >> PIECE_BITS;
	int flags = wn_sys->fcntl_getfl(fd);
	struct wn_drop_stream *s;
	struct stat file;

	if (flags < 0 || (flags & O_DIRECT) || wn_sys->fstat(fd, &file) < 0 ||
	    !S_ISREG(file.st_mode) || is_spared(d, &file))
		return NULL;
	s = make_room(d);
	if (!s)
		return NULL;
	wn_store(&s->fd1, 0);
	s->used = wn_cycles();
	s->dev = file.st_dev;
	s->ino = file.st_ino;
	s->size = (uint64_t)file.st_size;
	s->changed = changed(&file);
	s->looked = s->freed = piece;
	s->cold = s->gone = s->last = 0;
	s->stopped = s->goes_on = false;
	/* At the beginning of a file most readers go on. */
	s->plain = look(s, fd, offset ? piece + 1 : AHEAD);
	wn_store(&s->next, offset);
	wn_store(&s->fd1, fd + 1);
	wn_store(hint_of(d, fd, piece), (uint8_t)(s - d->stream));
	wn_store(hint_of(d, fd, piece + 1), (uint8_t)(s - d->stream));
	unlock(s);
	return s;
}

/* The second read of a stream: look ahead before its readahead gets there. */
static void confirm(struct wn_drop_stream *s, int fd)
{
	if (!lock(s))
		return;
	if (s->plain && !look(s, fd, s->freed + AHEAD))
		s->stopped = true;
	s->goes_on = true;
	unlock(s);
}

bool wn_drop_wanted(void)
{
	return !wn_load(&wn_rt.dormant) && wn_may_ask() &&
	       wn_load(&wn_rt.options.value[WN_OPT_DROP_BEHIND]) != WN_DROP_OFF;
}

bool wn_drop_plain(int fd, off_t offset, struct wn_drop_stream **stream)
{
	struct wn_state *st;
	struct wn_drop_stream *s;

	*stream = NULL;
	if (offset < 0 || fd < 0 || !wn_drop_wanted() || wn_wake_up(&st) < 0)
		return false;
	s = find(&st->drops, fd, (uint64_t)offset);
	if (s) {
		*stream = s;
		if (!s->goes_on)
			confirm(s, fd);
		return s->plain && s->last < LARGE;
	}
	*stream = s = begin(st, fd, (uint64_t)offset);
	return s && s->plain && !offset;
}

void wn_drop_read(struct wn_drop_stream *s, int fd, off_t offset, size_t got)
{
	uint64_t before = wn_load(&s->next), now = (uint64_t)offset + got;
	struct wn_state *st = wn_awake();

	if (!st || wn_load(&s->fd1) != fd + 1 || now <= before)
		return;
	wn_store(&s->next, now);
	wn_store(&s->last, got);
	if (before >> PIECE_BITS == now >> PIECE_BITS && now < s->size)
		return;
	if (!lock(s))
		return;
	pass(st, s, fd, now);
	unlock(s);
}

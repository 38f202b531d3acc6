/* SPDX-License-Identifier: MIT */
#include "written.h"

#include <errno.h>
#include <fcntl.h>

#include "base/arch.h"
#include "base/sys.h"
#include "letgo.h"
#include "runtime.h"

#define TMPFS_MAGIC	0x01021994u
#define RAMFS_MAGIC	0x858458f6u
#define HUGETLBFS_MAGIC 0x958458f6u
/* So many pieces are looked at together before they are written. */
#define AHEAD 4u
/* Pieces that are dropped at a time, so that a write is not held up. */
#define FEW 4u
/* What is never clean is written all the time, or cannot be written. */
#define TRIES 64u
/* Where nothing tells what is on the disk, it is taken to be after so many more pieces. */
#define LATE 8u
/* Pieces dropped last that are looked at: has somebody read them? */
#define WATCHED 64u

static bool lock(struct wn_writtens *t)
{
	for (int tries = 0; tries < 200; tries++) {
		if (wn_swap32(&t->busy, 0, 1))
			return true;
		wn_pause();
	}
	return false;
}

static void unlock(struct wn_writtens *t)
{
	wn_store_release(&t->busy, 0);
}

static bool has(const struct wn_written_run *r, uint64_t piece)
{
	return piece >= r->from && piece < r->to;
}

static bool was_sent(const struct wn_written_file *w, uint64_t piece)
{
	for (int i = 0; i < WN_WRITTEN_RUNS; i++)
		if (has(&w->sent[i], piece))
			return true;
	return false;
}

static struct wn_written_file *known(struct wn_writtens *t, const struct stat *st)
{
	for (int i = 0; i < WN_WRITTEN_FILES; i++)
		if (t->of[i].file.ino == st->st_ino && t->of[i].file.dev == st->st_dev)
			return &t->of[i];
	return NULL;
}

static struct wn_written_file *meet(struct wn_state *st, int fd, const struct stat *file)
{
	struct wn_writtens *t = &st->written;
	struct wn_written_file *w = known(t, file);
	struct statfs sf;
	uint32_t type;

	if (w)
		return w;
	if (wn_sys->fstatfs(fd, &sf) < 0)
		return NULL;
	type = (uint32_t)sf.f_type;
	if (type == TMPFS_MAGIC || type == RAMFS_MAGIC || type == HUGETLBFS_MAGIC)
		return NULL;
	w = &t->of[t->turn++ % WN_WRITTEN_FILES];
	*w = (struct wn_written_file){
		.file = { .dev = file->st_dev, .ino = file->st_ino },
		.piece = UINT64_MAX,
	};
	w->file.elsewhere = wn_letgo_elsewhere(fd);
	if (wn_letgo_refused(&st->drops, &w->file))
		w->file.stopped = WN_PIECES_REFUSED;
	wn_store(&t->used, 1);
	return w;
}

/* Was a piece cached before it is written now?  Ours does not count. */
static void look(struct wn_written_file *w, int fd, uint64_t piece, uint64_t size)
{
	struct wn_cachestat found;
	bool any;

	/* Who goes back finds there what others have read meanwhile. */
	if (w->piece != UINT64_MAX && piece < w->piece)
		w->cold = (struct wn_written_run){ 0 };
	if (piece == w->piece || has(&w->cold, piece))
		return;
	w->cold = (struct wn_written_run){ piece, piece };
	/* Behind the end of a file nothing is cached. */
	if (piece << WN_PIECE_BITS >= wn_round_up(size, wn_page_size()))
		w->cold.to = UINT64_MAX;
	else if (was_sent(w, piece))
		w->cold.to++;
	else if (!w->file.elsewhere && wn_sys->cachestat(fd, piece << WN_PIECE_BITS,
							 AHEAD * WN_PIECE, &found) >= 0 &&
		 !found.cached)
		w->cold.to += AHEAD;
	else if (wn_letgo_any(&w->file, fd, piece, &any) && !any)
		w->cold.to++;
}

void wn_written_begin(struct wn_write *w, int fd, off_t offset)
{
	int flags = wn_sys->fcntl_getfl(fd);
	struct wn_written_file *f;
	struct wn_state *st;
	struct stat file;
	int64_t at = offset;

	w->ino = 0;
	if (flags < 0 || (flags & O_DIRECT) || wn_sys->fstat(fd, &file) < 0 ||
	    !S_ISREG(file.st_mode) || wn_wake_up(&st) < 0)
		return;
	if (flags & O_APPEND)
		at = file.st_size;
	else if (offset == -1)
		at = wn_sys->position(fd);
	if (at < 0 || !lock(&st->written))
		return;
	f = meet(st, fd, &file);
	if (f && !f->file.stopped) {
		look(f, fd, wn_piece_of((uint64_t)at), (uint64_t)file.st_size);
		w->ino = file.st_ino;
		w->at = (uint64_t)at;
	}
	unlock(&st->written);
}

static struct wn_written_run *first(struct wn_written_file *w)
{
	while (w->sent[0].from >= w->sent[0].to && w->sent[0].to) {
		for (int i = 1; i < WN_WRITTEN_RUNS; i++)
			w->sent[i - 1] = w->sent[i];
		w->sent[WN_WRITTEN_RUNS - 1] = (struct wn_written_run){ 0 };
	}
	return w->sent[0].to ? &w->sent[0] : NULL;
}

/* A full list forgets what was sent first. */
static void push(struct wn_written_file *w, uint64_t piece)
{
	if (was_sent(w, piece))
		return;
	for (int i = 0; i < WN_WRITTEN_RUNS; i++) {
		if (w->sent[i].to == piece && piece)
			w->sent[i].to++;
		else if (!w->sent[i].to)
			w->sent[i] = (struct wn_written_run){ piece, piece + 1 };
		else
			continue;
		return;
	}
	w->sent[0].from = w->sent[0].to;
	first(w);
	w->sent[WN_WRITTEN_RUNS - 1] = (struct wn_written_run){ piece, piece + 1 };
}

/* Has somebody read what was dropped?  Then the file is read by others: it stays. */
static bool read_again(const struct wn_written_file *w, int fd)
{
	struct wn_cachestat found;

	return !w->file.elsewhere && w->gone.to > w->gone.from &&
	       wn_sys->cachestat(fd, w->gone.from << WN_PIECE_BITS,
				 (w->gone.to - w->gone.from) << WN_PIECE_BITS, &found) >= 0 &&
	       found.cached;
}

static void note_gone(struct wn_written_file *w, uint64_t piece)
{
	if (w->gone.to != piece)
		w->gone.from = piece;
	w->gone.to = piece + 1;
	w->gone.from = wn_max(w->gone.from, wn_above(w->gone.to, WATCHED));
}

/* Drops a piece that is on the disk; false when it is not there yet. */
static bool drop(struct wn_state *st, struct wn_written_file *w, int fd, uint64_t piece)
{
	struct wn_cachestat found = { 0 }, left = { 0 };
	bool told = wn_letgo_stat(&w->file, fd, piece, &found);

	if (told && (found.dirty || found.writeback))
		return false;
	if (told && !found.cached)
		return true;
	wn_sys->fadvise(fd, (off_t)(piece << WN_PIECE_BITS), (off_t)WN_PIECE,
			POSIX_FADV_DONTNEED);
	wn_count(&st->stats, drop_calls, 1);
	if (!told)
		return true;
	wn_letgo_stat(&w->file, fd, piece, &left);
	wn_count(&st->stats, dropped_bytes, wn_above(found.cached, left.cached) * wn_page_size());
	/* What dirt there is elsewhere only shows in what cannot be dropped. */
	if (left.cached && w->file.elsewhere)
		return false;
	if (!left.cached)
		note_gone(w, piece);
	return true;
}

static void drop_some(struct wn_state *st, struct wn_written_file *w, int fd, bool all)
{
	struct wn_cachestat found;
	struct wn_written_run *r;

	if (w->file.stopped)
		return;
	if (read_again(w, fd)) {
		wn_letgo_never(&st->drops, &w->file);
		return;
	}
	for (unsigned n = 0; (all || n < FEW) && (r = first(w)); n++) {
		/* Nothing is known through a descriptor that can only write, of an overlay. */
		if (!all && w->piece < r->from + LATE &&
		    !wn_letgo_stat(&w->file, fd, r->from, &found))
			return;
		if (!drop(st, w, fd, r->from) && ++w->tries < TRIES)
			return;
		w->tries = 0;
		r->from++;
	}
}

/* The piece that was written until now is sent to the disk. */
static void send(struct wn_written_file *w, int fd)
{
	off_t from = (off_t)(w->piece << WN_PIECE_BITS);

	if (!w->bytes || !has(&w->cold, w->piece))
		return;
	w->bytes = 0;
	/* What is called for the pages of an overlay does not reach the other file's. */
	if (w->file.elsewhere)
		wn_sys->fadvise(fd, from, (off_t)WN_PIECE, POSIX_FADV_DONTNEED);
	else
		wn_sys->write_out(fd, (uint64_t)from, WN_PIECE);
	push(w, w->piece);
}

static void count(struct wn_state *st, struct wn_written_file *w, int fd, uint64_t at,
		  uint64_t end)
{
	while (at < end) {
		uint64_t n = wn_min(end - at, WN_PIECE - at % WN_PIECE);

		/* What is there again is our doing. */
		if (has(&w->gone, wn_piece_of(at)))
			w->gone = (struct wn_written_run){ 0 };
		if (wn_piece_of(at) != w->piece) {
			send(w, fd);
			w->piece = wn_piece_of(at);
			w->bytes = 0;
		}
		w->bytes += n;
		at += n;
		if (w->bytes >= WN_PIECE) {
			send(w, fd);
			drop_some(st, w, fd, false);
		}
	}
}

/* The file under a descriptor, held until unlock(); NULL: none, and nothing is held. */
static struct wn_written_file *hold(struct wn_state *st, int fd)
{
	struct wn_written_file *w;
	struct stat file;

	if (wn_sys->fstat(fd, &file) < 0 || !lock(&st->written))
		return NULL;
	w = known(&st->written, &file);
	if (w && wn_letgo_mapped(&file))
		w->file.stopped = WN_PIECES_STAY;
	if (!w || w->file.stopped) {
		unlock(&st->written);
		return NULL;
	}
	return w;
}

void wn_written_end(const struct wn_write *w, int fd, size_t put)
{
	struct wn_state *st = wn_awake();
	struct wn_written_file *f = st && w->ino ? hold(st, fd) : NULL;

	if (!f)
		return;
	if (f->file.ino == w->ino)
		count(st, f, fd, w->at, w->at + put);
	unlock(&st->written);
}

void wn_written_closing(int fd)
{
	struct wn_state *st = wn_awake();
	struct wn_written_file *w = st && wn_load(&st->written.used) ? hold(st, fd) : NULL;

	if (!w)
		return;
	send(w, fd);
	drop_some(st, w, fd, true);
	unlock(&st->written);
}

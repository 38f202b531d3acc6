/* SPDX-License-Identifier: MIT */
#include "pieces.h"

#include "base/arch.h"

/* A descriptor's word: its number plus one, 27 bits of serial, 5 of slot. */
#define SLOT_BITS   5
#define SERIAL_MASK (((uint32_t)1 << (32 - SLOT_BITS)) - 1)
/* The file sizes of 64 bits have so many regions at most. */
#define NUMBER_BITS 36
_Static_assert(WN_PIECE_FILES == 1 << SLOT_BITS, "the slot is in the descriptor's word");

static uint64_t mix(uint64_t v)
{
	/* Multiplicative hashing (Knuth). */
	return (v * 0x9e3779b97f4a7c15u) >> 40;
}

/* The lock holds for a search of the tables: worth a little patience, but no more. */
static bool lock(struct wn_pieces *t)
{
	for (int tries = 0; tries < 200; tries++) {
		if (wn_swap32(&t->busy, 0, 1))
			return true;
		wn_pause();
	}
	return false;
}

static void unlock(struct wn_pieces *t)
{
	wn_store_release(&t->busy, 0);
}

/* The time of the last change, as one number. */
static uint64_t changed(const struct stat *st)
{
	return (uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec;
}

struct wn_piece_file *wn_pieces_file(struct wn_pieces *t, int fd)
{
	uint64_t word = wn_load(&t->fd[(unsigned)fd % WN_PIECE_FDS]);
	struct wn_piece_file *f = &t->file[word % WN_PIECE_FILES];

	if (word >> 32 != (uint64_t)fd + 1 ||
	    wn_load(&f->serial) != (uint32_t)word >> SLOT_BITS)
		return NULL;
	return f;
}

/* The slot of the file, or else the one that was quiet for longest. */
static struct wn_piece_file *slot_for(struct wn_pieces *t, const struct stat *st)
{
	struct wn_piece_file *oldest = &t->file[0];

	for (int i = 0; i < WN_PIECE_FILES; i++) {
		struct wn_piece_file *f = &t->file[i];

		if (f->serial && f->ino == st->st_ino && f->dev == st->st_dev)
			return f;
		if (wn_load(&f->used) < wn_load(&oldest->used))
			oldest = f;
	}
	return oldest;
}

static void reuse(struct wn_pieces *t, struct wn_piece_file *f, const struct stat *st)
{
	uint32_t serial = ++t->serials & SERIAL_MASK;

	if (!serial)
		serial = ++t->serials & SERIAL_MASK;
	/* Whoever still counts for what it was finds its serial gone. */
	wn_store(&f->serial, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	*f = (struct wn_piece_file){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.changed = changed(st),
	};
	wn_store_release(&f->serial, serial);
}

bool wn_piece_file_is(const struct wn_piece_file *f, const struct stat *st)
{
	return f->ino == st->st_ino && f->dev == st->st_dev &&
	       f->changed == changed(st) && f->size == (uint64_t)st->st_size;
}

struct wn_piece_file *wn_pieces_meet(struct wn_pieces *t, int fd, const struct stat *st)
{
	struct wn_piece_file *f;

	if (!lock(t))
		return NULL;
	f = slot_for(t, st);
	/* What was known of a file that has changed since is of no use. */
	if (!f->serial || !wn_piece_file_is(f, st))
		reuse(t, f, st);
	wn_store(&f->used, wn_cycles());
	wn_store(&f->fd, fd);
	wn_store(&t->fd[(unsigned)fd % WN_PIECE_FDS],
		 ((uint64_t)fd + 1) << 32 | (uint64_t)f->serial << SLOT_BITS |
			 (uint64_t)(f - t->file));
	unlock(t);
	return f;
}

static uint64_t key_of(uint32_t serial, uint64_t piece)
{
	return (uint64_t)serial << NUMBER_BITS | piece / WN_REGION_PIECES;
}

static struct wn_region *find(struct wn_pieces *t, uint64_t key)
{
	uint8_t *hint = &t->hint[mix(key) % WN_PIECE_FDS];
	uint8_t at = wn_load(hint) % WN_PIECE_REGIONS;

	if (wn_load_acquire(&t->region[at].key) == key)
		return &t->region[at];
	for (at = 0; at < WN_PIECE_REGIONS; at++) {
		if (wn_load_acquire(&t->region[at].key) == key) {
			wn_store(hint, at);
			return &t->region[at];
		}
	}
	return NULL;
}

struct wn_region *wn_pieces_find(struct wn_pieces *t, uint32_t serial, uint64_t piece)
{
	return find(t, key_of(serial, piece));
}

/* Of these pieces at the fronts of readers, those that are being read. */
static uint32_t moving(const struct wn_region *r, uint64_t fronts,
		       const struct wn_piece_file *f)
{
	uint32_t patience = WN_PIECE_PATIENCE + wn_load(&f->readers), n = 0;

	for (; fronts; fronts &= fronts - 1)
		n += wn_load(&f->entered) - wn_load(&r->piece[__builtin_ctzll(fronts)].seen) <=
		     patience;
	return n;
}

uint32_t wn_pieces_readers(struct wn_pieces *t, const struct wn_piece_file *f)
{
	uint32_t serial = wn_load(&f->serial), fronts = 0;

	for (int i = 0; i < WN_PIECE_REGIONS; i++) {
		const struct wn_region *r = &t->region[i], *next = NULL;
		uint64_t key = wn_load(&r->key), going = wn_load(&r->going), on = going >> 1;

		if (key >> NUMBER_BITS != serial)
			continue;
		if (going >> (WN_REGION_PIECES - 1))
			next = find(t, key + 1);
		if (next)
			on |= wn_load(&next->going) << (WN_REGION_PIECES - 1);
		/* Each has a piece at its front that is not done, and nobody goes on. */
		fronts += moving(r, going & ~wn_load(&r->done) & ~on, f);
	}
	return fronts;
}

struct wn_region *wn_pieces_make(struct wn_pieces *t, uint32_t serial, uint64_t piece)
{
	struct wn_region *r = wn_pieces_find(t, serial, piece);

	if (r || !lock(t))
		return r;
	r = wn_pieces_find(t, serial, piece);
	if (!r) {
		r = &t->region[0];
		for (int i = 1; i < WN_PIECE_REGIONS; i++)
			if (wn_load(&t->region[i].used) < wn_load(&r->used))
				r = &t->region[i];
		wn_store(&r->key, 0);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		*r = (struct wn_region){ .used = wn_cycles() };
		wn_store_release(&r->key, key_of(serial, piece));
	}
	unlock(t);
	return r;
}

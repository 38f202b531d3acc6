/* SPDX-License-Identifier: MIT */
#include "track/file.h"

#include "base/mem.h"

static void describe(struct wn_file *f, const struct stat *st, int fd)
{
	wn_store(&f->size, (uint64_t)st->st_size);
	if (fd >= 0)
		wn_store(&f->fd, fd);
}

static uint16_t *guess_of(struct wn_file_table *t, const struct stat *st)
{
	/* Multiplicative hashing (Knuth). */
	uint64_t mixed = ((uint64_t)st->st_ino ^ (uint64_t)st->st_dev << 32) *
			 0x9e3779b97f4a7c15u;

	return &t->guess[(mixed >> 40) % WN_FILES];
}

static bool is(const struct wn_file *f, const struct stat *st, uint32_t *serial)
{
	if (wn_load_acquire(&f->ino) != st->st_ino || wn_load_acquire(&f->dev) != st->st_dev)
		return false;
	*serial = wn_load_acquire(&f->serial);
	/* A slot loses its inode first and gets one last, so this was one identity. */
	return wn_load(&f->ino) == st->st_ino;
}

uint16_t wn_file_find(struct wn_file_table *t, const struct stat *st, uint32_t *serial)
{
	uint16_t *guess = guess_of(t, st);
	uint16_t at = wn_load(guess);

	if (is(&t->slot[at % WN_FILES], st, serial))
		return at % WN_FILES;
	for (at = 0; at < WN_FILES; at++) {
		if (is(&t->slot[at], st, serial)) {
			wn_store(guess, at);
			return at;
		}
	}
	return WN_NO_FILE;
}

/* Gives a slot another identity, in an order that wn_file_find() relies on. */
static void reuse(struct wn_file *f, const struct stat *st)
{
	uint32_t serial = f->serial + 1;

	wn_store(&f->ino, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	*f = (struct wn_file){ .refs = 1, .serial = serial, .fd = -1 };
	wn_store_release(&f->dev, st->st_dev);
	wn_store_release(&f->ino, st->st_ino);
}

uint16_t wn_file_take(struct wn_file_table *t, const struct stat *st, int fd)
{
	struct wn_file *spare = NULL;

	for (uint16_t i = 0; i < WN_FILES; i++) {
		struct wn_file *f = &t->slot[i];

		if (f->dev == st->st_dev && f->ino == st->st_ino) {
			f->refs++;
			describe(f, st, fd);
			return i;
		}
		/*
		 * An unused slot is best, else one whose file nobody needs any more, each in
		 * its turn.
		 */
		if (!f->refs && (!spare || (spare->ino && (!f->ino || i == t->turn))))
			spare = f;
	}
	if (!spare)
		return WN_NO_FILE;
	t->turn = (uint32_t)(spare - t->slot + 1) % WN_FILES;
	reuse(spare, st);
	describe(spare, st, fd);
	return (uint16_t)(spare - t->slot);
}

void wn_file_ref(struct wn_file_table *t, uint16_t file)
{
	t->slot[file].refs++;
}

bool wn_file_drop(struct wn_file_table *t, uint16_t file)
{
	struct wn_file *f = &t->slot[file];

	if (f->refs)
		f->refs--;
	return !f->refs;
}

/* SPDX-License-Identifier: MIT */
#include "track/file.h"

#include "base/mem.h"

static void describe(struct wn_file *f, const struct stat *st, int fd)
{
	wn_store(&f->size, (uint64_t)st->st_size);
	if (fd >= 0)
		wn_store(&f->fd, fd);
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
		/* An unused slot is best, else one whose file nobody needs any more. */
		if (!f->refs && (!spare || (spare->ino && !f->ino)))
			spare = f;
	}
	if (!spare)
		return WN_NO_FILE;
	*spare = (struct wn_file){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.refs = 1,
		.serial = spare->serial + 1,
		.fd = -1,
	};
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

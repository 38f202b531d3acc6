/* SPDX-License-Identifier: MIT */
/*
 * Advice, by descriptor and by address.  One call reads at most the larger of the
 * device's readahead and request sizes and says nothing about the rest, so ranges are
 * asked for in chunks of that size.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/sys.h"
#include "engine.h"

static bool advise_once(const struct wn_kernel *k, const struct wn_engine_file *f,
			uint64_t from, uint64_t length)
{
	int fd = (int)f->fd1 - 1;

	wn_count(k->stats, kernel_calls, 1);
	if (f->uring && wn_uring_advise(&k->engine->uring, fd, from, length))
		return true;
	return wn_sys->fadvise(fd, (off_t)from, (off_t)length, POSIX_FADV_WILLNEED) >= 0;
}

uint64_t wn_advise(const struct wn_kernel *k, const struct wn_engine_file *f, uint64_t from,
		   uint64_t to)
{
	while (from < to) {
		/* Full chunks begin at a page, else their last page would be cut off. */
		uint64_t length = wn_min(to - from, f->chunk - from % wn_page_size());

		if (!advise_once(k, f, from, length))
			return from;
		wn_count(k->stats, advise_bytes, length);
		wn_count(k->stats, asked_bytes, length);
		from += length;
	}
	return from;
}

uint64_t wn_advise_address(const struct wn_kernel *k, uint16_t file, uint64_t chunk,
			   uint64_t from, uint64_t to)
{
	uint64_t page = wn_page_size();
	struct wn_map m;

	while (from < to && wn_map_find_offset(k->track, file, from, &m)) {
		uint64_t exact = m.start + (from - m.offset);
		uint64_t addr = wn_round_down(exact, page);
		uint64_t length = wn_min(wn_min(to - from, chunk - (exact - addr)), m.end - exact);

		wn_count(k->stats, kernel_calls, 1);
		if (wn_sys->madvise(addr, wn_round_up(exact + length - addr, page),
				    MADV_WILLNEED) < 0)
			return from;
		wn_count(k->stats, address_bytes, length);
		wn_count(k->stats, asked_bytes, length);
		from += length;
	}
	return from;
}

void wn_engine_ask_exactly(const struct wn_kernel *k, struct wn_cover_file id,
			   const struct wn_order *o)
{
	struct wn_engine_file *f = &k->engine->file[id.file];
	uint64_t from = o->from;

	wn_count(k->stats, orders, 1);
	if (k->recorded)
		k->recorded(k->ctx, id.file, o);
	if (k->record_only)
		return;
	from += wn_cover_asked(k->cover, id, from, o->to);
	if (f->way != WN_ADDRESS && from < o->to)
		from = wn_advise(k, f, from, o->to);
	if (from < o->to)
		from = wn_advise_address(k, id.file, f->chunk, from, o->to);
	wn_engine_flush(k);
	wn_cover_mark(k->cover, id, o->from, from);
}

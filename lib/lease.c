/* SPDX-License-Identifier: MIT */
#include "lease.h"

#include "base/sys.h"
#include "request.h"
#include "runtime.h"

/* Another file had this slot before: what is noted there is not about this one. */
static void begin_anew(struct wn_read_file *f, uint32_t serial)
{
	wn_marks_clear(&f->marks);
	wn_store(&f->crowd, 0);
	wn_store(&f->gaps, 0);
	wn_store(&f->serial, serial);
}

uint16_t wn_lease_take(struct wn_state *st, const struct stat *file, int fd)
{
	uint16_t slot = wn_request_hold(st, file, fd);
	struct wn_read_file *read;
	uint32_t serial;

	if (slot == WN_NO_FILE)
		return slot;
	serial = wn_load(&wn_rt.track->files.slot[slot].serial);
	read = &st->reads.file[slot];
	/* No lease is lost by that: a slot that is leased does not get another file. */
	if (wn_load(&read->serial) != serial)
		begin_anew(read, serial);
	wn_devices_meet(&st->engine.devices, &wn_rt.track->files.slot[slot],
			wn_load(&wn_rt.options.value[WN_OPT_WIDE]));
	/* Another thread was first: one reference will do. */
	if (!wn_swap32(&read->leased, 0, 1))
		wn_track_drop(wn_rt.track, &st->lock, slot);
	wn_store(&st->reads.by_fd[fd % WN_READ_FDS], (uint16_t)(slot + 1));
	return slot;
}

bool wn_lease_drop(struct wn_state *st, uint16_t slot)
{
	if (!wn_swap32(&st->reads.file[slot].leased, 1, 0))
		return false;
	wn_track_drop(wn_rt.track, &st->lock, slot);
	return !wn_load(&wn_rt.track->files.slot[slot].refs);
}

void wn_lease_expire(struct wn_state *st, uint64_t now_ns, uint64_t quiet_ns)
{
	struct wn_reads *r = &st->reads;

	if (quiet_ns && now_ns - r->expired_ns < quiet_ns / 4)
		return;
	r->expired_ns = now_ns;
	for (uint16_t i = 0; i < WN_FILES; i++) {
		if (!wn_load(&r->file[i].leased)) {
			r->seen_ns[i] = 0;
			continue;
		}
		if (!r->seen_ns[i])
			r->seen_ns[i] = now_ns;
		if (now_ns - r->seen_ns[i] < quiet_ns ||
		    !wn_swap32(&r->file[i].leased, 1, 0))
			continue;
		r->seen_ns[i] = 0;
		wn_track_drop(wn_rt.track, &st->lock, i);
	}
}

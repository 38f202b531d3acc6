/* SPDX-License-Identifier: MIT */
#include "request.h"

#include "base/sys.h"
#include "helper.h"
#include "runtime.h"

bool wn_request(struct wn_state *st, uint16_t file, uint64_t from, uint64_t to)
{
	if (!wn_helper_expected(st))
		return false;
	for (int i = 0; i < WN_REQUESTS; i++) {
		struct wn_request *r = &st->request[i];

		if (!wn_swap32(&r->phase, WN_REQUEST_FREE, WN_REQUEST_FILLING))
			continue;
		r->thread = (uint32_t)wn_sys->gettid();
		r->file = file;
		r->from = from;
		r->to = to;
		r->ticket = wn_add(&st->tickets, 1);
		wn_store_release(&r->phase, WN_REQUEST_READY);
		/* Nobody will come for it, unless somebody is just taking it. */
		return wn_helper_kick(st) ||
		       !wn_swap32(&r->phase, WN_REQUEST_READY, WN_REQUEST_FREE);
	}
	return false;
}

uint16_t wn_request_hold(struct wn_state *st, const struct stat *file, int fd)
{
	uint16_t slot = WN_NO_FILE;

	if (wn_track_lock(wn_rt.track, &st->lock)) {
		slot = wn_file_take(&wn_rt.track->files, file, fd);
		wn_track_unlock(&st->lock);
	}
	return slot;
}

void wn_request_let_go(struct wn_state *st, uint16_t slot)
{
	wn_track_drop(wn_rt.track, &st->lock, slot);
	wn_released(st);
}

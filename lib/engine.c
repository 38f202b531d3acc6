/* SPDX-License-Identifier: MIT */
#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/sys.h"
#include "why.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

/* The least that advice is given for at a time: smaller pieces cost calls and no time. */
#define ADVICE_UNIT (1024u * 1024)
/* A ride is given up when much more than one piece in sixteen was not there in time. */
#define STRIKE 16
#define STRIKES 160

/*
 * A file system that answers slowly gets the ring, so that it holds up nobody else; the
 * others gain nothing from it.  Riding needs each answer before the next question.
 */
static bool wants_uring(const struct wn_kernel *k, enum wn_way way)
{
	switch (k->options->value[WN_OPT_IO]) {
	case WN_IO_SYSCALL:
		return false;
	case WN_IO_URING:
		return way != WN_NONE;
	}
	return way == WN_SLOW;
}

/* A file system that this very process serves would be asked by us and wait for us. */
static bool own_fuse(int fd, uint32_t thread)
{
	return wn_filesystem_is_fuse(fd) && wn_serves_fuse(thread);
}

static enum wn_way allowed_way(const struct wn_kernel *k, enum wn_way best)
{
	uint64_t way = wn_load(&k->options->value[WN_OPT_WAY]);

	if (best == WN_NONE || way == WN_WAY_AUTO)
		return best;
	return way == WN_WAY_RIDE ? WN_RIDE : way == WN_WAY_ADVISE ? WN_ADVISE : WN_ADDRESS;
}

static void set_sizes(const struct wn_kernel *k, struct wn_engine_file *f, struct wn_file *w)
{
	struct wn_device_limits l = wn_devices_learn(&k->engine->devices, wn_load(&w->dev),
						     wn_sys->now_ns());

	f->readahead = l.readahead;
	f->chunk = wn_devices_chunk(&l);
	/* The private descriptor is advised SEQUENTIAL, which doubles its window. */
	f->unit = wn_max(2 * l.readahead, l.request);
	if (!l.readahead || !l.request)
		f->way = f->way == WN_RIDE ? WN_ADVISE : f->way;
	if (f->way != WN_RIDE)
		f->unit = wn_max(f->chunk, ADVICE_UNIT);
	f->unit = wn_max(wn_round_down(f->unit, 2 * wn_page_size()), 2 * wn_page_size());
	/*
	 * Since Linux 6.16 a window ends at a multiple of its folios' size, and the size that
	 * it hopes for may exceed what it gets; windows that begin at multiples of their own
	 * size are never cut short by that.
	 */
	f->align = f->unit & -f->unit;
	wn_devices_note(w, &l, wn_load(&k->options->value[WN_OPT_WIDE]));
}

/* Files grow: whenever the program's side has seen another size, look again. */
static void learn_size(struct wn_engine_file *f, const struct wn_file *w)
{
	uint64_t told = wn_load(&w->size);
	struct stat st;

	if (told == f->told)
		return;
	f->told = told;
	f->size = told;
	if (f->fd1 && !wn_sys->fstat((int)f->fd1 - 1, &st))
		f->size = (uint64_t)st.st_size;
}

/* Does the program need it, and may it be open for that? */
static bool is_wanted(const struct wn_file *w)
{
	return wn_load(&w->refs) && !wn_load(&w->spared);
}

static void close_file(struct wn_engine *e, struct wn_engine_file *f)
{
	if (f->fd1) {
		wn_sys->close((int)f->fd1 - 1);
		wn_store(&e->held, e->held - 1);
	}
	*f = (struct wn_engine_file){ 0 };
}

bool wn_engine_prepare(const struct wn_kernel *k, uint16_t file, uint32_t thread)
{
	struct wn_engine_file *f = &k->engine->file[file];
	struct wn_file *w = &k->track->files.slot[file];
	uint32_t serial = wn_load(&w->serial);
	int fd;

	if (f->way != WN_UNOPENED && f->serial == serial && !wn_load(&w->spared)) {
		learn_size(f, w);
		return f->way != WN_NONE;
	}
	close_file(k->engine, f);
	/* Before we look at the references: whoever drops the last one looks at this. */
	wn_store(&k->engine->held, k->engine->held + 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	/* A late record of a file that nobody needs any more. */
	if (!is_wanted(w)) {
		wn_store(&k->engine->held, k->engine->held - 1);
		return false;
	}
	f->serial = serial;
	if (k->record_only) {
		wn_store(&k->engine->held, k->engine->held - 1);
		learn_size(f, w);
		f->way = WN_ADVISE;
		set_sizes(k, f, w);
		return true;
	}
	fd = wn_find_file(k->track, file, thread);
	if (fd >= 0) {
		f->fd1 = (uint32_t)fd + 1;
		f->way = (uint8_t)(own_fuse(fd, thread) ? WN_NONE : wn_filesystem_way(fd));
		f->uring = wants_uring(k, f->way) && wn_uring_ready(&k->engine->uring);
		f->way = (uint8_t)allowed_way(k, f->way);
	} else {
		wn_count(k->stats, facility_failures, 1);
		wn_store(&k->engine->held, k->engine->held - 1);
		f->way = WN_ADDRESS;
	}
	learn_size(f, w);
	set_sizes(k, f, w);
	wn_store(&w->useless, f->way == WN_NONE);
	wn_engine_tell_way(k, f, fd < 0 ? fd : 0);
	if (f->way == WN_NONE)
		wn_why_tracked(k->options, WN_WHY_UNSUITED, w, thread);
	return f->way != WN_NONE;
}

bool wn_engine_is_open(const struct wn_kernel *k, uint16_t file)
{
	const struct wn_engine_file *f = &k->engine->file[file];

	return f->way != WN_UNOPENED &&
	       f->serial == wn_load(&k->track->files.slot[file].serial);
}

/* A second private open file, for a readahead state of its own. */
static bool open_lane(const struct wn_kernel *k, uint16_t file,
		      const struct wn_engine_file *f, struct wn_lane *lane)
{
	char path[48];
	struct wn_text t = wn_text_in(path, sizeof(path));
	int fd;

	if (lane->fd1 && lane->file == file)
		return true;
	if (lane->fd1)
		wn_sys->close((int)lane->fd1 - 1);
	*lane = (struct wn_lane){ .file = file, .bought = lane->bought };
	wn_text_add(&t, "/proc/thread-self/fd/");
	wn_text_number(&t, f->fd1 - 1);
	fd = wn_open_quietly(path);
	if (fd < 0)
		return false;
	if (wn_sys->fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL) < 0) {
		wn_sys->close(fd);
		return false;
	}
	wn_count(k->stats, kernel_calls, 1);
	lane->fd1 = (uint32_t)fd + 1;
	lane->riding = false;
	return true;
}

static void fall_back(const struct wn_kernel *k, struct wn_engine_file *f, const char *why)
{
	f->way = WN_ADVISE;
	f->unit = wn_max(f->chunk, ADVICE_UNIT);
	wn_count(k->stats, ride_falls, 1);
	wn_engine_tell_fall(k, f, why);
}

static uint64_t ask_ride(const struct wn_kernel *k, struct wn_engine_file *f, int stream,
			 const struct wn_stream *s, const struct wn_order *o)
{
	struct wn_cover_file id = { .file = s->file, .serial = s->serial };
	struct wn_lane *lane = &k->engine->lane[stream];
	struct wn_order ride = *o;
	uint64_t near = s->pos + 2 * s->piece;
	uint64_t at;

	if (!open_lane(k, s->file, f, lane)) {
		fall_back(k, f, "the file cannot be opened twice");
		return o->from;
	}
	/* Where the reader is, its own faults start reads that look like ours. */
	if (lane->edge < near || (o->from != lane->edge && o->from != lane->advised))
		lane->riding = false;
	if (!lane->riding)
		ride.from = wn_advise(k, f, o->from, wn_ride_from(f, o, near));
	at = wn_ride(k, f, lane, id, &ride);
	if (lane->refused)
		fall_back(k, f, "the file system refuses it");
	return at;
}

uint64_t wn_engine_ask(const struct wn_kernel *k, int stream, const struct wn_stream *s,
		       const struct wn_order *o)
{
	struct wn_engine_file *f = &k->engine->file[s->file];
	struct wn_cover_file c = { .file = s->file, .serial = s->serial };
	struct wn_order rest = *o;
	uint64_t known = wn_cover_asked(k->cover, c, o->from, o->to);
	uint64_t before = wn_asked_ahead(k->stats), at, end;

	wn_count(k->stats, orders, 1);
	if (k->recorded)
		k->recorded(k->ctx, s->file, o);
	if (k->record_only)
		return o->to;
	wn_count(k->stats, duplicate_bytes, known);
	rest.from += known;
	at = rest.from;
	if (f->way == WN_RIDE && o->unit >= f->unit && at < rest.to)
		at = ask_ride(k, f, stream, s, &rest);
	/* What a ride cannot ask for exactly, and everything where there is none. */
	end = f->way == WN_RIDE && o->unit >= f->unit ? rest.exact : rest.to;
	if (f->way != WN_ADDRESS && at < end)
		at = wn_advise(k, f, at, end);
	if (at < end)
		at = wn_advise_address(k, s->file, f->chunk, at, end);
	k->engine->lane[stream].advised = at;
	k->engine->lane[stream].bought += wn_asked_ahead(k->stats) - before;
	wn_engine_flush(k);
	wn_cover_mark(k->cover, c, rest.from, at);
	/* A failure is not tried again: it counts as asked for. */
	return wn_max(at, end);
}

static void watch_arrived(void *ctx, uint64_t tag, int result)
{
	const struct wn_kernel *k = ctx;
	struct wn_lane *lane = &k->engine->lane[tag % WN_LANES];

	/* The stream may have ended meanwhile, and another one begun in its place. */
	if (lane->watched != tag / WN_LANES)
		return;
	if (result > 0)
		lane->arrived = lane->watched;
	lane->watched = 0;
}

void wn_engine_flush(const struct wn_kernel *k)
{
	wn_uring_submit(&k->engine->uring);
	wn_uring_reap(&k->engine->uring, watch_arrived, (void *)(uintptr_t)k);
}

/* Is the last byte before `end` there?  Asks the ring, and may hear of it later. */
static bool is_there(const struct wn_kernel *k, const struct wn_engine_file *f, int stream,
		     uint64_t end)
{
	struct wn_lane *lane = &k->engine->lane[stream];
	struct iovec iov = { .iov_base = k->last_byte, .iov_len = 1 };
	int fd = (int)f->fd1 - 1;

	if (!f->uring) {
		wn_count(k->stats, kernel_calls, 1);
		return wn_sys->preadv2(fd, &iov, (off_t)end - 1, RWF_NOWAIT) == 1;
	}
	if (lane->arrived < end && !lane->watched &&
	    wn_uring_watch(&k->engine->uring, fd, end - 1, k->last_byte,
			   end * WN_LANES + (uint64_t)stream)) {
		wn_count(k->stats, kernel_calls, 1);
		lane->watched = end;
		wn_engine_flush(k);
	}
	return lane->arrived >= end;
}

uint64_t wn_engine_landed(const struct wn_kernel *k, int stream, const struct wn_stream *s)
{
	const struct wn_engine_file *f = &k->engine->file[s->file];
	const struct wn_lane *lane = &k->engine->lane[stream];
	uint64_t landed = wn_max(s->landed, s->pos);
	uint64_t known = wn_min(s->asked, f->size);

	if (!f->fd1 || k->record_only)
		return landed;
	/* The last windows may have their mark, and a look at that folio would use it up. */
	if (lane->riding)
		known = wn_above(lane->edge, f->unit);
	while (landed < known) {
		uint64_t left = (known - landed) % f->unit;
		uint64_t next = landed + (left ? left : f->unit);

		if (!is_there(k, f, stream, next))
			break;
		landed = next;
	}
	return landed;
}

void wn_engine_judge(const struct wn_kernel *k, int stream, uint16_t file, bool faulted)
{
	struct wn_engine_file *f = &k->engine->file[file];

	if (!faulted) {
		f->strikes = (uint8_t)wn_above(f->strikes, 1);
		return;
	}
	/* We are out of step with the kernel: begin anew, ahead of where the reader is. */
	k->engine->lane[stream].riding = false;
	f->strikes += STRIKE;
	if (f->strikes >= STRIKES && f->way == WN_RIDE)
		fall_back(k, f, "pages asked for are missing too often");
	f->strikes = (uint8_t)wn_min(f->strikes, STRIKES);
}

void wn_engine_unused(const struct wn_kernel *k, int stream, uint64_t ahead)
{
	wn_count(k->stats, unused_bytes, wn_min(ahead, k->engine->lane[stream].bought));
}

void wn_engine_close_lane(const struct wn_kernel *k, int stream)
{
	struct wn_lane *lane = &k->engine->lane[stream];

	if (lane->fd1)
		wn_sys->close((int)lane->fd1 - 1);
	*lane = (struct wn_lane){ 0 };
}

void wn_engine_close_files(const struct wn_kernel *k, bool all)
{
	for (int i = 0; i < WN_LANES; i++) {
		if (all || !is_wanted(&k->track->files.slot[k->engine->lane[i].file]))
			wn_engine_close_lane(k, i);
	}
	for (int i = 0; i < WN_FILES; i++) {
		struct wn_engine_file *f = &k->engine->file[i];

		if (all || !is_wanted(&k->track->files.slot[i]))
			close_file(k->engine, f);
	}
	if (all)
		wn_uring_close(&k->engine->uring);
}

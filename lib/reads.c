/* SPDX-License-Identifier: MIT */
#include "reads.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include "base/arena.h"
#include "base/fds.h"
#include "base/sys.h"
#include "due.h"
#include "exact.h"
#include "filesystems.h"
#include "helper.h"
#include "lease.h"
#include "runtime.h"
#include "walk.h"
#include "why.h"

#define KIB 1024u
#define MIB (1024u * KIB)
/* The first bytes of every descriptor, which most programs read no further than. */
#define FIRST (128u * KIB)
/* What has to be read of a warm file until a look, of half a microsecond, is affordable. */
#define WARM MIB
/* And at most, where eight times as much was warm: calls of 4 KiB show a look per MiB. */
#define WARM_MAX (8u * MIB)
/* And of a cold one that is read upward, as long as nothing is asked for. */
#define COLD_MAX (64u * KIB)
/* A file of which so much is there, further than the kernel reads ahead, is not cold. */
#define PROOF (16u * MIB)
/* What is no regular file, and what is nothing to be read ahead. */
#define IGNORED (63u * MIB)

/*
 * What is known of descriptors.  Not in the state, which only files that are read cold bring
 * into being, and which a forked child finds empty.
 */
static struct wn_fds random_fds; /* advised POSIX_FADV_RANDOM */
static struct wn_fds spared_fds; /* opening their files once more would be noticed */

struct look {
	struct wn_state *st;
	struct wn_file *file;
	struct wn_read_file *read;
	struct wn_cover_file id;
	struct stat stat;
	uint64_t from, to;
	int fd;
	uint32_t thread;
	bool led;  /* it has been asked for, and by us */
	bool cold; /* the thread had to read from a device */
	bool random; /* the program asked for no guesses; it is to prove that they are right */
	bool asks;   /* it is so long that the thread asks for it itself */
};

/* May it be read ahead of, as far as is known of the descriptor? */
static bool wants(int fd)
{
	return !wn_fds_has(&spared_fds, fd) && !wn_reads_random(fd);
}

bool wn_reads_random(int fd)
{
	return wn_fds_has(&random_fds, fd) &&
	       wn_load(&wn_rt.options.value[WN_OPT_RANDOM]) != WN_RANDOM_PROVE;
}

void wn_reads_advised(int fd, int advice)
{
	if (advice == POSIX_FADV_RANDOM)
		wn_fds_put(&random_fds, fd, true);
	else if (advice == POSIX_FADV_NORMAL || advice == POSIX_FADV_SEQUENTIAL)
		wn_fds_put(&random_fds, fd, false);
}

/* Did the thread have to read since its last look?  Unknown at the first. */
enum { COLD_NO, COLD_YES, COLD_UNKNOWN };

/* What comes from a server is not counted: that the thread waited is all that shows. */
static bool is_remote(const struct look *l)
{
	return !major(l->stat.st_dev) && wn_filesystem_way(l->fd) == WN_SLOW;
}

static int had_to_read(struct wn_reader *me, const struct look *l)
{
	struct wn_reader before = *me;
	struct wn_thread_reads r;

	wn_sys->thread_reads(&r);
	me->blocks = (uint32_t)r.blocks + 1;
	me->waits = (uint16_t)r.waits;
	if (me->blocks == before.blocks && (me->waits == before.waits || !is_remote(l)))
		return COLD_NO;
	me->warm = 0;
	/* In a forked child it begins anew. */
	return before.blocks && (int32_t)(me->blocks - before.blocks) >= 0 ? COLD_YES :
									     COLD_UNKNOWN;
}

/* An eighth of what was warm until now may be read before it is seen that the rest is not. */
static uint64_t warm_grant(struct wn_reader *me)
{
	uint64_t grant = wn_min(wn_max(me->warm / 8, 1) * WARM, WARM_MAX);

	me->warm = (uint16_t)wn_min(me->warm + grant / MIB, 1u << 15);
	return grant;
}

static bool is_leased(const struct look *l)
{
	return wn_load(&l->read->leased) && wn_load(&l->read->serial) == l->id.serial;
}

static void why(const struct look *l, enum wn_reason reason)
{
	wn_why_fd(&wn_rt.options, reason, l->fd);
}

/* Can no file be read ahead of now? */
static bool is_hopeless(const struct wn_state *st)
{
	bool tight = wn_load(&st->tight), expected = wn_helper_expected(st);

	if (tight)
		wn_why_process(&wn_rt.options, WN_WHY_NO_MEMORY, 0);
	if (!expected)
		wn_why_process(&wn_rt.options, WN_WHY_NO_HELPER, 0);
	return tight || !expected;
}

/* A reference that lasts until the file is quiet, or a descriptor of it is closed. */
static bool lease(struct look *l)
{
	uint16_t slot = l->id.file;

	if (slot != WN_NO_FILE && is_leased(l))
		return true;
	if (wn_sys->fcntl_getfl(l->fd) & O_DIRECT) {
		why(l, WN_WHY_DIRECT);
		return false;
	}
	/* To open the file would break it, and a signal may come of that. */
	if (wn_sys->has_lease(l->fd)) {
		wn_fds_put(&spared_fds, l->fd, true);
		why(l, WN_WHY_LEASED);
		return false;
	}
	slot = wn_lease_take(l->st, &l->stat, l->fd);
	if (slot == WN_NO_FILE) {
		why(l, WN_WHY_NO_ROOM);
		return false;
	}
	l->id.file = slot;
	l->file = &wn_rt.track->files.slot[slot];
	l->id.serial = wn_load(&l->file->serial);
	l->read = &l->st->reads.file[slot];
	return true;
}

static void find(struct look *l)
{
	l->id.file = wn_file_find(&wn_rt.track->files, &l->stat, &l->id.serial);
	if (l->id.file == WN_NO_FILE)
		return;
	l->file = &wn_rt.track->files.slot[l->id.file];
	l->read = &l->st->reads.file[l->id.file];
}

static bool is_asked(const struct look *l)
{
	wn_tick(l->st);
	return wn_cover_asked(&l->st->cover, l->id, l->from, l->from + 1);
}

static void tell(struct look *l, struct wn_access *a, const struct wn_mark *m)
{
	uint64_t left = wn_above((uint64_t)l->stat.st_size, l->to), progress;
	struct wn_state *st = l->st;

	a->thread = l->thread;
	a->file = l->id.file;
	a->kind = WN_ACCESS_READ;
	a->flags |= (l->random ? WN_ACCESS_EXACT : 0) | (l->asks ? WN_ACCESS_LONG : 0);
	wn_ring_push(&st->ring, a);
	wn_count(&st->stats, reads_told, 1);
	progress = wn_add(&st->progress, a->length) + a->length;
	/* What others have read belongs to the picture, but is no reason to wake. */
	if (l->led || wn_load(&l->read->crowd) ? progress >= wn_load(&st->wake_at) :
						 l->cold && wn_due(st, l->file, m, a, left))
		wn_helper_kick(st);
}

/*
 * How much may be read before the next look: nothing while it is cold and not led, an
 * eighth of the run once it is led, and more and more where nothing has to be read.
 */
static uint64_t grant_for(const struct look *l, const struct wn_mark *m, uint64_t run, bool up)
{
	uint64_t grant;

	if (l->led)
		return wn_min(run / 8, WARM);
	if (l->cold) {
		grant = up ? wn_min(run / 16, COLD_MAX) : 0;
		return grant > l->to - l->from ? grant : 0;
	}
	return wn_min((uint64_t)FIRST << wn_min(wn_load(&m->warm), 8), WARM);
}

/* A read of a file that has been cold: where does it belong? */
static uint64_t follow(struct look *l)
{
	uint64_t run = 0, grant;
	struct wn_access a;
	struct wn_mark *m;
	bool told;

	l->thread = (uint32_t)wn_sys->gettid();
	m = wn_marks_find(&l->read->marks, l->thread, l->from, l->to, &a, &told);
	/* Where gaps are left for good, every single read shows the step. */
	if (told && a.flags != WN_ACCESS_APART && !wn_load(&l->read->gaps))
		run = wn_load(&m->run) + a.length;
	if (!run || !wn_load(&m->run))
		wn_store(&m->since, wn_load(&l->st->cover.now));
	wn_store(&m->run, run);
	grant = grant_for(l, m, run, a.flags == WN_ACCESS_UP);
	if (a.flags == WN_ACCESS_UP && wn_load(&l->file->wide) && !l->random) {
		grant = WARM;
		why(l, WN_WHY_WIDE);
	} else if (told)
		tell(l, &a, m);
	wn_store(&m->warm, l->cold || l->led ? 0 : wn_load(&m->warm) + 1);
	wn_store(&m->from, l->from);
	wn_store(&m->to, l->to);
	wn_store(&m->granted, grant);
	return grant;
}

static uint64_t look(struct wn_reader *me, int fd, int64_t at, size_t n, bool ahead)
{
	struct look l = { .fd = fd };
	uint64_t size, chunk;
	bool asked = false, leased = false;
	int cold;

	if (wn_sys->fstat(fd, &l.stat) < 0)
		return 0;
	size = (uint64_t)l.stat.st_size;
	if (!S_ISREG(l.stat.st_mode) || !wants(fd) ||
	    size < wn_load(&wn_rt.options.value[WN_OPT_MIN_MAP])) {
		why(&l, wn_fds_has(&spared_fds, fd) ? WN_WHY_LEASED :
			wn_reads_random(fd)	    ? WN_WHY_RANDOM :
						      WN_WHY_SMALL);
		return IGNORED;
	}
	l.random = wn_fds_has(&random_fds, fd);
	cold = had_to_read(me, &l);
	if (at == WN_AT_POSITION)
		at = wn_sys->position(fd);
	else if (at == WN_BEHIND_POSITION)
		at = wn_sys->position(fd) - (int64_t)n;
	if (at < 0 || (uint64_t)at >= size)
		return WARM;
	l.from = (uint64_t)at;
	l.to = l.from + wn_min(n, size - l.from);
	l.st = wn_awake();
	l.id.file = WN_NO_FILE;
	if (l.st)
		find(&l);
	if (l.id.file != WN_NO_FILE) {
		asked = is_asked(&l);
		leased = is_leased(&l);
	}
	l.led = asked && leased;
	l.cold = !asked &&
		 (cold == COLD_YES || (cold == COLD_UNKNOWN && l.to - l.from >= FIRST &&
				       wn_exact_is_cold(fd, l.from, l.to)));
	/* It is warm, or the program itself has asked for it. */
	if (!leased && !l.cold) {
		if (cold == COLD_UNKNOWN)
			return FIRST;
		why(&l, WN_WHY_CACHED);
		return warm_grant(me);
	}
	/* What the thread had to read may have been another file's, or its own program. */
	if (!leased && wn_exact_is_warm(fd, l.from, wn_min(l.from + PROOF, size))) {
		why(&l, WN_WHY_CACHED);
		return WARM;
	}
	if (wn_wake_up(&l.st) < 0)
		return WARM;
	wn_count(&l.st->stats, reads_cold, l.cold || l.led);
	if (wn_mode() != WN_MODE_ON || is_hopeless(l.st) || !lease(&l) ||
	    wn_load(&l.file->useless))
		return WARM;
	if (l.cold && ahead && !l.random && l.to - l.from >= FIRST)
		wn_exact_ask(l.st, l.id, &l.stat, fd, l.from, l.to);
	chunk = wn_load(&l.file->chunk);
	l.asks = ahead && !l.random && chunk && l.to - l.from > chunk;
	return follow(&l);
}

static bool wanted(void)
{
	return !wn_load(&wn_rt.dormant) && wn_mode() != WN_MODE_OFF &&
	       wn_load(&wn_rt.options.value[WN_OPT_READS]) != WN_READS_OFF;
}

/*
 * Descriptors that share a place share what was granted to it: of many that are read by
 * turns, the one that uses it up is looked at.
 */
static bool take_over(union wn_grant *g, int fd, uint64_t cost)
{
	uint64_t left = g->fd1 ? wn_min(g->left, FIRST / KIB) : FIRST / KIB;

	if (g->fd1 == fd + 1)
		return false;
	g->fd1 = (uint16_t)(fd + 1);
	g->left = (uint16_t)wn_above(left, cost);
	return cost <= left;
}

void wn_reads_look(struct wn_reader *me, int fd, int64_t at, size_t n, bool ahead)
{
	union wn_grant *g = &me->grant[(unsigned)fd % WN_GRANTS];
	uint64_t cost = (n >> 10) + 1;

	if (fd < 0 || fd >= UINT16_MAX)
		return;
	if (g->fd1 != fd + 1)
		me->warm = 0;
	if (take_over(g, fd, cost))
		return;
	g->left = (uint16_t)((wanted() ? look(me, fd, at, n, ahead) : IGNORED) / KIB);
}

/* In the child of a vfork() it is a copy: its parent reads on. */
static bool is_ours(const struct wn_state *st)
{
	return !st->pid || st->pid == (uint32_t)wn_sys->getpid();
}

bool wn_reads_closing(struct wn_reader *me, int fd)
{
	union wn_grant *g = &me->grant[(unsigned)fd % WN_GRANTS];
	struct wn_state *st = wn_awake();
	uint16_t slot;

	if (fd < 0)
		return false;
	if (g->fd1 == (unsigned)fd + 1)
		g->both = 0;
	slot = st ? wn_load(&st->reads.by_fd[fd % WN_READ_FDS]) : 0;
	if (!slot && !wn_fds_has(&random_fds, fd) && !wn_fds_has(&spared_fds, fd))
		return false;
	if (st && !is_ours(st))
		return false;
	wn_fds_put(&random_fds, fd, false);
	wn_fds_put(&spared_fds, fd, false);
	if (!slot)
		return false;
	wn_store(&st->reads.by_fd[fd % WN_READ_FDS], 0);
	return wn_lease_drop(st, (uint16_t)(slot - 1));
}

void wn_reads_closed(void)
{
	struct wn_state *st = wn_awake();

	if (st)
		wn_released(st);
}

void wn_reads_spare(int fd, bool spare)
{
	struct wn_state *st = wn_awake();
	struct stat file;
	uint32_t serial;
	uint16_t slot;

	wn_fds_put(&spared_fds, fd, spare);
	if (!st || wn_sys->fstat(fd, &file) < 0 || !is_ours(st))
		return;
	slot = wn_file_find(&wn_rt.track->files, &file, &serial);
	if (slot == WN_NO_FILE)
		return;
	wn_store(&wn_rt.track->files.slot[slot].spared, spare);
	wn_lease_drop(st, slot);
	wn_released(st);
}

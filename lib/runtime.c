/* SPDX-License-Identifier: MIT */
#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "base/arch.h"
#include "base/file_io.h"
#include "base/sys.h"
#include "base/text.h"
#include "helper.h"
#include "log.h"
#include "repeat.h"
#include "verdict.h"
#include "why.h"

/* Below the soft limit of descriptors that nearly everybody has, 1024. */
#define KEPT_FD 1000
/* The helper's frames are small; its stack holds a few kilobytes of text at most. */
#define HELPER_STACK (48u * 1024)
#define WAKER_STACK (8u * 1024)

struct wn_runtime wn_rt = {
	.copy_min = &wn_rt.no_gate,
	.plain_reads = &wn_rt.no_gate,
	.copy = wn_move,
};

static void complain(const char *name, const char *value, const char *allowed)
{
	char buf[512];
	struct wn_text t = wn_text_in(buf, sizeof(buf));

	wn_text_add(&t, "willneed: ");
	wn_text_add(&t, name);
	wn_text_add(&t, "=");
	wn_text_add_short(&t, value);
	wn_text_add(&t, ": allowed is ");
	wn_text_add(&t, allowed);
	wn_text_add(&t, "; the default is used\n");
	wn_write_quietly(2, buf, t.used);
}

static void tell_unknown(const char *entry)
{
	struct wn_line l;

	if (!wn_line_begin(&l, &wn_rt.options))
		return;
	wn_text_add(&l.text, "there is no such setting: ");
	wn_text_add_short(&l.text, entry);
	wn_line_end(&l);
}

/* Is this program one of those that the user wants helped?  If not, *why. */
static bool chosen(const struct wn_options *o, enum wn_reason *why)
{
	const char *only = wn_option_text(o, WN_OPT_ONLY);
	const char *skip = wn_option_text(o, WN_OPT_SKIP);
	char comm[17] = "";

	if (!only && !skip)
		return true;
	wn_raw(SYS_prctl, PR_GET_NAME, comm, 0, 0, 0);
	*why = WN_WHY_NOT_NAMED;
	if (only && wn_word_index(only, ',', comm) < 0)
		return false;
	*why = WN_WHY_SKIPPED;
	return !skip || wn_word_index(skip, ',', comm) < 0;
}

/* What the settings leave of the help, which willneed_set() may change later. */
static void tell_settings(const struct wn_options *o)
{
	if (o->value[WN_OPT_MODE] == WN_MODE_OFF)
		wn_why_process(o, WN_WHY_OFF, 0);
	else if (o->value[WN_OPT_MODE] == WN_MODE_OBSERVE)
		wn_why_process(o, WN_WHY_OBSERVE, 0);
	if (o->value[WN_OPT_ENGINE] == WN_ENGINE_NULL)
		wn_why_process(o, WN_WHY_NULLED, 0);
}

/* Where the counters are to go at exit, when many programs have closed it already. */
static int kept_stderr = -1;

static bool is_stderr(const char *path)
{
	return path && wn_equal(path, "stderr");
}

static void keep_stderr(const struct wn_options *o)
{
	/* High, so that the program's own numbers are what they would be. */
	if (is_stderr(wn_option_text(o, WN_OPT_STATS)) || is_stderr(wn_option_text(o, WN_OPT_LOG)))
		kept_stderr = (int)wn_raw(SYS_fcntl, 2, F_DUPFD_CLOEXEC, KEPT_FD);
	if (kept_stderr < 0)
		kept_stderr = 2;
}

/* The very function of this copy, whatever the name is bound to. */
extern const char *own_version(void)
	__attribute__((alias("willneed_version"), visibility("hidden")));

__attribute__((visibility("default"))) const char *willneed_version(void)
{
	return WN_VERSION;
}

/*
 * Runs before main(): reads the environment that the kernel handed over, and returns.
 * (The loader passes argc, argv and envp to every constructor.)
 */
__attribute__((constructor)) static void born(int argc, char **argv, char **env)
{
	const void *bound = (const void *)willneed_version;
	enum wn_reason why;

	(void)argc;
	(void)argv;
	/* Compilers may believe to know what the loader has bound the name to. */
	__asm__("" : "+r"(bound));
	/* The preload library comes first with the same names: its engine does the work. */
	if (bound != (const void *)own_version) {
		wn_store(&wn_rt.shadowed, 1);
		wn_store(&wn_rt.dormant, 1);
		return;
	}
	if (getauxval(AT_SECURE)) {
		/* Privileged: the environment is somebody else's. */
		wn_store(&wn_rt.dormant, 1);
		return;
	}
	wn_options_defaults(&wn_rt.options);
	wn_options_environment(&wn_rt.options, env, complain);
	if (!chosen(&wn_rt.options, &why)) {
		wn_store(&wn_rt.dormant, 1);
		wn_why_process(&wn_rt.options, why, 0);
	}
	tell_settings(&wn_rt.options);
	if (wn_why_asked(&wn_rt.options))
		wn_options_unknown(env, tell_unknown);
	keep_stderr(&wn_rt.options);
	wn_set_gate();
}

/* Does nothing unless a setting asked: nothing is drained, freed or waited for. */
__attribute__((destructor)) static void dying(void)
{
	static const struct willneed_stats none;
	const char *path = wn_option_text(&wn_rt.options, WN_OPT_STATS);
	struct wn_state *st = wn_load_acquire(&wn_rt.state);
	int fd;

	if (kept_stderr >= 0)
		wn_log_stderr(kept_stderr);
	wn_verdict(&wn_rt.options, st ? &st->stats : NULL);
	if (!path)
		return;
	fd = is_stderr(path) ? kept_stderr : wn_log_open(path);
	if (fd < 0) {
		wn_log(&wn_rt.options, "WILLNEED_STATS cannot be written to, errno ", "",
		       (uint64_t)-fd);
		return;
	}
	wn_repeat_settle();
	wn_stats_print(st ? &st->stats : &none, wn_rt.options.value[WN_OPT_STATS_PID],
		       fd);
	wn_sys->close(fd);
}

/* Two threads may come here at once: the loser gives its memory back. */
static struct wn_state *make_state(struct wn_runtime *rt)
{
	struct wn_arena arena;
	struct wn_track *none = NULL;
	struct wn_state *st;

	if (wn_arena_map(&arena, sizeof(struct wn_track), sizeof(struct wn_state),
			 HELPER_STACK + WAKER_STACK) < 0)
		return NULL;
	st = arena.wiped;
	/*
	 * The helper is for this process.  A forked child finds 0 here and takes it; the child
	 * of a vfork() finds another's.
	 */
	st->pid = (uint32_t)wn_sys->getpid();
	if (__atomic_compare_exchange_n(&rt->track, &none, arena.kept, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE)) {
		rt->arena = arena;
		wn_store_release(&rt->state, st);
		return st;
	}
	wn_arena_unmap(&arena);
	return wn_load_acquire(&rt->state);
}

int wn_wake_up(struct wn_state **state)
{
	struct wn_runtime *rt = &wn_rt;
	struct wn_state *st = wn_load_acquire(&rt->state);

	if (wn_load(&rt->dormant) || wn_mode() == WN_MODE_OFF)
		return -ECANCELED;
	if (!st) {
		st = make_state(rt);
		if (!st)
			return -ENOMEM;
	}
	*state = st;
	return 0;
}

void wn_attach(size_t *copy_min, size_t *plain_reads,
	       void *(*copy)(void *dst, const void *src, size_t n))
{
	wn_rt.copy_min = copy_min;
	wn_rt.plain_reads = plain_reads;
	wn_rt.copy = copy;
	wn_set_gate();
}

void wn_set_gate(void)
{
	const struct wn_track *t = wn_awake() ? wn_rt.track : NULL;
	bool open = t && wn_load(&t->count) && wn_mode() != WN_MODE_OFF;

	wn_store(wn_rt.copy_min,
		 open ? wn_load(&wn_rt.options.value[WN_OPT_MIN_COPY]) : SIZE_MAX);
	wn_store(wn_rt.plain_reads,
		 wn_load(&wn_rt.options.value[WN_OPT_DROP_BEHIND]) != WN_DROP_STREAM);
}

bool wn_may_ask(void)
{
	return wn_mode() == WN_MODE_ON &&
	       wn_rt.options.value[WN_OPT_ENGINE] != WN_ENGINE_NULL;
}

void wn_sleep_for_good(void)
{
	if (!wn_load(&wn_rt.dormant))
		wn_why_process(&wn_rt.options, WN_WHY_SANDBOX, 0);
	wn_store(&wn_rt.dormant, 1);
	/* Never allowed again. */
	wn_helper_stop();
	wn_set_gate();
}

char *wn_waker_stack(void)
{
	return wn_rt.arena.stack_top - HELPER_STACK;
}

struct wn_kernel wn_kernel_of(struct wn_state *st)
{
	return (struct wn_kernel){
		.engine = &st->engine,
		.track = wn_rt.track,
		.cover = &st->cover,
		.stats = &st->stats,
		.options = &wn_rt.options,
		.last_byte = wn_rt.arena.last_byte,
		.record_only = wn_rt.options.value[WN_OPT_ENGINE] == WN_ENGINE_NULL,
	};
}

void wn_tick(struct wn_state *st)
{
	/* About a millisecond: less than the cover's tick matters to nobody. */
	uint32_t now = (uint32_t)(wn_cycles() >> 20);

	if (wn_load(&st->ticked) == now)
		return;
	wn_store(&st->ticked, now);
	wn_cover_tick(&st->cover, wn_sys->now_ns());
}

void wn_released(struct wn_state *st)
{
	uint32_t number = wn_add(&st->released, 1) + 1, closed;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	/* The helper has no file open, as while it only watches. */
	if (!wn_load(&st->engine.held))
		return;
	for (int tries = 0; tries < 40 && wn_load(&st->helper_tid); tries++) {
		closed = wn_load_acquire(&st->closed);
		if ((int32_t)(closed - number) >= 0)
			return;
		wn_helper_wake(st);
		wn_sys->futex_wait(&st->closed, closed, 50000);
	}
}

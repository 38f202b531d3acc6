/* SPDX-License-Identifier: MIT */
/*
 * options.h - the settings, made from the one table in options.def.
 * Calls base only.  Read with a plain load from any thread: a setting that may change
 * while the program runs is a single word; texts are only set at the start.
 */
#ifndef WN_OPTIONS_H
#define WN_OPTIONS_H

#include <stdint.h>

enum wn_option {
#define WN_OPTION(id, name, env, type, dflt, allowed, when, help) WN_OPT_##id,
#include "options.def"
#undef WN_OPTION
	WN_OPT_COUNT
};

/* The words of the CHOICE settings, in the order of options.def. */
enum wn_mode { WN_MODE_OFF, WN_MODE_OBSERVE, WN_MODE_ON };
enum wn_engine_choice {
	WN_ENGINE_AUTO,
	WN_ENGINE_HELPER,
	WN_ENGINE_INLINE,
	WN_ENGINE_NULL,
};
enum wn_io_choice { WN_IO_AUTO, WN_IO_SYSCALL, WN_IO_URING };
enum wn_random_choice { WN_RANDOM_OBEY, WN_RANDOM_PROVE };
enum wn_whole_choice { WN_WHOLE_OFF, WN_WHOLE_AUTO };
enum wn_reads_choice { WN_READS_OFF, WN_READS_ON };
enum wn_watch_choice {
	WN_WATCH_AUTO,
	WN_WATCH_PERF,
	WN_WATCH_SCAN,
	WN_WATCH_PAGEMAP,
	WN_WATCH_OFF,
};
enum wn_way_choice { WN_WAY_AUTO, WN_WAY_RIDE, WN_WAY_ADVISE, WN_WAY_ADDRESS };
enum wn_advice_choice { WN_ADVICE_PASS, WN_ADVICE_DEDUP, WN_ADVICE_COMPLETE };
enum wn_drop_choice { WN_DROP_OFF, WN_DROP_DONTCACHE, WN_DROP_STREAM };

/* The settings of type TEXT come last in options.def; options.c checks that. */
enum {
	WN_OPTION_FIRST_TEXT = WN_OPT_STATS,
	WN_OPTION_TEXTS = WN_OPT_COUNT - WN_OPTION_FIRST_TEXT,
	WN_OPTION_TEXT_MAX = 256,
};

struct wn_options {
	uint64_t value[WN_OPT_COUNT]; /* CHOICE: its index; TEXT: is it set */
	char text[WN_OPTION_TEXTS][WN_OPTION_TEXT_MAX];
};

/* The text, or NULL when it is unset or empty. */
static inline const char *wn_option_text(const struct wn_options *o, enum wn_option id)
{
	return o->value[id] ? o->text[id - WN_OPTION_FIRST_TEXT] : 0;
}

void wn_options_defaults(struct wn_options *o);

/* 0, or -EINVAL and o unchanged. */
int wn_options_parse(struct wn_options *o, enum wn_option id, const char *value);

/* By the name in options.def: 0, -ENOENT, -EINVAL, or -EBUSY (only at the start). */
int wn_options_set(struct wn_options *o, const char *name, const char *value);

/*
 * Takes what env says.  A bad value keeps the default and is told to bad(), if given,
 * with the variable's name, its value and what is allowed.
 */
void wn_options_environment(struct wn_options *o, char *const *env,
			    void (*bad)(const char *env_name, const char *value,
					const char *allowed));

/* Every entry of env whose name begins with WILLNEED_ and is no setting: "NAME=value". */
void wn_options_unknown(char *const *env, void (*unknown)(const char *entry));

#endif

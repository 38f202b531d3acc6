/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/text.h"

enum option_type { CHOICE, SIZE, NUMBER, TEXT };
enum option_when { START, ANY };

/* Arrays, not pointers: a table of pointers would have to be relocated at every start. */
static const struct option_row {
	char name[12];
	char env[24];
	char dflt[12];
	char allowed[32];
	unsigned char type;
	unsigned char when;
} rows[WN_OPT_COUNT] = {
#define WN_OPTION(id, name, env, type, dflt, allowed, when, help) \
	[WN_OPT_##id] = { name, env, dflt, allowed, type, when },
#include "options.def"
#undef WN_OPTION
};

#define WN_OPTION(id, name, env, type, dflt, allowed, when, help)                    \
	_Static_assert(((type) == TEXT) == ((int)WN_OPT_##id >= (int)WN_OPTION_FIRST_TEXT), \
		       "texts come last in options.def");
#include "options.def"
#undef WN_OPTION

/* "MIN-MAX", both in the syntax of the value. */
static bool in_range(const char *allowed, uint64_t v)
{
	char low[32];
	struct wn_text t = wn_text_in(low, sizeof(low));
	uint64_t min, max;

	while (*allowed && *allowed != '-') {
		char one[2] = { *allowed++, '\0' };

		wn_text_add(&t, one);
	}
	return *allowed == '-' && wn_size(low, &min) && wn_size(allowed + 1, &max) &&
	       v >= min && v <= max;
}

/* Where output goes: 1 and 0 as other programs take them, and not as names of files. */
static const char *output_of(enum wn_option id, const char *value)
{
	if (id != WN_OPT_STATS && id != WN_OPT_LOG)
		return value;
	return wn_equal(value, "1") ? "stderr" : wn_equal(value, "0") ? "" : value;
}

int wn_options_parse(struct wn_options *o, enum wn_option id, const char *value)
{
	const struct option_row *row = &rows[id];
	uint64_t v = 0;
	int index;

	switch (row->type) {
	case CHOICE:
		index = wn_word_index(row->allowed, '|', value);
		if (index < 0)
			return -EINVAL;
		v = (uint64_t)index;
		break;
	case SIZE:
	case NUMBER:
		if (!wn_size(value, &v) || !in_range(row->allowed, v))
			return -EINVAL;
		break;
	case TEXT:
		value = output_of(id, value);
		if (wn_length(value) >= WN_OPTION_TEXT_MAX)
			return -EINVAL;
		for (size_t i = 0; i <= wn_length(value); i++)
			o->text[id - WN_OPTION_FIRST_TEXT][i] = value[i];
		v = *value != '\0';
		break;
	}
	wn_store(&o->value[id], v);
	return 0;
}

void wn_options_defaults(struct wn_options *o)
{
	for (int id = 0; id < WN_OPT_COUNT; id++)
		wn_options_parse(o, (enum wn_option)id, rows[id].dflt);
}

int wn_options_set(struct wn_options *o, const char *name, const char *value)
{
	for (int id = 0; id < WN_OPT_COUNT; id++) {
		if (!wn_equal(rows[id].name, name))
			continue;
		return rows[id].when == ANY ? wn_options_parse(o, (enum wn_option)id, value) :
					      -EBUSY;
	}
	return -ENOENT;
}

/* The value when entry is "NAME=value", else NULL. */
static const char *value_of(const char *entry, const char *name)
{
	const char *p = wn_after(entry, name);

	return p && *p == '=' ? p + 1 : NULL;
}

void wn_options_environment(struct wn_options *o, char *const *env,
			    void (*bad)(const char *env_name, const char *value,
					const char *allowed))
{
	for (; env && *env; env++) {
		/* Most variables are not ours: one comparison is all they cost. */
		if (!wn_after(*env, "WILLNEED"))
			continue;
		for (int id = 0; id < WN_OPT_COUNT; id++) {
			const char *value = value_of(*env, rows[id].env);

			if (value && wn_options_parse(o, (enum wn_option)id, value) < 0 && bad)
				bad(rows[id].env, value,
				    rows[id].type == TEXT ? "at most 255 characters" :
							    rows[id].allowed);
		}
	}
}

void wn_options_unknown(char *const *env, void (*unknown)(const char *entry))
{
	for (; env && *env; env++) {
		/* This one is for the program willneed alone. */
		bool known = !wn_after(*env, "WILLNEED_") || value_of(*env, "WILLNEED_LIBRARY");

		for (int id = 0; id < WN_OPT_COUNT && !known; id++)
			known = value_of(*env, rows[id].env);
		if (!known)
			unknown(*env);
	}
}

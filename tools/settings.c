/* SPDX-License-Identifier: MIT */
/* Settings as the tool sees them: help, and a check before the environment is set. */
#include "tool.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum setting_type { CHOICE, SIZE, NUMBER, TEXT };

struct setting {
	const char *name, *environment;
	enum setting_type type;
	const char *def, *allowed, *help;
};

#define WN_OPTION(id, name, environment, type, def, allowed, when, help) \
	{ name, environment, type, def, allowed, help },
static const struct setting settings[] = {
#include "options.def"
};
#undef WN_OPTION

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static void print_wrapped(const char *text)
{
	enum { INDENT = 4, WIDTH = 78 };
	int column = 0;

	while (*text) {
		int length = (int)strcspn(text, " ");

		if (column && column + 1 + length > WIDTH) {
			putchar('\n');
			column = 0;
		}
		column += printf("%*s%.*s", column ? 1 : INDENT, "", length, text);
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

void wn_settings_print(void)
{
	puts("Settings: environment variables, or --set NAME=VALUE.\n"
	     "Sizes are in bytes, or take K, M, G or T.");
	for (size_t i = 0; i < SETTINGS; i++) {
		const struct setting *s = &settings[i];

		printf("\n%s (--set %s=...)\n    %s; default: %s\n", s->environment,
		       s->name, s->allowed, *s->def ? s->def : "unset");
		print_wrapped(s->help);
	}
}

static bool in_range(const struct setting *s, const char *value)
{
	char low[32];
	uint64_t min, max, number;
	const char *dash = strchr(s->allowed, '-');

	if (!dash || (size_t)(dash - s->allowed) >= sizeof(low))
		return false;
	memcpy(low, s->allowed, (size_t)(dash - s->allowed));
	low[dash - s->allowed] = '\0';
	if (s->type == NUMBER && value[strspn(value, "0123456789")])
		return false;
	return wn_size(low, &min) && wn_size(dash + 1, &max) && wn_size(value, &number) &&
	       number >= min && number <= max;
}

static bool value_fits(const struct setting *s, const char *value)
{
	switch (s->type) {
	case CHOICE:
		return wn_word_index(s->allowed, '|', value) >= 0;
	case SIZE:
	case NUMBER:
		return in_range(s, value);
	default:
		return true;
	}
}

int wn_settings_apply(const char *assignment)
{
	const char *equal = strchr(assignment, '=');
	size_t length = equal ? (size_t)(equal - assignment) : 0;

	if (!equal) {
		wn_say("--set wants NAME=VALUE, not '%s'", assignment);
		return -EINVAL;
	}
	for (size_t i = 0; i < SETTINGS; i++) {
		const struct setting *s = &settings[i];

		if (strlen(s->name) != length || strncmp(s->name, assignment, length))
			continue;
		if (!value_fits(s, equal + 1)) {
			wn_say("%s cannot be '%s': allowed is %s", s->name, equal + 1,
			       s->allowed);
			return -EINVAL;
		}
		return setenv(s->environment, equal + 1, 1) ? -errno : 0;
	}
	wn_say("there is no setting '%.*s' (--help-options lists them)", (int)length,
	       assignment);
	return -EINVAL;
}

/* SPDX-License-Identifier: MIT */
/* Settings as the tool sees them: help, and a check before the environment is set. */
#include "tool.h"
#include "base/text.h"
#include "log.h"
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct setting {
	const char *name, *environment, *type, *def, *allowed, *help;
};

#define WN_OPTION(id, name, environment, type, def, allowed, when, help) \
	[WN_OPT_##id] = { name, environment, #type, def, allowed, help },
static const struct setting settings[WN_OPT_COUNT] = {
#include "options.def"
};
#undef WN_OPTION

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
	     "Numbers may take K, M, G or T; sizes are in bytes.");
	for (int id = 0; id < WN_OPT_COUNT; id++) {
		const struct setting *s = &settings[id];

		printf("\n%s (--set %s=...)\n    %s; default: %s\n", s->environment,
		       s->name, s->allowed, *s->def ? s->def : "unset");
		print_wrapped(s->help);
	}
}

void wn_settings_tell(void)
{
	for (int id = 0; id < WN_OPT_COUNT; id++) {
		const char *value = getenv(settings[id].environment);

		if (value)
			wn_say("%s=%s", settings[id].environment, value);
	}
}

static void say_allowed(const struct setting *s, const char *value)
{
	if (!strcmp(s->type, "TEXT"))
		wn_say("%s cannot be '%s': allowed is at most 255 characters", s->name, value);
	else if (!strcmp(s->type, "SIZE"))
		wn_say("%s cannot be '%s': allowed is %s, in bytes or with K, M, G or T",
		       s->name, value, s->allowed);
	else
		wn_say("%s cannot be '%s': allowed is %s", s->name, value, s->allowed);
}

/* By the library's own parser, so that the two cannot differ. */
static int set(enum wn_option id, const char *value)
{
	const struct setting *s = &settings[id];
	struct wn_options scratch;

	if (wn_options_parse(&scratch, id, value) < 0) {
		say_allowed(s, value);
		return -EINVAL;
	}
	if (setenv(s->environment, value, 1) < 0) {
		wn_say("cannot set %s: %s", s->environment, strerror(errno));
		return -ENOMEM;
	}
	return 0;
}

/* The library will open it in the same way; what it cannot tell then is told now. */
static int try_output(const char *name, const char *file)
{
	int fd = wn_log_open(file);

	if (fd < 0) {
		wn_say("%s cannot be written to '%s': %s", name, file,
		       fd == -ELOOP ? "symbolic links are refused" : strerror(-fd));
		return fd;
	}
	return close(fd);
}

static int set_output(enum wn_option id, const char *file)
{
	char cwd[PATH_MAX], path[2 * PATH_MAX];
	struct wn_options read;
	const char *text;

	/* 1 and 0 are no names of files. */
	wn_options_defaults(&read);
	if (wn_options_parse(&read, id, file) < 0)
		return set(id, file);
	text = wn_option_text(&read, id);
	if (*file && (!text || !strcmp(text, "stderr")))
		return set(id, file);
	/* A relative name would mean another file once the command changes directory. */
	if (*file && *file != '/' && getcwd(cwd, sizeof(cwd)) &&
	    snprintf(path, sizeof(path), "%s/%s", cwd, file) < (int)sizeof(path))
		file = path;
	return try_output(settings[id].name, file) ? -EINVAL : set(id, file);
}

static int set_any(enum wn_option id, const char *value)
{
	int err;

	if (id != WN_OPT_LOG && id != WN_OPT_STATS)
		return set(id, value);
	err = set_output(id, value);
	return err ? err : 1;
}

static bool is_name(const char *name, const char *text, size_t length)
{
	return strlen(name) == length && !strncmp(name, text, length);
}

int wn_settings_log(const char *file)
{
	return set_output(WN_OPT_LOG, file);
}

int wn_settings_apply(const char *assignment)
{
	const char *equal = strchr(assignment, '=');
	size_t length = equal ? (size_t)(equal - assignment) : 0;

	if (!equal) {
		wn_say("--set wants NAME=VALUE, not '%s'", assignment);
		return -EINVAL;
	}
	for (int id = 0; id < WN_OPT_COUNT; id++) {
		const struct setting *s = &settings[id];

		if (is_name(s->name, assignment, length) ||
		    is_name(s->environment, assignment, length))
			return set_any((enum wn_option)id, equal + 1);
	}
	wn_say("there is no setting '%.*s' (--help-options lists them)", (int)length,
	       assignment);
	return -EINVAL;
}

const char *wn_settings_dormant(const char *program)
{
	enum { COMM_MAX = 15 };	/* as much of a name as the kernel keeps */
	const char *slash = strrchr(program, '/'), *only, *skip;
	struct wn_options o;
	char comm[COMM_MAX + 1];

	snprintf(comm, sizeof(comm), "%s", slash ? slash + 1 : program);
	wn_options_defaults(&o);
	wn_options_environment(&o, environ, NULL);
	only = wn_option_text(&o, WN_OPT_ONLY);
	skip = wn_option_text(&o, WN_OPT_SKIP);
	if (o.value[WN_OPT_MODE] == WN_MODE_OFF)
		return "WILLNEED is off";
	if (only && wn_word_index(only, ',', comm) < 0)
		return "WILLNEED_ONLY does not name it";
	if (skip && wn_word_index(skip, ',', comm) >= 0)
		return "WILLNEED_SKIP names it";
	return NULL;
}

static bool wrong; /* what wn_settings_check() has found */

static void say_bad(const char *variable, const char *value, const char *allowed)
{
	wn_say("%s cannot be '%s': allowed is %s", variable, value, allowed);
	wrong = true;
}

static void say_unknown(const char *entry)
{
	const char *like = NULL;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(entry, "="), entry);
	for (int id = 0; id < WN_OPT_COUNT && !like; id++)
		like = wn_is_like(name, settings[id].environment) ? settings[id].environment : NULL;
	if (like)
		wn_say("there is no setting %s: is %s meant?", name, like);
	else
		wn_say("there is no setting %s (--help-options lists them)", name);
	wrong = true;
}

bool wn_settings_check(void)
{
	static const enum wn_option outputs[] = { WN_OPT_STATS, WN_OPT_LOG };
	struct wn_options o;

	wn_options_defaults(&o);
	wn_options_environment(&o, environ, say_bad);
	wn_options_unknown(environ, say_unknown);
	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
		const char *file = wn_option_text(&o, outputs[i]);

		if (file && strcmp(file, "stderr") &&
		    try_output(settings[outputs[i]].environment, file))
			wrong = true;
	}
	return !wrong;
}

/* SPDX-License-Identifier: MIT */
/* Parsing of --NAME VALUE by the table in params.def. */
#include "workload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wl_param {
	const char *name;
	const char *what;	/* the default of a number, the words of a choice */
	const char *help;
	size_t offset;
	bool choice;
};

#define WL_NUMBER(field, name, def, help) \
	{ name, def, help, offsetof(struct wl_params, field), false },
#define WL_CHOICE(field, name, words, help) \
	{ name, words, help, offsetof(struct wl_params, field), true },
static const struct wl_param wl_param_table[] = {
#include "params.def"
};

#define WL_PARAMS (sizeof(wl_param_table) / sizeof(wl_param_table[0]))

static int parse_number(const char *text, uint64_t size, uint64_t *out)
{
	char *end;
	unsigned long long value;
	unsigned shift = 0;

	if (*text == '-') {
		/* Back from the end of the file, or all of it. */
		if (text[1] == '-' || parse_number(text + 1, size, out) < 0)
			return -EINVAL;
		*out = *out < size ? size - *out : 0;
		return 0;
	}
	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return -EINVAL;
	if (!strcmp(end, "%")) {
		/* Whole huge pages: a region that starts in the middle of one is a case
		 * of its own and has to be asked for in bytes. */
		if (value > 100)
			return -EINVAL;
		*out = value == 100 ? size : (size / 100 * value) & ~((1ull << 21) - 1);
		return 0;
	}
	if (*end) {
		static const char suffixes[] = "KMGT";
		const char *suffix = strchr(suffixes, *end);

		if (!suffix || end[1])
			return -EINVAL;
		shift = 10 * (unsigned)(suffix - suffixes + 1);
	}
	if (value > UINT64_MAX >> shift)
		return -EINVAL;
	*out = value << shift;
	return 0;
}

static int parse_choice(const char *words, const char *text, unsigned *out)
{
	size_t length = strlen(text);

	for (unsigned i = 0;; i++) {
		size_t word = strcspn(words, "|");

		if (word == length && !strncmp(words, text, word)) {
			*out = i;
			return 0;
		}
		if (!words[word])
			return -EINVAL;
		words += word + 1;
	}
}

static int param_store(struct wl_params *p, const struct wl_param *param,
		       const char *value, uint64_t size)
{
	void *field = (char *)p + param->offset;

	if (param->choice)
		return parse_choice(param->what, value, field);
	return parse_number(value, size, field);
}

int wl_param_set(struct wl_params *p, const char *name, const char *value, uint64_t size)
{
	for (size_t i = 0; i < WL_PARAMS; i++) {
		if (!strcmp(name, wl_param_table[i].name))
			return param_store(p, &wl_param_table[i], value, size);
	}
	return -ENOENT;
}

void wl_param_defaults(struct wl_params *p, uint64_t size)
{
	memset(p, 0, sizeof(*p));
	for (size_t i = 0; i < WL_PARAMS; i++) {
		if (!wl_param_table[i].choice)
			param_store(p, &wl_param_table[i], wl_param_table[i].what, size);
	}
}

void wl_param_help(void)
{
	for (size_t i = 0; i < WL_PARAMS; i++) {
		const struct wl_param *param = &wl_param_table[i];

		printf("  --%-10s %s (%s%s)\n", param->name, param->help,
		       param->choice ? "" : "default ", param->what);
	}
}

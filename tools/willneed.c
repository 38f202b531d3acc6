/* SPDX-License-Identifier: MIT */
/* The program willneed: finds the verb and leaves everything else to it. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "tool.h"

#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

#define WN_VERB(name, function, help) { name, function, help },
static const struct verb verbs[] = {
#include "verbs.def"
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

const char *argp_program_version = "willneed " PACKAGE_VERSION;

void wn_say(const char *format, ...)
{
	va_list args;

	fputs("willneed: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

int wn_not_run(const char *name, int err)
{
	if (!*name)
		wn_say("the name of the command is empty");
	else
		wn_say("%s: %s", name, strerror(err));
	return err == ENOENT ? WN_EXIT_NOTFOUND : WN_EXIT_NOEXEC;
}

char *wn_verbs_help(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("Verbs (willneed VERB --help tells more):\n", out);
	for (size_t i = 0; i < VERBS; i++)
		fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].help);
	fclose(out);
	return text;
}

bool wn_is_like(const char *a, const char *b)
{
	size_t i = 0, la = strlen(a), lb = strlen(b);

	while (a[i] && a[i] == b[i])
		i++;
	while (la > i && lb > i && a[la - 1] == b[lb - 1]) {
		la--;
		lb--;
	}
	if (la - i <= 1 && lb - i <= 1)
		return true;
	return la - i == 2 && lb - i == 2 && a[i] == b[i + 1] && a[i + 1] == b[i];
}

const char *wn_verb_like(const char *name)
{
	for (size_t i = 0; i < VERBS; i++) {
		if (wn_is_like(name, verbs[i].name))
			return verbs[i].name;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static char plain[] = "willneed";

	argp_err_exit_status = WN_EXIT_USAGE;
	for (size_t i = 0; argc > 1 && i < VERBS; i++) {
		static char name[64];

		if (strcmp(argv[1], verbs[i].name))
			continue;
		/* argp takes the name in its messages from here. */
		snprintf(name, sizeof(name), "willneed %s", verbs[i].name);
		argv[1] = name;
		return verbs[i].run(argc - 1, argv + 1);
	}
	argv[0] = plain;
	return verbs[0].run(argc, argv);
}

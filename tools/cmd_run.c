/* SPDX-License-Identifier: MIT */
/* willneed run: set the environment, become the command. */
#include "tool.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run_args {
	const char *library;
	bool verbose;
	bool marked;		/* by "--": the command is no misspelt verb */
	char **command;
};

enum { KEY_LIBRARY = 0x100, KEY_LOG, KEY_SET, KEY_OFF, KEY_HELP_OPTIONS };

static const struct argp_option run_options[] = {
	{ "stats", 's', NULL, 0, "Print the library's counters on stderr at exit", 0 },
	{ "log", KEY_LOG, "FILE", 0, "Append to FILE (or to stderr) what the library does", 0 },
	{ "set", KEY_SET, "NAME=VALUE", 0, "Change a setting (see --help-options)", 0 },
	{ "off", KEY_OFF, NULL, 0, "Preload the library, but let it do nothing", 0 },
	{ "library", KEY_LIBRARY, "FILE", 0, "The preload library to use", 0 },
	{ "verbose", 'v', NULL, 0, "Tell what is loaded and how it is set, or why nothing is", 0 },
	{ "help-options", KEY_HELP_OPTIONS, NULL, 0, "List the settings", 1 },
	{ 0 },
};

static error_t run_parse(int key, char *arg, struct argp_state *state)
{
	struct run_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->err_stream = NULL;	/* getopt's own line is enough */
		return 0;
	case 's':
		return setenv("WILLNEED_STATS", "stderr", 1) ? errno : 0;
	case 'v':
		args->verbose = true;
		return 0;
	case KEY_LOG:
		if (wn_settings_log(arg) < 0)
			exit(WN_EXIT_USAGE);
		return 0;
	case KEY_SET:
		if (wn_settings_apply(arg) < 0)
			exit(WN_EXIT_USAGE);
		return 0;
	case KEY_OFF:
		return setenv("WILLNEED", "off", 1) ? errno : 0;
	case KEY_LIBRARY:
		args->library = arg;
		return 0;
	case KEY_HELP_OPTIONS:
		wn_settings_print();
		exit(0);
	case ARGP_KEY_ARG:
		/* The command's own options are none of ours. */
		args->marked = state->quoted != 0;
		args->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		wn_say("no command given (try willneed --help)");
		exit(WN_EXIT_USAGE);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static char *run_help(int key, const char *text, void *input)
{
	(void)input;
	if (key == ARGP_KEY_HELP_POST_DOC)
		return wn_verbs_help();
	return (char *)(uintptr_t)text;
}

static const struct argp run_argp = {
	.options = run_options,
	.parser = run_parse,
	.args_doc = "COMMAND [ARGUMENT...]",
	.doc = "Run COMMAND with readahead that works.  The exit status is the "
	       "command's; 127 if it was not found, 126 if it cannot be run, 2 if "
	       "willneed was called wrongly.\vVerbs",
	.help_filter = run_help,
};

/* LD_PRELOAD with the library, or without it where the program cannot have it. */
static int set_preload(const struct run_args *args, const char *library,
		       const char *program)
{
	const char *why = wn_program_refusal(program);
	char *value;

	if (args->verbose && why) {
		wn_say("%s runs without the library: %s", program, why);
	} else if (args->verbose) {
		wn_say("%s runs with %s", program, library);
		wn_settings_tell();
	}
	value = wn_preload_join(why ? NULL : library, getenv("LD_PRELOAD"));
	if (!value)
		return -ENOMEM;
	if (*value ? setenv("LD_PRELOAD", value, 1) : unsetenv("LD_PRELOAD"))
		return -errno;
	free(value);
	return 0;
}

static int exec_failed(const char *name, int err)
{
	wn_say("%s: %s", name, strerror(err));
	return err == ENOENT ? WN_EXIT_NOTFOUND : WN_EXIT_NOEXEC;
}

/* Only where there is no such command: who has one called "bunch" may run it. */
static int not_found(const char *name, bool maybe_verb)
{
	const char *verb = maybe_verb ? wn_verb_like(name) : NULL;

	if (!verb)
		return exec_failed(name, ENOENT);
	wn_say("there is no command '%s': is the verb '%s' meant?", name, verb);
	return WN_EXIT_USAGE;
}

int cmd_run(int argc, char **argv)
{
	char library[PATH_MAX], program[PATH_MAX];
	struct run_args args = { 0 };
	int err;

	if (argp_parse(&run_argp, argc, argv, ARGP_IN_ORDER, NULL, &args))
		return WN_EXIT_USAGE;
	if (wn_preload_find(args.library, library) < 0)
		return WN_EXIT_USAGE;
	err = wn_program_find(args.command[0], program);
	if (err == -ENOENT)
		return not_found(args.command[0],
				 !args.marked && !strcmp(argv[0], "willneed"));
	if (err)
		return exec_failed(args.command[0], -err);
	err = set_preload(&args, library, program);
	if (err) {
		wn_say("cannot set LD_PRELOAD: %s", strerror(-err));
		return WN_EXIT_USAGE;
	}
	/* execvp and not execv of what was found: it also runs scripts without "#!". */
	execvp(args.command[0], args.command);
	return exec_failed(args.command[0], errno);
}

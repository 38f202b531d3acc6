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
	bool curious;		/* the library is to print something */
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
	{ "verbose", 'v', NULL, 0,
	  "Tell what is loaded and how it is set, or why nothing is", 0 },
	{ "help-options", KEY_HELP_OPTIONS, NULL, 0, "List the settings", 1 },
	{ 0 },
};

static error_t set_setting(struct run_args *args, const char *assignment)
{
	int outcome = wn_settings_apply(assignment);

	if (outcome < 0)
		exit(WN_EXIT_USAGE);
	args->curious |= outcome > 0;
	return 0;
}

static error_t run_parse(int key, char *arg, struct argp_state *state)
{
	struct run_args *args = state->input;

	switch (key) {
	case 's':
		return set_setting(args, "stats=stderr");
	case 'v':
		args->verbose = true;
		return 0;
	case KEY_LOG:
		if (wn_settings_log(arg) < 0)
			exit(WN_EXIT_USAGE);
		args->curious = true;
		return 0;
	case KEY_SET:
		return set_setting(args, arg);
	case KEY_OFF:
		return set_setting(args, "mode=off");
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

/* Who wants to see something of the library is told why there will be nothing. */
static void tell(const struct run_args *args, const char *library, const char *program,
		 const char *refusal)
{
	const char *dormant = wn_settings_dormant(program);

	if (!args->verbose && !(args->curious && (refusal || dormant)))
		return;
	if (refusal)
		wn_say("%s runs without the library: %s", program, refusal);
	else if (dormant)
		wn_say("%s runs with %s, which leaves it alone: %s", program, library, dormant);
	else
		wn_say("%s runs with %s", program, library);
	if (args->verbose && !refusal)
		wn_settings_tell();
}

/* The library counts for every process, and prints a line for this one in any case. */
static int name_process(const struct run_args *args)
{
	char pid[24];

	if (!args->curious)
		return 0;
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	return setenv("WILLNEED_STATS_PID", pid, 1) ? -errno : 0;
}

/* LD_PRELOAD with the library, or without it where the program cannot have it. */
static int set_preload(const struct run_args *args, const char *library,
		       const char *program)
{
	const char *why = wn_program_refusal(program);
	char *value;

	tell(args, library, program, why);
	value = wn_preload_join(why ? NULL : library, getenv("LD_PRELOAD"));
	if (!value)
		return -ENOMEM;
	if (*value ? setenv("LD_PRELOAD", value, 1) : unsetenv("LD_PRELOAD"))
		return -errno;
	free(value);
	return 0;
}

/* Only where there is no such command: who has one called "bunch" may run it. */
static int not_found(const char *name, bool maybe_verb)
{
	const char *verb = maybe_verb ? wn_verb_like(name) : NULL;

	if (!verb)
		return wn_not_run(name, ENOENT);
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
	if (!wn_settings_check() || wn_preload_find(args.library, library) < 0)
		return WN_EXIT_USAGE;
	err = wn_program_find(args.command[0], program);
	if (err == -ENOENT)
		return not_found(args.command[0],
				 !args.marked && !strcmp(argv[0], "willneed"));
	if (err)
		return wn_not_run(args.command[0], -err);
	err = set_preload(&args, library, program);
	if (!err)
		err = name_process(&args);
	if (err) {
		wn_say("cannot set the environment: %s", strerror(-err));
		return WN_EXIT_USAGE;
	}
	/* execvp and not execv of what was found: it also runs scripts without "#!". */
	execvp(args.command[0], args.command);
	return wn_not_run(args.command[0], errno);
}

/* SPDX-License-Identifier: MIT */
/* The command line of willneed bench. */
#include "bench.h"
#include "base/text.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEY_JSON = 0x100, KEY_ONLY, KEY_READ_AHEAD, KEY_SIZE, KEY_RUNS, KEY_DIR,
	KEY_QUICK, KEY_KEEP, KEY_VERIFY, KEY_FILE, KEY_LIST, KEY_IGNORE_OUTPUT,
	KEY_LOOP, KEY_MAX_SECTORS, KEY_THROTTLE, KEY_MEMORY,
};

static const struct argp_option bench_options[] = {
	{ "json", KEY_JSON, NULL, 0, "Print an array of JSON objects, not a table", 0 },
	{ "only", KEY_ONLY, "W1[,M1...]", 0, "Only these cases, or groups of cases", 0 },
	{ "list", KEY_LIST, NULL, 0, "List the cases", 0 },
	{ "read-ahead-kb", KEY_READ_AHEAD, "N[,N...]", 0,
	  "Measure at these read-ahead sizes of the device; needs root", 0 },
	{ "loop", KEY_LOOP, "FS", 0,
	  "On a loop device with this file system: ext4, xfs or btrfs; needs root", 0 },
	{ "max-sectors-kb", KEY_MAX_SECTORS, "N", 0,
	  "With this limit of the device for one request; needs root", 0 },
	{ "throttle", KEY_THROTTLE, "READS[:BYTES]", 0,
	  "On a device of so many reads and bytes a second (0: any); needs root", 0 },
	{ "memory", KEY_MEMORY, "BYTES|N%", 0,
	  "In so much memory (%: of the file's size); needs root", 0 },
	{ "size", KEY_SIZE, "BYTES", 0, "Size of the file (default: up to 4G)", 0 },
	{ "runs", KEY_RUNS, "N", 0, "Runs of each (default 5; 3 with --quick)", 0 },
	{ "dir", KEY_DIR, "DIR", 0,
	  "Where to make it (default: TMPDIR, /var/tmp or here, if on a disk)", 0 },
	{ "quick", KEY_QUICK, NULL, 0, "A few cases on a file of up to 1G", 0 },
	{ "keep", KEY_KEEP, NULL, 0, "Leave the scratch file for the next time", 0 },
	{ "verify", KEY_VERIFY, NULL, 0,
	  "Sum up all data that was read, not samples of it; times mean less then", 0 },
	{ "file", KEY_FILE, "FILE", 0,
	  "With COMMAND: a file that it reads, to be made cold; repeatable", 0 },
	{ "ignore-output", KEY_IGNORE_OUTPUT, NULL, 0,
	  "With COMMAND: what it prints may differ from run to run", 0 },
	{ 0 },
};

#define KB_MAX (1u << 20)
#define SIZE_MIN 64u /* MiB */
#define PERCENT_MAX 1000u

/* What would be allowed is a format, and may need a number. */
static _Noreturn void usage(const char *what, const char *value, const char *allowed,
			    unsigned number)
{
	char text[80];

	snprintf(text, sizeof(text), allowed, number);
	wn_say("%s cannot be '%s': allowed is %s", what, value, text);
	exit(WN_EXIT_USAGE);
}

static void parse_read_aheads(struct bench_args *args, char *list)
{
	char *word;

	while ((word = strsep(&list, ","))) {
		const char *end = word;
		uint64_t kb;

		if (args->read_aheads == READ_AHEADS_MAX)
			usage("--read-ahead-kb", word, "a list of %u at most", READ_AHEADS_MAX);
		if (!wn_digits(&end, 10, &kb) || *end || kb > KB_MAX)
			usage("--read-ahead-kb", word, "0 to %u, and more with commas", KB_MAX);
		args->read_ahead[args->read_aheads++] = (long)kb;
	}
}

static unsigned parse_runs(const char *text)
{
	const char *end = text;
	uint64_t runs;

	if (!wn_digits(&end, 10, &runs) || *end || runs < 1 || runs > RUNS_MAX)
		usage("--runs", text, "1 to %u", RUNS_MAX);
	return (unsigned)runs;
}

static long parse_kb(const char *option, const char *text)
{
	const char *end = text;
	uint64_t kb;

	if (!wn_digits(&end, 10, &kb) || *end || !kb || kb > KB_MAX)
		usage(option, text, "1 to %u", KB_MAX);
	return (long)kb;
}

/* "3000", "3000:125M", "0:320M" */
static void parse_throttle(struct bench_args *args, char *text)
{
	char *rate = text, *reads = strsep(&rate, ":");

	args->throttle = true;
	args->place.iops = args->place.rate = 0;
	if (!wn_size(reads, &args->place.iops) ||
	    (rate && !wn_size(rate, &args->place.rate)))
		usage("--throttle", rate ? rate : reads,
		      "READS or READS:BYTES, a second, with K, M or G", 0);
}

static void parse_memory(struct bench_args *args, const char *text)
{
	const char *end = text;
	uint64_t percent;

	args->place.memory = args->place.memory_percent = 0;
	if (wn_digits(&end, 10, &percent) && !strcmp(end, "%") && percent &&
	    percent <= PERCENT_MAX)
		args->place.memory_percent = (unsigned)percent;
	else if (!wn_size(text, &args->place.memory) || !args->place.memory)
		usage("--memory", text, "bytes, with K, M or G, or 1%% to %u%%", PERCENT_MAX);
}

static _Noreturn void list_cases(void)
{
	const char *last = "";

	for (size_t i = 0; i < bench_case_count; i++) {
		const struct bench_case *c = &bench_cases[i];

		if (strcmp(last, c->group))
			printf("%s: %s\n", c->group, bench_group_words(c));
		last = c->group;
		printf("  %-17s %s\n", c->name, c->pattern);
	}
	exit(0);
}

static error_t bench_parse(int key, char *arg, struct argp_state *state)
{
	struct bench_args *args = state->input;

	switch (key) {
	case KEY_JSON:
		args->json = true;
		break;
	case KEY_ONLY:
		args->only = arg;
		break;
	case KEY_LIST:
		list_cases();
	case KEY_READ_AHEAD:
		parse_read_aheads(args, arg);
		break;
	case KEY_SIZE:
		if (!wn_size(arg, &args->size) || args->size < (uint64_t)SIZE_MIN << 20)
			usage("--size", arg, "%uM and more, with K, M, G or T", SIZE_MIN);
		break;
	case KEY_RUNS:
		args->runs = parse_runs(arg);
		break;
	case KEY_LOOP:
		if (!bench_loop_knows(arg))
			usage("--loop", arg, "ext4, xfs or btrfs", 0);
		args->place.fs = arg;
		break;
	case KEY_MAX_SECTORS:
		args->place.max_sectors_kb = parse_kb("--max-sectors-kb", arg);
		break;
	case KEY_THROTTLE:
		parse_throttle(args, arg);
		break;
	case KEY_MEMORY:
		parse_memory(args, arg);
		break;
	case KEY_DIR:
		args->dir = arg;
		break;
	case KEY_QUICK:
		args->quick = true;
		break;
	case KEY_KEEP:
		args->keep = true;
		break;
	case KEY_VERIFY:
		args->verify = true;
		break;
	case KEY_IGNORE_OUTPUT:
		args->ignore_output = true;
		break;
	case KEY_FILE:
		if (args->nfiles == FILES_MAX)
			usage("--file", arg, "%u of them at most", FILES_MAX);
		args->files[args->nfiles++] = arg;
		break;
	case ARGP_KEY_ARG:
		args->command = &state->argv[state->next - 1];
		state->next = state->argc;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp bench_argp = {
	.options = bench_options,
	.parser = bench_parse,
	.args_doc = "[--file FILE... COMMAND [ARGUMENT...]]",
	.doc = "Run access patterns bare, with willneed, and the same bytes in the "
	       "cheapest way (the limit), one after the other, each on a file proven "
	       "cold, and show the medians.  With COMMAND: the same for a program of "
	       "yours, which must print the same every time.\v"
	       "The exit status is 1 if a run failed, returned other data (COMMAND: printed "
	       "something else) than bare, or did not start cold.  A bar that is over does "
	       "not change it.",
};

void bench_args_parse(struct bench_args *args, int argc, char **argv)
{
	if (argp_parse(&bench_argp, argc, argv, ARGP_IN_ORDER, NULL, args))
		exit(WN_EXIT_USAGE);
	if (args->nfiles && !args->command) {
		wn_say("--file is for a command that reads the file: name one behind it");
		exit(WN_EXIT_USAGE);
	}
	if (args->place.fs && args->command) {
		wn_say("--loop is for cases, and a command reads its own files");
		exit(WN_EXIT_USAGE);
	}
	if (!args->runs)
		args->runs = args->quick ? 3 : 5;
}

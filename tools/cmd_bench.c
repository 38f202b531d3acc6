/* SPDX-License-Identifier: MIT */
/* willneed bench: the order in which things are measured. */
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- Preparing ---------------------------------------------------------------- */

/* The workload program: beside this one in a build tree, else installed. */
static int find_workload(char path[PATH_MAX])
{
	static const char *const places[] = { ".", "..", WN_PKGLIBEXECDIR, NULL };

	if (wn_companion_find("willneed-workload", places, path) == 0)
		return 0;
	wn_say("cannot find willneed-workload: build or install it");
	return -ENOENT;
}

static unsigned select_cases(const struct bench_args *args, struct bench_case *user,
			     const struct bench_case **selected)
{
	unsigned n = 0;

	if (args->command) {
		*user = (struct bench_case){
			.name = "command", .group = "command", .copies = COPIES_OWN,
			.limit = args->nfiles == 1 ? "pread --piece 1M" : NULL,
			.command = args->command,
		};
		selected[n++] = user;
		return n;
	}
	for (size_t i = 0; i < bench_case_count; i++) {
		const struct bench_case *c = &bench_cases[i];

		if (args->only && !bench_case_named(c, args->only))
			continue;
		if (args->quick && c->length != LENGTH_QUICK &&
		    !(args->only && strcasestr(args->only, c->name)))
			continue;
		selected[n++] = c;
	}
	return n;
}

/* An exit status, 0 when there is a command that can be measured. */
static int check_command(const struct bench_args *args)
{
	char program[PATH_MAX];
	const char *why;
	int err;

	if (!args->nfiles) {
		wn_say("name the files that the command reads with --file");
		return WN_EXIT_USAGE;
	}
	err = wn_program_find(args->command[0], program);
	if (err)
		return wn_not_run(args->command[0], -err);
	why = wn_program_refusal(program);
	if (!why)
		return 0;
	wn_say("%s cannot be measured: %s", program, why);
	return WN_EXIT_USAGE;
}

static int prepare_command(struct bench *b, const struct bench_args *args)
{
	struct bench_site *s = &b->sites[0];

	for (; s->nfiles < args->nfiles; s->nfiles++) {
		int err = bench_file_take(&s->files[s->nfiles], args->files[s->nfiles]);

		if (err)
			return err;
	}
	bench_device_find(&s->device, s->files[0].path, 0);
	s->ready = true;
	return 0;
}

/* The files in the page cache, and a copy of what they hold. */
static uint64_t memory_needed(const struct bench *b)
{
	uint64_t size = 2 * b->size;

	for (unsigned i = 0; i < b->sites[0].nfiles; i++)
		size += 2 * b->sites[0].files[i].size;
	return size;
}

static int make_stats_file(struct bench *b)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	snprintf(b->stats_path, sizeof(b->stats_path), "%s/willneed-stats.XXXXXX",
		 tmp ? tmp : "/tmp");
	fd = mkstemp(b->stats_path);
	if (fd < 0) {
		wn_say("cannot write to %s: %s", tmp ? tmp : "/tmp", strerror(errno));
		return -EACCES;
	}
	close(fd);
	return 0;
}

/* The file that most cases read is made before the first of them is measured. */
static int prepare_file(struct bench *b, const struct bench_args *args)
{
	struct bench_place plain = { .fs = args->place.fs };
	int err = bench_plan(b, args->dir, args->size, args->quick);
	struct bench_device below;
	char why[256];

	if (err)
		return err;
	bench_device_find(&below, b->dir, 0);
	if (args->read_aheads && !args->place.fs && bench_device_check(&below) < 0)
		return -EACCES;
	if (isatty(STDERR_FILENO))
		fputs("making the file", stderr);
	if (bench_site_get(b, &plain, why, sizeof(why)))
		return 0;
	if (!bench_stop)
		wn_say("%s", why);
	return -ENOSPC;
}

static int prepare(struct bench *b, const struct bench_args *args, bool plain)
{
	int err;

	if (wn_preload_find(NULL, b->library) < 0 || find_workload(b->workload) < 0)
		return -ENOENT;
	err = make_stats_file(b);
	if (!err && args->command)
		err = prepare_command(b, args);
	if (!err && args->command && args->read_aheads)
		err = bench_device_check(&b->sites[0].device);
	if (!err && !args->command)
		err = plain ? prepare_file(b, args) :
			      bench_plan(b, args->dir, args->size, args->quick);
	if (!err && bench_reporting_stop(&b->reporting) == REPORTING_OFF)
		bench_reporting_fetch_memory(&b->reporting, memory_needed(b));
	return err;
}

/* -- Leading ------------------------------------------------------------------ */

static void progress_end(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* Everything at each read-ahead size. */
static int measure_all(struct bench *b, const struct bench_args *args,
		       const struct bench_case *const *selected, unsigned count,
		       struct bench_outcome **outcomes, size_t *done)
{
	unsigned rounds = args->read_aheads ? args->read_aheads : 1;
	int err = 0;

	for (unsigned r = 0; r < rounds && !err && !bench_stop; r++) {
		long kb = args->read_aheads ? args->read_ahead[r] : -1;

		for (unsigned i = 0; i < count && !err && !bench_stop; i++) {
			struct bench_outcome *o =
				bench_measure(b, args, selected[i], kb, r * count + i + 1,
					      rounds * count);

			if (o)
				outcomes[(*done)++] = o;
			else
				err = -ENOMEM;
		}
	}
	progress_end();
	return err;
}

static int report(const struct bench *b, const struct bench_args *args,
		  struct bench_outcome **outcomes, size_t done)
{
	int status = 0;

	if (args->json)
		bench_report_json(outcomes, done);
	else
		bench_report(b, outcomes, done);
	for (size_t i = 0; i < done; i++) {
		if (outcomes[i]->failed[0] && !outcomes[i]->skipped)
			status = WN_EXIT_FAILED;
		free(outcomes[i]);
	}
	return status;
}

/* Does any of them read the one file that stays on the disk? */
static bool any_plain(const struct bench_case *const *selected, unsigned count,
		      const struct bench_args *args)
{
	for (unsigned i = 0; i < count; i++) {
		const struct bench_place *p = &bench_places[selected[i]->place];

		if (!p->files && (!p->fs || args->place.fs))
			return true;
	}
	return false;
}

int cmd_bench(int argc, char **argv)
{
	static struct bench_outcome *outcomes[CASES_MAX * READ_AHEADS_MAX];
	const struct bench_case *selected[CASES_MAX];
	struct bench_args args = { 0 };
	static struct bench b;
	struct bench_case user;
	int status = WN_EXIT_USAGE;
	unsigned count;
	size_t done = 0;

	bench_args_parse(&args, argc, argv);
	if (!wn_settings_check())
		return WN_EXIT_USAGE;
	count = select_cases(&args, &user, selected);
	if (!count) {
		wn_say("no case is named %s (--list shows them)", args.only);
		return WN_EXIT_USAGE;
	}
	if (args.command) {
		int refused = check_command(&args);

		if (refused)
			return refused;
	}
	b.verify = args.verify;
	b.ignore_output = args.ignore_output;
	b.keep = args.keep;
	bench_catch_signals();
	if (prepare(&b, &args, any_plain(selected, count, &args)) == 0) {
		progress_end();
		bench_estimate(&b, &args, selected, count);
		if (measure_all(&b, &args, selected, count, outcomes, &done) == 0 &&
		    !bench_stop)
			status = 0;
	}
	/* Before anything is printed: nobody may be there to read it. */
	for (unsigned i = 0; i < SITES_MAX; i++)
		bench_site_drop(&b.sites[i], args.keep);
	bench_reporting_restore(&b.reporting);
	unlink(b.stats_path);
	if (!status)
		status = report(&b, &args, outcomes, done);
	if (bench_stop)
		wn_say("stopped; everything is as it was");
	return bench_stop ? 128 + bench_stop : status;
}

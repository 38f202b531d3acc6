/* SPDX-License-Identifier: MIT */
/*
 * What the verbs of the program willneed share: how they complain, how they find the
 * preload library, what they know about settings and about programs.
 */
#ifndef WN_TOOL_H
#define WN_TOOL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WN_EXIT_FAILED = 1,	/* the work was done and did not hold */
	WN_EXIT_USAGE = 2,	/* bad option, file or machine: nothing was started */
	WN_EXIT_NOEXEC = 126,	/* as env(1): found, cannot be run */
	WN_EXIT_NOTFOUND = 127,
};

#define WN_VERB(name, function, help) int function(int argc, char **argv);
#include "verbs.def"

/* "willneed: MESSAGE" as one line on stderr. */
void wn_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The lines of --help that name the verbs; to be freed. */
char *wn_verbs_help(void);

/* -- settings.c: lib/options.def ---------------------------------------------- */

/* Print every setting with its values, default and meaning. */
void wn_settings_print(void);

/* "NAME=VALUE" into the environment, checked; says what is wrong.  0 or -EINVAL. */
int wn_settings_apply(const char *assignment);

/* -- preload.c: the library --------------------------------------------------- */

/*
 * The absolute path of the preload library: asked (or NULL), else $WILLNEED_LIBRARY, else
 * the one of the build tree that this program lies in, else the installed one.  Says what
 * is wrong.  0 or a negative errno.
 */
int wn_preload_find(const char *asked, char path[PATH_MAX]);

/*
 * The value of LD_PRELOAD with library in front (or with no library of ours, if NULL) and
 * everything else that was in old (may be NULL) kept; to be freed, NULL without memory.
 */
char *wn_preload_join(const char *library, const char *old);

/* A file that was built or installed with this program; 0 or -ENOENT. */
int wn_companion_find(const char *name, const char *const *places, char path[PATH_MAX]);

/* -- program.c: the program that is to be run --------------------------------- */

/*
 * Where execvp() would find name.  0, -ENOENT, or -EACCES when it only found something
 * that cannot be executed.
 */
int wn_program_find(const char *name, char path[PATH_MAX]);

/*
 * Why the preload library cannot or must not be loaded into this program, in words, or
 * NULL when nothing speaks against it.  Follows "#!" lines.
 */
const char *wn_program_refusal(const char *path);

#endif

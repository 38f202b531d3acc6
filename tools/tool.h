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

/* Says why a command is not run (err: as errno), and gives the exit status for it. */
int wn_not_run(const char *name, int err);

/* The lines of --help that name the verbs; to be freed. */
char *wn_verbs_help(void);

/* One letter too many, too few or wrong, or two that changed places? */
bool wn_is_like(const char *a, const char *b);

/* The verb that name differs from by a slip of the fingers, or NULL. */
const char *wn_verb_like(const char *name);

/* -- settings.c: lib/options.def ---------------------------------------------- */

/* Print every setting with its values, default and meaning. */
void wn_settings_print(void);

/* Say which of them the environment has, and their values. */
void wn_settings_tell(void);

/*
 * "NAME=VALUE" into the environment, checked as the library will check it; NAME may be the
 * variable's too.  A file that is to be written to is opened, made if need be, and closed
 * again.  Says what is wrong.  1 where the library is told to print something, else 0, or
 * a negative errno.
 */
int wn_settings_apply(const char *assignment);

/*
 * Looks at what the environment says: bad values, names that are no settings, files that
 * cannot be written to.  Says what is wrong; false when anything is.
 */
bool wn_settings_check(void);

/* The same as wn_settings_apply() for "log=FILE". */
int wn_settings_log(const char *file);

/*
 * Which setting of the environment makes the library leave a program of this file alone,
 * or NULL.
 */
const char *wn_settings_dormant(const char *program);

/* -- preload.c: the library --------------------------------------------------- */

/*
 * The absolute path of the preload library: asked (or NULL), else $WILLNEED_LIBRARY, else
 * the one of the build tree or of the installed tree that this program lies in, else the
 * one in libdir.  Says what is wrong.  0 or a negative errno.
 */
int wn_preload_find(const char *asked, char path[PATH_MAX]);

/*
 * The value of LD_PRELOAD with library in front (or with no library of ours, if NULL) and
 * everything else that was in old (may be NULL) kept; to be freed, NULL without memory.
 */
char *wn_preload_join(const char *library, const char *old);

/*
 * A file that was built or installed with this program.  Relative places are seen from the
 * directory of the program's own file.  Absolute ones are too, first of all: as they lie
 * from bindir, since an installed tree may have been moved.  0 or -ENOENT.
 */
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

/* A shared object for this machine that has our functions and wraps those of libc? */
bool wn_is_preload_library(const char *path);

#endif

/* SPDX-License-Identifier: MIT */
/* Finding what was built or installed with this program, and LD_PRELOAD's value. */
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY_NAME "libwillneed-preload.so"

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#endif

/* The first two are the build tree: libtool keeps what it links in .libs. */
static const char *const library_places[] = {
	".libs", ".", WN_LIBDIR, "../lib", "../lib64", "../lib/" MULTIARCH, NULL
};

/* The directory of this program's own file, with a slash at its end. */
static void own_directory(char path[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	path[length > 0 ? length : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		slash[1] = '\0';
}

/* How one gets from WN_BINDIR to an absolute place: "../lib". */
static void from_bindir(const char *place, char relative[PATH_MAX])
{
	static const char bin[] = WN_BINDIR;
	size_t used = 0, same = 0;

	for (size_t i = 0;; i++) {
		bool ends = (!bin[i] || bin[i] == '/') && (!place[i] || place[i] == '/');

		if (ends)
			same = i;
		if (bin[i] != place[i] || !bin[i])
			break;
	}
	for (const char *p = bin + same; *p && used + 3 < PATH_MAX; p++) {
		if (p[0] == '/' && p[1] && p[1] != '/')
			used += (size_t)sprintf(relative + used, "../");
	}
	snprintf(relative + used, PATH_MAX - used, "%s",
		 place + same + (place[same] == '/'));
}

static bool is_in(const char *base, const char *place, const char *name,
		  char path[PATH_MAX])
{
	char *try;
	bool found;

	if (asprintf(&try, "%s%s/%s", base, place, name) < 0)
		return false;
	found = access(try, R_OK) == 0 && realpath(try, path);
	free(try);
	return found;
}

int wn_companion_find(const char *name, const char *const *places, char path[PATH_MAX])
{
	char self[PATH_MAX], relative[PATH_MAX];

	own_directory(self);
	/* An installed tree may have been moved as a whole, or be below DESTDIR. */
	for (const char *const *p = places; *p; p++) {
		if (**p == '/')
			from_bindir(*p, relative);
		if (is_in(self, **p == '/' ? relative : *p, name, path))
			return 0;
	}
	for (const char *const *p = places; *p; p++) {
		if (**p == '/' && is_in("", *p, name, path))
			return 0;
	}
	return -ENOENT;
}

static int check_asked(const char *asked, char path[PATH_MAX])
{
	if (access(asked, R_OK) < 0 || !realpath(asked, path)) {
		int err = -errno;

		wn_say("cannot read the library '%s': %s", asked, strerror(-err));
		return err;
	}
	if (!wn_is_preload_library(path)) {
		wn_say("%s is not willneed's preload library for this machine", path);
		return -EINVAL;
	}
	return 0;
}

int wn_preload_find(const char *asked, char path[PATH_MAX])
{
	const char *variable = getenv("WILLNEED_LIBRARY");

	if (!asked && variable && *variable)
		asked = variable;
	if (asked) {
		int err = check_asked(asked, path);

		if (err)
			return err;
	} else if (wn_companion_find(LIBRARY_NAME, library_places, path) < 0) {
		wn_say("cannot find " LIBRARY_NAME
		       ": build or install it, or name it with --library");
		return -ENOENT;
	}
	/* The dynamic linker would take it for several names. */
	if (strpbrk(path, ": \t\n\r\f\v")) {
		wn_say("the library's path must not hold ':' or white space: %s", path);
		return -EINVAL;
	}
	return 0;
}

static bool is_ours(const char *name, size_t length)
{
	const size_t ours = sizeof(LIBRARY_NAME) - 1;

	return length >= ours && !memcmp(name + length - ours, LIBRARY_NAME, ours) &&
	       (length == ours || name[length - ours - 1] == '/');
}

char *wn_preload_join(const char *library, const char *old)
{
	size_t size = (library ? strlen(library) : 0) + (old ? strlen(old) : 0) + 2;
	char *out = malloc(size);
	size_t used = 0;

	if (!out)
		return NULL;
	if (library)
		used = (size_t)sprintf(out, "%s", library);
	while (old && *old) {
		size_t length = strcspn(old, ": ");

		/* Any library of ours, not only this one: two would be two engines. */
		if (length && !is_ours(old, length)) {
			if (used)
				out[used++] = ':';
			memcpy(out + used, old, length);
			used += length;
		}
		old += length;
		old += strspn(old, ": ");
	}
	out[used] = '\0';
	return out;
}

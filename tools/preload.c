/* SPDX-License-Identifier: MIT */
/* Finding what was built or installed with this program, and LD_PRELOAD's value. */
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY_NAME "libwillneed-preload.so"

/* Relative places are seen from the directory of this program's own file: it lies at the
 * top of the build tree, or one below it in .libs when libtool has wrapped it. */
static const char *const library_places[] = { ".libs", ".", WN_LIBDIR, NULL };

int wn_companion_find(const char *name, const char *const *places, char path[PATH_MAX])
{
	char self[PATH_MAX], try[2 * PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[length > 0 ? length : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		slash[1] = '\0';
	for (; *places; places++) {
		snprintf(try, sizeof(try), "%s%s/%s", **places == '/' ? "" : self,
			 *places, name);
		if (access(try, R_OK) == 0 && realpath(try, path))
			return 0;
	}
	return -ENOENT;
}

int wn_preload_find(const char *asked, char path[PATH_MAX])
{
	if (!asked)
		asked = getenv("WILLNEED_LIBRARY");
	if (asked && (access(asked, R_OK) < 0 || !realpath(asked, path))) {
		int err = -errno;

		wn_say("cannot read the library %s: %s", asked, strerror(-err));
		return err;
	}
	if (!asked && wn_companion_find(LIBRARY_NAME, library_places, path) < 0) {
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

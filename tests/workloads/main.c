/* SPDX-License-Identifier: MIT */
/* willneed-workload PATTERN [--name value]... FILE: the command line. */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WL_PATTERN(name, function, needs, help) { name, function, needs, help },
static const struct wl_pattern wl_patterns[] = {
#include "patterns.def"
};

#define WL_PATTERNS (sizeof(wl_patterns) / sizeof(wl_patterns[0]))

static int complain(const char *what, const char *which, int err)
{
	fprintf(stderr, "willneed-workload: %s%s%s%s\n", what, which, err ? ": " : "",
		err ? strerror(-err) : "");
	return 2;
}

static int help(void)
{
	puts("Usage: willneed-workload PATTERN [--NAME VALUE]... FILE\n"
	     "Run a pattern over FILE and print what it cost as a line of JSON.\n"
	     "\nPatterns:");
	for (size_t i = 0; i < WL_PATTERNS; i++)
		printf("  %-10s %s\n", wl_patterns[i].name, wl_patterns[i].help);
	puts("\nParameters (numbers take K, M, G, and % of the file's size):");
	wl_param_help();
	return 0;
}

static const struct wl_pattern *find_pattern(const char *name)
{
	for (size_t i = 0; i < WL_PATTERNS; i++) {
		if (!strcmp(name, wl_patterns[i].name))
			return &wl_patterns[i];
	}
	return NULL;
}

static int open_file(struct wl *w)
{
	struct stat st;

	w->fd = open(w->path, O_RDONLY | O_CLOEXEC);
	if (w->fd < 0 || fstat(w->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return -EINVAL;
	w->size = (uint64_t)st.st_size;
	return 0;
}

int main(int argc, char **argv)
{
	struct wl w = { .path = argv[argc - 1] };
	int err;

	if (argc == 2 && !strcmp(argv[1], "--help"))
		return help();
	if (argc < 3 || argc % 2 == 0)
		return complain("usage: PATTERN [--NAME VALUE]... FILE (try --help)", "",
				0);
	w.pattern = find_pattern(argv[1]);
	if (!w.pattern)
		return complain("no such pattern: ", argv[1], 0);
	err = open_file(&w);
	if (err)
		return complain("cannot read ", w.path, err);
	wl_param_defaults(&w.p, w.size);
	for (int i = 2; i + 1 < argc - 1; i += 2) {
		if (strncmp(argv[i], "--", 2))
			return complain("not a parameter: ", argv[i], 0);
		err = wl_param_set(&w.p, argv[i] + 2, argv[i + 1], w.size);
		if (err == -ENOENT)
			return complain("no such parameter: ", argv[i], 0);
		if (err)
			return complain("bad value of ", argv[i], 0);
	}
	err = wl_run(&w);
	return err ? complain("failed on ", w.path, err) : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * why MODE FILE...: reads each file to its end, in one way, and compares every word.
 *	read, read-random, read-direct	read(), 64 KiB; advised RANDOM; under O_DIRECT
 *	load, load-random	plain loads from a mapping; advised RANDOM
 *	copy		memcpy() out of a mapping, 1 MiB
 *	gives-up	read(), when it has set no_new_privs
 */
#include <sys/prctl.h>

#include "host.h"

static bool is_for(const char *mode, const char *what)
{
	return strstr(mode, what);
}

static void read_file(int fd, bool random)
{
	static _Alignas(4096) char buf[65536];
	size_t at = 0;
	ssize_t got;

	if (random)
		MUST(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0);
	while ((got = read(fd, buf, sizeof(buf))) > 0) {
		MUST(right(buf, at, (size_t)got));
		at += (size_t)got;
	}
	MUST(got == 0);
}

static void load_all(const char *path, const char *mode)
{
	struct view v = view_of(path, PROT_READ, MAP_SHARED);
	char *to = anon(MIB);

	if (is_for(mode, "random"))
		MUST(madvise(v.at, v.size, MADV_RANDOM) == 0);
	for (size_t at = 0; at < v.size; at += MIB) {
		size_t n = v.size - at < MIB ? v.size - at : MIB;

		if (is_for(mode, "copy"))
			copy(to, v.at + at, n);
		MUST(right(is_for(mode, "copy") ? to : v.at + at, at, n));
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";

	if (is_for(mode, "gives-up"))
		MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	for (int i = 2; i < argc; i++) {
		int fd =
			open(argv[i], O_RDONLY | (is_for(mode, "direct") ? O_DIRECT : 0));

		MUST(fd >= 0);
		if (is_for(mode, "load") || is_for(mode, "copy"))
			load_all(argv[i], mode);
		else
			read_file(fd, is_for(mode, "random"));
		close(fd);
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * fortify FUNCTION LENGTH: a copy of that length into 64 bytes; too many must abort.
 * fortify FILE: all three out of a cold mapping, into memory whose size is known.
 */
#include "host.h"

static char from[256] = "0123456789", to[64];
static char large[16 * MIB];

/* Out of a function that the compiler knows nothing about. */
static __attribute__((noinline)) size_t number(const char *text)
{
	return (size_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
	struct view v;
	size_t n;

	if (argc == 2) {
		chill(argv[1]);
		v = view_of(argv[1], PROT_READ, MAP_SHARED);
		n = v.size / 4 + number("0");
		memcpy(large, v.at, n);
		MUST(right(large, 0, n));
		memmove(large, v.at + n, n);
		MUST(right(large, n, n));
		MUST(mempcpy(large, v.at + 2 * n, n) == large + n);
		MUST(right(large, 2 * n, n));
		return 0;
	}
	MUST(argc == 3);
	n = number(argv[2]);
	puts("before");
	fflush(stdout);
	if (!strcmp(argv[1], "memcpy"))
		memcpy(to, from, n);
	else if (!strcmp(argv[1], "memmove"))
		memmove(to, from, n);
	else
		printf("%td\n", (char *)mempcpy(to, from, n) - to);
	puts(to);
	return 0;
}

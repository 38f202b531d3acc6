/* SPDX-License-Identifier: MIT */
/*
 * fortify FUNCTION LENGTH: a copy, or a read, of that length into 64 bytes; too many must
 * abort.
 * fortify FILE: all of them out of a cold file, into memory whose size is known.
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
	FILE *stream;
	size_t n;
	int zero;

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
		MUST(lseek(v.fd, (off_t)(3 * n), SEEK_SET) == (off_t)(3 * n));
		MUST(read(v.fd, large, n) == (ssize_t)n && right(large, 3 * n, n));
		MUST(pread(v.fd, large, n, (off_t)n) == (ssize_t)n && right(large, n, n));
		MUST(pread64(v.fd, large, n, 0) == (ssize_t)n && right(large, 0, n));
		rewind(stream = fdopen(v.fd, "r"));
		MUST(fread(large, 1, n, stream) == n && right(large, 0, n));
		MUST(fread_unlocked(large, n, 1, stream) == 1 && right(large, n, n));
		return 0;
	}
	MUST(argc == 3);
	n = number(argv[2]);
	zero = open("/dev/zero", O_RDONLY);
	puts("before");
	fflush(stdout);
	if (!strcmp(argv[1], "memcpy"))
		memcpy(to, from, n);
	else if (!strcmp(argv[1], "memmove"))
		memmove(to, from, n);
	else if (!strcmp(argv[1], "read"))
		printf("%zd\n", read(zero, to, n));
	else if (!strcmp(argv[1], "pread"))
		printf("%zd\n", pread(zero, to, n, 0));
	else if (!strcmp(argv[1], "pread64"))
		printf("%zd\n", pread64(zero, to, n, 0));
	else if (!strcmp(argv[1], "fread"))
		printf("%zu\n", fread(to, 1, n, fdopen(zero, "r")));
	else if (!strcmp(argv[1], "fread_unlocked"))
		printf("%zu\n", fread_unlocked(to, n, 1, fdopen(zero, "r")));
	else
		printf("%td\n", (char *)mempcpy(to, from, n) - to);
	puts(to);
	return 0;
}

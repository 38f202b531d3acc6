/* SPDX-License-Identifier: MIT */
/*
 * overlap [FILE]: copies of every kind, between places that overlap, against memmove by
 * hand; lengths and offsets are swept, also at the edge of memory that cannot be touched.
 * With FILE: large ones, within a private mapping of it.
 */
#include "host.h"

#ifdef OLD
extern void *old_memcpy(void *, const void *, size_t);
__asm__(".symver old_memcpy, memcpy@GLIBC_2.2.5");
#define MEMCPY old_memcpy
#else
#define MEMCPY memmove
#endif

static void *(*volatile tried[])(void *, const void *, size_t) = { MEMCPY, memmove };

static void by_hand(char *dst, const char *src, size_t n)
{
	char *buf = malloc(n + 1);

	for (size_t i = 0; i < n; i++)
		buf[i] = src[i];
	for (size_t i = 0; i < n; i++)
		dst[i] = buf[i];
	free(buf);
}

static bool equal(const char *a, const char *b, size_t n)
{
	while (n--)
		if (*a++ != *b++)
			return false;
	return true;
}

static void sweep(void)
{
	enum { ROOM = 3 * 4096 };
	static char a[ROOM], b[ROOM];

	for (size_t n = 0; n <= 4096; n += n < 300 ? 1 : 61)
		for (long shift = -64; shift <= 64; shift += n < 300 ? 3 : 7)
			for (size_t f = 0; f < 2; f++) {
				for (size_t i = 0; i < ROOM; i++)
					a[i] = b[i] = (char)(i * 7 + i / 256);
				MUST(tried[f](a + 4096 + shift, a + 4096, n) ==
				     a + 4096 + shift);
				by_hand(b + 4096 + shift, b + 4096, n);
				MUST(equal(a, b, ROOM));
			}
}

/* The byte behind the source and the one behind the destination cannot be touched. */
static void edges(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *src = anon(3 * page), *dst = anon(3 * page);

	MUST(!mprotect(src, page, PROT_NONE) && !mprotect(src + 2 * page, page, PROT_NONE));
	MUST(!mprotect(dst, page, PROT_NONE) && !mprotect(dst + 2 * page, page, PROT_NONE));
	for (size_t i = 0; i < page; i++)
		src[page + i] = (char)(i * 31);
	for (size_t n = 0; n <= page; n++) {
		MUST(copy(dst + 2 * page - n, src + 2 * page - n, n) == dst + 2 * page - n);
		MUST(equal(dst + 2 * page - n, src + 2 * page - n, n));
		MUST(copy(dst + page, src + page, n) == dst + page);
		MUST(mempcpy(dst + page, src + page, n) == dst + page + n);
	}
	copy(NULL, NULL, 0);
	move(NULL, NULL, 0);
}

static void within_mapping(const char *path)
{
	struct view v = view_of(path, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	char *at = v.at;

	/* Up, by less than its length: what is overwritten has not been read by then. */
	MUST(move(at + MIB, at, 15 * MIB) == at + MIB);
	MUST(right(at + MIB, 0, 15 * MIB) && right(at, 0, MIB));
	/* Down. */
	MUST(move(at + 20 * MIB, at + 21 * MIB, 11 * MIB) == at + 20 * MIB);
	MUST(right(at + 20 * MIB, 21 * MIB, 11 * MIB));
	/* By one byte, which is the worst of all. */
	MUST(copy(at + 40 * MIB + 1, at + 40 * MIB, 4 * MIB) == at + 40 * MIB + 1);
	MUST(copy(at + 40 * MIB, at + 40 * MIB + 1, 4 * MIB) == at + 40 * MIB);
	MUST(right(at + 40 * MIB, 40 * MIB, 4 * MIB));
	/* Beside each other. */
	MUST(mempcpy(at + 48 * MIB, at + 56 * MIB, 8 * MIB) == at + 56 * MIB);
	MUST(right(at + 48 * MIB, 56 * MIB, 8 * MIB) && right(at + 56 * MIB, 56 * MIB, 8 * MIB));
	/* What was written privately is what is read. */
	read_all(&(struct view){ .at = at + 56 * MIB - 56 * MIB, .size = v.size }, 56 * MIB,
		 64 * MIB, MIB);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		chill(argv[1]);
		within_mapping(argv[1]);
		return 0;
	}
	sweep();
	edges();
	puts("all as memmove does");
	return 0;
}

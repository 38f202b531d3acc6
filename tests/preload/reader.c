/* SPDX-License-Identifier: MIT */
/* reader FILE PIECES: copies a test file out of a mapping, cold, from two threads. */
#include "host.h"

static struct view v;
static size_t pieces;

static void *second_half(void *unused)
{
	(void)unused;
	read_all(&v, v.size / 2, v.size, v.size / pieces);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;

	MUST(argc == 3);
	pieces = (size_t)atol(argv[2]);
	chill(argv[1]);
	v = view_of(argv[1], PROT_READ, MAP_PRIVATE);
	MUST(pthread_create(&t, NULL, second_half, NULL) == 0);
	read_all(&v, 0, v.size / 2, v.size / pieces);
	MUST(pthread_join(t, NULL) == 0);
	MUST(munmap(v.at, v.size) == 0);
	printf("%zu bytes are right\n", v.size);
	return 0;
}

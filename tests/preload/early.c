/* SPDX-License-Identifier: MIT */
/* A library whose constructor uses what we interpose, before ours has run. */
#include "host.h"

static char saved[65536], copied[65536];

__attribute__((constructor(101))) static void early(void)
{
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *q;

	MUST(p != MAP_FAILED);
	saved[65535] = 7;
	copy(p, "early", 6);
	move(p + 1, p, 6);
	MUST(!memcmp(p, "eearly", 7));
	MUST(copy(copied, saved, sizeof(saved)) == copied && copied[65535] == 7);
	q = mremap(p, 4096, 8192, MREMAP_MAYMOVE);
	MUST(q != MAP_FAILED && !memcmp(q, "eearly", 7));
	MUST(madvise(q, 8192, MADV_NORMAL) == 0);
	MUST(munmap(q, 8192) == 0);
	errno = 0;
	MUST(munmap(q + 1, 8192) == -1 && errno == EINVAL);
	MUST(mmap(NULL, 0, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EINVAL);
	errno = 0;
}

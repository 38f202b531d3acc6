/* SPDX-License-Identifier: MIT */
/* A library whose constructor uses what we interpose, before ours has run. */
#include "host.h"

static char saved[65536], copied[65536];

static void streams(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char *line = NULL, text[100];
	size_t room = 0;

	MUST(f && getc_unlocked(f) == 'N');
	MUST(getline(&line, &room, f) > 5 && !strncmp(line, "ame:", 4));
	MUST(fgets(text, sizeof(text), f) && !strncmp(text, "Umask:", 6));
	MUST(fgets_unlocked(text, sizeof(text), f) && !strncmp(text, "State:", 6));
	fclose(f);
	free(line);
}

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
	streams();
	errno = 0;
	MUST(munmap(q + 1, 8192) == -1 && errno == EINVAL);
	MUST(mmap(NULL, 0, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EINVAL);
	errno = 0;
}

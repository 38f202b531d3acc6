/* SPDX-License-Identifier: MIT */
/*
 * file fill PATH MIB | chill PATH | resident PATH: test files, and what of them is cached.
 * Run by their owner or root: to others the kernel says that everything is.
 */
#include "host.h"

static void fill(const char *path, size_t mib)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	uint64_t *buf = (uint64_t *)anon(MIB);

	MUST(fd >= 0);
	for (size_t m = 0; m < mib; m++) {
		for (size_t i = 0; i < MIB / 8; i++)
			buf[i] = word_at(m * MIB + i * 8);
		MUST(write(fd, buf, MIB) == (ssize_t)MIB);
	}
	MUST(fsync(fd) == 0);
	MUST(close(fd) == 0);
}

static size_t resident(const char *path)
{
	struct view v = view_of(path, PROT_READ, MAP_SHARED);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (v.size + page - 1) / page, n = 0;
	unsigned char *vec = malloc(pages);

	MUST(vec && mincore(v.at, v.size, vec) == 0);
	for (size_t i = 0; i < pages; i++)
		n += vec[i] & 1;
	return n;
}

static int chilled(const char *path)
{
	int fd = open(path, O_RDONLY);
	size_t left;

	MUST(fd >= 0);
	MUST(fsync(fd) == 0);
	/* Pages that another processor has just handled fall at the second attempt. */
	for (int i = 0; i < 5; i++) {
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		left = resident(path);
		if (!left)
			return 0;
		usleep(20000);
	}
	fprintf(stderr, "%s: %zu pages stay cached\n", path, left);
	return 1;
}

int main(int argc, char **argv)
{
	MUST(argc >= 3);
	if (argc == 4 && !strcmp(argv[1], "fill"))
		fill(argv[2], (size_t)atol(argv[3]));
	else if (!strcmp(argv[1], "chill"))
		return chilled(argv[2]);
	else
		printf("%zu\n", resident(argv[2]));
	return 0;
}

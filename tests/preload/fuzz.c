/* SPDX-License-Identifier: MIT */
/*
 * fuzz SEED STEPS FILE...: maps, replaces, moves, cuts and unmaps at random in an arena of
 * its own, partly by raw system calls that no library sees, and checks each copy against
 * what must be there.  Every page of the arena knows what it holds.
 */
#include <sys/shm.h>

#include "host.h"

#define PAGE 4096ul
#define PAGES 16384ul /* 64 MiB */
#define FILES_MAX 8

enum kind { NOTHING, ZEROES, FROM_FILE, WRITTEN };

static struct {
	uint8_t kind, file, mark;
	uint32_t page; /* in the file */
} is[PAGES];

static char *arena, *buf;
static int fds[FILES_MAX];
static unsigned files, file_pages;
static uint64_t state;

static uint32_t roll(uint32_t n)
{
	state = word_at(state);
	return (uint32_t)(state >> 33) % n;
}

static char *at_page(size_t page)
{
	return arena + page * PAGE;
}

static void some_range(size_t *from, size_t *n)
{
	*n = roll(3) ? 256 + roll(2048) : 1 + roll(64);
	*from = roll((uint32_t)(PAGES - *n));
}

static void note(size_t from, size_t n, enum kind kind, unsigned file, unsigned page)
{
	for (size_t i = 0; i < n; i++) {
		is[from + i].kind = (uint8_t)kind;
		is[from + i].file = (uint8_t)file;
		is[from + i].page = page + (uint32_t)i;
	}
}

/* Nothing is there any more; but nobody else may settle there, or we would remove it. */
static void gone(size_t from, size_t n)
{
	note(from, n, NOTHING, 0, 0);
	MUST(syscall(SYS_mmap, at_page(from), n * PAGE, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0L) ==
	     (long)at_page(from));
}

static void map_file(void)
{
	unsigned f = roll(files), page;
	size_t from, n;
	void *p;

	some_range(&from, &n);
	page = roll(file_pages - (uint32_t)n);
	if (roll(2))
		p = mmap(at_page(from), n * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_FIXED, fds[f], (off_t)(page * PAGE));
	else
		p = mmap64(at_page(from), n * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fds[f],
			   (off_t)(page * PAGE));
	MUST(p == at_page(from));
	note(from, n, FROM_FILE, f, page);
	/* So that some of them are found cold. */
	if (roll(4) == 0)
		posix_fadvise(fds[f], 0, 0, POSIX_FADV_DONTNEED);
}

/* Removed or replaced; half of the time behind everybody's back. */
static void remove_some(void)
{
	bool unseen = roll(2);
	size_t from, n;

	some_range(&from, &n);
	if (roll(2)) {
		long r = unseen ? syscall(SYS_munmap, at_page(from), n * PAGE) :
				  munmap(at_page(from), n * PAGE);

		MUST(r == 0);
		gone(from, n);
		return;
	}
	if (unseen)
		MUST(syscall(SYS_mmap, at_page(from), n * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L) ==
		     (long)at_page(from));
	else
		MUST(mmap(at_page(from), n * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at_page(from));
	note(from, n, ZEROES, 0, 0);
}

/* How far one mapping goes from here: mremap() refuses more. */
static size_t extent(size_t from, size_t most)
{
	size_t n = 1;

	if (is[from].kind != FROM_FILE)
		return 0;
	while (n < most && is[from + n].kind == FROM_FILE && is[from + n].file == is[from].file &&
	       is[from + n].page == is[from].page + n)
		n++;
	return n;
}

static void move_some(void)
{
	size_t from, n, to;
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
	void *p;

	some_range(&from, &n);
	n = extent(from, n);
	if (!n)
		return;
	to = roll((uint32_t)(PAGES - n));
	if (to < from + n && from < to + n)
		return;
	p = roll(2) ? mremap(at_page(from), n * PAGE, n * PAGE, flags, at_page(to)) :
		      (void *)syscall(SYS_mremap, at_page(from), n * PAGE, n * PAGE, flags,
				      at_page(to));
	/* Two mappings that only look like one. */
	if (p == MAP_FAILED) {
		MUST(errno == EFAULT || errno == EINVAL);
		/* The target may be gone all the same. */
		munmap(at_page(to), n * PAGE);
		gone(to, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		is[to + i] = is[from + i];
	gone(from, n);
}

static void attach_some(void)
{
	size_t n = 256 + roll(256), from = roll((uint32_t)(PAGES - n));
	int id = shmget(IPC_PRIVATE, n * PAGE, IPC_CREAT | 0600);

	if (id < 0)
		return;
	if (shmat(id, at_page(from), SHM_REMAP) == at_page(from))
		note(from, n, ZEROES, 0, 0);
	shmctl(id, IPC_RMID, NULL);
}

/* Written pages of private mappings must never lose what was written. */
static void write_some(void)
{
	size_t from = roll(PAGES);
	char *p = at_page(from);

	if (is[from].kind != FROM_FILE && is[from].kind != ZEROES)
		return;
	/* Shared ones are read-only: let the kernel tell. */
	if (mprotect(p, PAGE, PROT_READ | PROT_WRITE) != 0)
		return;
	is[from].kind = WRITTEN;
	is[from].mark = (uint8_t)(1 + roll(255));
	memset(p, is[from].mark, PAGE);
}

static bool filled_with(const char *p, int c)
{
	for (size_t i = 0; i < PAGE; i++)
		if (p[i] != (char)c)
			return false;
	return true;
}

static void copy_some(void)
{
	size_t from, n, i;

	some_range(&from, &n);
	for (i = 0; i < n && is[from + i].kind != NOTHING; i++)
		;
	n = i;
	if (!n)
		return;
	MUST(copy(buf, at_page(from), n * PAGE) == buf);
	for (i = 0; i < n; i++) {
		const char *p = buf + i * PAGE;

		switch (is[from + i].kind) {
		case ZEROES:
			MUST(filled_with(p, 0));
			break;
		case WRITTEN:
			MUST(filled_with(p, is[from + i].mark));
			break;
		default:
			MUST(right(p, is[from + i].page * PAGE, PAGE));
		}
	}
}

static void advise_some(void)
{
	static const int advice[] = { MADV_RANDOM, MADV_NORMAL, MADV_SEQUENTIAL, MADV_WILLNEED };
	size_t from, n;

	some_range(&from, &n);
	madvise(at_page(from), n * PAGE, advice[roll(4)]);
}

int main(int argc, char **argv)
{
	unsigned counts[8] = { 0 };
	struct stat st;

	MUST(argc >= 4 && argc <= 3 + FILES_MAX);
	state = (uint64_t)atol(argv[1]);
	for (int i = 3; i < argc; i++) {
		fds[files] = open(argv[i], O_RDONLY);
		MUST(fds[files++] >= 0);
	}
	MUST(fstat(fds[0], &st) == 0);
	file_pages = (unsigned)((size_t)st.st_size / PAGE);
	buf = anon(PAGES * PAGE);
	arena = anon(PAGES * PAGE);
	gone(0, PAGES);
	for (long step = atol(argv[2]); step; step--) {
		static void (*const moves[])(void) = {
			map_file, copy_some, remove_some, move_some, write_some, advise_some,
			attach_some, copy_some,
		};
		unsigned which = roll(40);

		which = which < 8 ? which : which < 16 ? 0 : 1;
		moves[which]();
		counts[which]++;
	}
	for (int i = 0; i < 8; i++)
		printf("%u ", counts[i]);
	puts("steps, every copy was right");
	return 0;
}

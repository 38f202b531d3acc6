/* SPDX-License-Identifier: MIT */
/* arena.h: how much it maps, and what a forked child finds there. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "test.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum { KEPT = 50000, WIPED = 300000, STACK = 49152 };

static struct wn_arena arena;

/* Mappings that begin in the arena. */
static int mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[512];
	int n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 &&
		    start < (unsigned long)arena.stack_top &&
		    end > (unsigned long)arena.kept)
			n++;
	fclose(f);
	return n;
}

/* Emulators of another processor may not know it. */
static bool wipe_on_fork_works(void)
{
	size_t page = wn_page_size();
	char *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	int status;
	pid_t pid;

	assert_ptr_not_equal(p, MAP_FAILED);
	if (madvise(p, page, MADV_WIPEONFORK) < 0)
		return false;
	*p = 1;
	pid = fork();
	if (!pid)
		_exit(*p);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	munmap(p, page);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(four_mappings_at_most)
{
	assert_int_equal(wn_arena_map(&arena, KEPT, WIPED, STACK), 0);
	assert_true(mappings() <= 4);
	assert_int_equal((uintptr_t)arena.kept % wn_page_size(), 0);
	assert_int_equal((uintptr_t)arena.wiped % wn_page_size(), 0);
	assert_int_equal((uintptr_t)(arena.last_byte + 1) % wn_page_size(), 0);
	assert_true((char *)arena.kept + KEPT <= (char *)arena.wiped);
	assert_true((char *)arena.wiped + WIPED <= arena.last_byte);
	memset(arena.kept, 1, KEPT);
	memset(arena.wiped, 1, WIPED);
	*arena.last_byte = 1;
	memset(arena.stack_top - STACK, 1, STACK);
}

/* Exit status of a child that does it: its own, or 100 and the signal that ended it. */
static int in_child(int (*job)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		_exit(job());
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static int write_behind(void)
{
	*(volatile char *)(arena.last_byte + 1) = 1;
	return 0;
}

static bool all(const char *p, size_t n, char want)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != want)
			return false;
	return true;
}

static int look(void)
{
	if (!all(arena.kept, KEPT, 1))
		return 1;
	if (!all(arena.wiped, WIPED, 0) || *arena.last_byte)
		return 2;
	/* The lower end of the stack is as good as any other. */
	return all(arena.stack_top - STACK, 4096, 0) ? 0 : 3;
}

TEST(the_page_behind_the_last_byte_cannot_be_written)
{
	int status = in_child(write_behind);

	/* A sanitizer has a handler of its own, and a status. */
	assert_int_not_equal(status, 0);
}

TEST(a_child_keeps_the_tables_and_nothing_else)
{
	if (!wipe_on_fork_works())
		skip();
	assert_int_equal(in_child(look), 0);
	assert_true(all(arena.wiped, WIPED, 1));
}

TEST(too_large_is_an_error)
{
	struct wn_arena a;

	assert_true(wn_arena_map(&a, (size_t)1 << 62, WIPED, STACK) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_mappings_at_most),
		cmocka_unit_test(the_page_behind_the_last_byte_cannot_be_written),
		cmocka_unit_test(a_child_keeps_the_tables_and_nothing_else),
		cmocka_unit_test(too_large_is_an_error),
	};

	return RUN(tests);
}

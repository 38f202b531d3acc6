/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <errno.h>
#include <linux/mman.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "base/arch.h"
#include "base/mem.h"

size_t wn_page_size(void)
{
	static size_t page;

	if (!wn_load(&page))
		wn_store(&page, getauxval(AT_PAGESZ));
	return wn_load(&page);
}

int wn_arena_map(struct wn_arena *a, size_t kept, size_t wiped, size_t stack)
{
	size_t page = wn_page_size();
	size_t kept_size = wn_round_up(kept, page);
	/* A page of its own for the byte that rides read into. */
	size_t wiped_size = wn_round_up(wiped, page) + page;
	size_t stack_size = wn_round_up(stack, page);
	size_t size = kept_size + wiped_size + page + stack_size;
	long at = wn_raw(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *base = (char *)at;

	if (at < 0 && at > -4096)
		return (int)at;
	a->kept = base;
	a->wiped = base + kept_size;
	a->last_byte = base + kept_size + wiped_size - 1;
	a->stack_top = base + size;
	if (wn_raw(SYS_mprotect, a->last_byte + 1, page, PROT_NONE) < 0) {
		wn_raw(SYS_munmap, base, size);
		return -ENOMEM;
	}
	/* Best effort: without these a core file is larger, and a forked child has no helper. */
	wn_raw(SYS_madvise, base, size, MADV_DONTDUMP);
	wn_raw(SYS_madvise, a->wiped, wiped_size, MADV_WIPEONFORK);
	wn_raw(SYS_madvise, a->last_byte + 1 + page, stack_size, MADV_WIPEONFORK);
	return 0;
}

void wn_arena_unmap(const struct wn_arena *a)
{
	wn_raw(SYS_munmap, a->kept, a->stack_top - (char *)a->kept);
}

/* SPDX-License-Identifier: MIT */
/* The page table of the program, as PAGEMAP_SCAN and /proc/thread-self/pagemap show it. */
#include "fake_world.h"

#include <errno.h>
#include <string.h>

#define PAGE 4096u
#define PAGES (1u << 18)
#define PRESENT ((uint64_t)1 << 63)

/* As in lib/watch/pages.c. */
struct arguments {
	uint64_t size, flags, start, end, walk_end, vec, vec_len;
	uint64_t max_pages, inverted, mask, anyof, returned;
};
struct region {
	uint64_t start, end, categories;
};

static unsigned char table[PAGES];
static uint64_t first;

void fake_table_at(uint64_t addr)
{
	memset(table, 0, sizeof(table));
	first = addr;
}

void fake_populate(uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; at += PAGE)
		table[(at - first) / PAGE] = 1;
}

/* All else is there, such as the stack of whoever asks. */
static bool is_there(uint64_t at)
{
	return at < first || (at - first) / PAGE >= PAGES || table[(at - first) / PAGE];
}

ssize_t fake_table_read(void *buf, size_t n, uint64_t offset)
{
	uint64_t *word = buf;

	for (size_t i = 0; i < n / 8; i++)
		word[i] = is_there((offset / 8 + i) * PAGE) ? PRESENT : 0;
	return (ssize_t)(n / 8 * 8);
}

int fake_table_scan(uint64_t arg)
{
	struct arguments *a = (struct arguments *)arg;
	struct region *r = (struct region *)a->vec;
	unsigned n = 0;
	uint64_t at;

	for (at = a->start; at < a->end; at += PAGE) {
		if (!is_there(at))
			continue;
		if (n && r[n - 1].end == at) {
			r[n - 1].end += PAGE;
			continue;
		}
		if (n == a->vec_len)
			break;
		r[n++] = (struct region){ at, at + PAGE, a->mask };
	}
	a->walk_end = at;
	return (int)n;
}

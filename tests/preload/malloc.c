/* SPDX-License-Identifier: MIT */
/* A malloc() that maps, copies and unmaps in its own initialisation, under a lock. */
#include "host.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *heap, *end;

static void *take(size_t n)
{
	char *p;

	n = (n + 31) & ~(size_t)15;
	pthread_mutex_lock(&lock);
	if (!heap || (size_t)(end - heap) < n) {
		size_t room = n > 64 * MIB ? n : 64 * MIB;

		heap = mmap(NULL, room, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (heap == MAP_FAILED)
			abort();
		copy(heap, "malloc", 7);
		memset(heap, 0, 7);
		end = heap + room;
	}
	p = heap;
	heap += n;
	*(size_t *)(void *)p = n - 16;
	pthread_mutex_unlock(&lock);
	return p + 16;
}

void *malloc(size_t n)
{
	return take(n);
}

void free(void *p)
{
	(void)p;
}

void *calloc(size_t n, size_t size)
{
	return take(n * size);
}

void *realloc(void *p, size_t n)
{
	size_t old = p ? ((size_t *)p)[-2] : 0;
	void *q = take(n);

	if (p)
		copy(q, p, old < n ? old : n);
	return q;
}

/* SPDX-License-Identifier: MIT */
/* Which pieces a thread reads, in which order; and the checksum of what it read. */
#include "workload.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { STRAY_EVERY = 20 };

/* splitmix64: a good generator in four lines, the same everywhere. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t wl_count(const struct wl_params *p, uint64_t begin, uint64_t end)
{
	uint64_t span = end - begin;

	if (p->run) {
		uint64_t cycle = p->run + p->skip, rest = span % cycle;

		span = span / cycle * p->run + (rest < p->run ? rest : p->run);
	}
	return (span + p->stride - 1) / p->stride;
}

int wl_shuffle(struct wl *w)
{
	uint64_t count = wl_count(&w->p, w->begin, w->end);
	uint64_t state = w->p.seed;

	if (w->p.order != WL_SHUFFLED)
		return 0;
	/* One permutation is for one list of pieces: threads take turns at it. */
	if (w->p.split == WL_RANGE && w->p.threads > 1)
		return -EINVAL;
	if (count > UINT32_MAX)
		return -E2BIG;
	w->shuffle = mmap(NULL, count * sizeof(*w->shuffle), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->shuffle == MAP_FAILED)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++)
		w->shuffle[i] = (uint32_t)i;
	for (uint64_t i = count; i > 1; i--) {
		uint64_t j = next_random(&state) % i;
		uint32_t other = w->shuffle[j];

		w->shuffle[j] = w->shuffle[i - 1];
		w->shuffle[i - 1] = other;
	}
	return 0;
}

/* The reads that come before the regular ones, on the first thread only. */
static bool next_prologue(struct wl_thread *t, struct wl_piece *piece)
{
	const struct wl *w = t->w;

	while (t->index == 0 && t->prologue < 2) {
		uint64_t length = t->prologue++ == 0 ? w->p.lead : w->p.tail;

		if (!length)
			continue;
		piece->length = length < w->size ? length : w->size;
		piece->offset = t->prologue == 1 ? 0 : w->size - piece->length;
		return true;
	}
	return false;
}

/* The number of the next piece in the order of time. */
static uint64_t next_turn(struct wl_thread *t)
{
	struct wl *w = t->w;

	switch (w->p.split) {
	case WL_QUEUE:
		t->k++;
		return atomic_fetch_add_explicit(&w->queue, 1, memory_order_relaxed);
	case WL_INTERLEAVE:
		return t->k++ * w->p.threads + t->index;
	default:
		return t->k++;
	}
}

/* From the order of time to the place in the range. */
static uint64_t place(struct wl_thread *t, uint64_t turn, uint64_t count)
{
	/* Arrivals within four places of their turn, as several workers produce them. */
	static const uint8_t jitter[8] = { 1, 0, 3, 4, 2, 7, 5, 6 };

	uint64_t pass = turn / count;

	turn %= count;
	switch (t->w->p.order) {
	case WL_BACKWARD:
		return count - 1 - turn;
	case WL_ALTERNATE:
		return pass % 2 ? count - 1 - turn : turn;
	case WL_SHUFFLED:
		return t->w->shuffle[turn];
	case WL_JITTER:
		return (turn | 7) < count ? (turn & ~7ull) + jitter[turn & 7] : turn;
	default:
		return turn;
	}
}

static uint64_t random_page(struct wl_thread *t, uint64_t room, uint64_t piece)
{
	uint64_t pages = room > piece ? (room - piece) / WL_PAGE + 1 : 1;

	return next_random(&t->random) % pages * WL_PAGE;
}

/* The second of two phases: single pages anywhere in the file. */
static bool next_lookup(struct wl_thread *t, struct wl_piece *piece)
{
	uint64_t size = t->w->size;

	if (t->lookups == t->w->p.lookups)
		return false;
	t->lookups++;
	piece->length = size < WL_PAGE ? size : WL_PAGE;
	piece->offset = random_page(t, size, piece->length);
	return true;
}

/* The offset in the range of what is at this place of all pieces in a row. */
static uint64_t with_gaps(const struct wl_params *p, uint64_t at)
{
	return p->run ? at + at / p->run * p->skip : at;
}

static bool next_piece(struct wl_thread *t, struct wl_piece *piece)
{
	const struct wl_params *p = &t->w->p;
	uint64_t count = wl_count(p, t->begin, t->end);
	uint64_t turn;

	if (p->pieces && t->k >= p->pieces)
		return false;
	turn = next_turn(t);
	if (!count ||
	    (turn >= count * p->passes && !(p->order == WL_RANDOM && p->pieces)))
		return false;
	if (p->order == WL_RANDOM || (p->order == WL_STRAY && turn % STRAY_EVERY == STRAY_EVERY - 1))
		piece->offset = t->begin + random_page(t, t->end - t->begin, p->piece);
	else
		piece->offset = t->begin +
				with_gaps(p, place(t, turn, count) * p->stride);
	piece->length = t->end - piece->offset;
	if (piece->length > p->piece)
		piece->length = p->piece;
	return true;
}

bool wl_next(struct wl_thread *t, struct wl_piece *piece)
{
	return next_prologue(t, piece) || next_piece(t, piece) || next_lookup(t, piece);
}

static uint64_t weigh(const unsigned char *data, uint64_t offset)
{
	uint64_t word;

	/* The weight is the word's place in the file, so that the right bytes in the
	 * wrong place do not pass, while threads may add up in any order. */
	__builtin_memcpy(&word, data, sizeof(word));
	return word * (offset / 8 * 2 + 1);
}

void wl_account(struct wl_thread *t, const void *data, const struct wl_piece *piece)
{
	const unsigned char *bytes = data;
	uint64_t sum = t->sum;

	t->bytes += piece->length;
	t->calls++;
	if (t->w->p.verify) {
		for (uint64_t i = 0; i + 8 <= piece->length; i += 8)
			sum += weigh(bytes + i, piece->offset + i);
		t->sum = sum;
		return;
	}
	for (uint64_t i = 0; i + 8 <= piece->length; i += WL_PAGE) {
		/* Another word in each page: a fixed one would not notice pages whose
		 * other lines are wrong. */
		uint64_t at = i + ((piece->offset + i) / WL_PAGE * 72 & 0xff8);

		if (at + 8 > piece->length)
			at = i;
		sum += weigh(bytes + at, piece->offset + at);
	}
	t->sum = sum;
}

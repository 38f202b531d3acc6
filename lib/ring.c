/* SPDX-License-Identifier: MIT */
#include "ring.h"

#include "base/mem.h"

/* A writer that has not finished after this long is stopped or dead. */
#define STUCK_NS 2000000u

_Static_assert(sizeof(struct wn_access) == 3 * sizeof(uint64_t), "a record is three words");

union packed {
	struct wn_access access;
	uint64_t word[3];
};

void wn_ring_push(struct wn_ring *r, const struct wn_access *a)
{
	union packed p = { .access = *a };
	uint64_t number = wn_add(&r->head, 1);
	struct wn_ring_slot *s = &r->slot[number % WN_RING_SLOTS];

	wn_store(&s->stamp, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++)
		wn_store(&s->word[i], p.word[i]);
	wn_store_release(&s->stamp, number + 1);
}

bool wn_ring_empty(const struct wn_ring *r)
{
	return wn_load(&r->head) == r->tail;
}

bool wn_ring_ready(const struct wn_ring *r)
{
	uint64_t waiting = wn_load(&r->head) - r->tail;

	return waiting > WN_RING_SLOTS ||
	       (waiting && wn_load(&r->slot[r->tail % WN_RING_SLOTS].stamp) == r->tail + 1);
}

bool wn_ring_pop(struct wn_ring *r, struct wn_access *a, uint64_t now_ns, uint64_t *lost)
{
	while (!wn_ring_empty(r)) {
		uint64_t waiting = wn_load(&r->head) - r->tail;
		const struct wn_ring_slot *s = &r->slot[r->tail % WN_RING_SLOTS];
		union packed p;
		uint64_t stamp;

		if (waiting > WN_RING_SLOTS) {
			*lost += waiting - WN_RING_SLOTS / 2;
			r->tail += waiting - WN_RING_SLOTS / 2;
			r->stuck_since = 0;
			continue;
		}
		stamp = wn_load_acquire(&s->stamp);
		for (int i = 0; i < 3; i++)
			p.word[i] = wn_load(&s->word[i]);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		/* A writer that came a lap later may have filled it before its stamp was set. */
		if (wn_load(&r->head) - r->tail > WN_RING_SLOTS)
			continue;
		if (stamp == r->tail + 1 && wn_load(&s->stamp) == stamp) {
			r->stuck_since = 0;
			r->tail++;
			*a = p.access;
			return true;
		}
		if (!r->stuck_since)
			r->stuck_since = now_ns;
		if (now_ns - r->stuck_since < STUCK_NS)
			return false;
		r->stuck_since = 0;
		r->tail++;
		++*lost;
	}
	return false;
}

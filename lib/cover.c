/* SPDX-License-Identifier: MIT */
#include "cover.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/mem.h"
#include "track/file.h"

#define LIFE_TICKS 8192u /* between eight and nine seconds */
#define WAYS 4u

_Static_assert(WN_FILES <= 256, "the key has room for eight bits");
#define SLOT_PAGES (64u * WN_COVER_WORDS)

static uint64_t key_of(struct wn_cover_file f, uint64_t page)
{
	/* Never 0, which is the key of an empty slot. */
	return (page / SLOT_PAGES) << 24 | 1 << 23 | (uint64_t)(f.serial & 0x7fff) << 8 | f.file;
}

static size_t bucket_of(uint64_t key)
{
	/* Multiplicative hashing (Knuth): the upper bits of the product are well mixed. */
	return (size_t)((key * 0x9e3779b97f4a7c15u) >> 40) % (WN_COVER_SLOTS / WAYS) * WAYS;
}

static bool fresh(const struct wn_cover *c, const struct wn_cover_slot *s)
{
	/* Signed: a thread whose clock is a tick ahead may have written the stamp. */
	return (int32_t)(wn_load(&c->now) - wn_load(&s->stamp)) <= (int32_t)LIFE_TICKS;
}

static const struct wn_cover_slot *lookup(const struct wn_cover *c, uint64_t key)
{
	const struct wn_cover_slot *s = &c->slot[bucket_of(key)];

	for (unsigned i = 0; i < WAYS; i++)
		if (wn_load_acquire(&s[i].key) == key)
			return fresh(c, &s[i]) ? &s[i] : NULL;
	return NULL;
}

static struct wn_cover_slot *lookup_or_recycle(struct wn_cover *c, uint64_t key)
{
	struct wn_cover_slot *s = &c->slot[bucket_of(key)], *oldest = s;

	for (unsigned i = 0; i < WAYS; i++) {
		if (wn_load(&s[i].key) == key) {
			oldest = &s[i];
			if (fresh(c, oldest))
				return oldest;
			break;
		}
		if (wn_load(&c->now) - wn_load(&s[i].stamp) >
		    wn_load(&c->now) - wn_load(&oldest->stamp))
			oldest = &s[i];
		if (!wn_load(&s[i].key)) {
			oldest = &s[i];
			break;
		}
	}
	wn_store_release(&oldest->key, 0);
	for (unsigned i = 0; i < WN_COVER_WORDS; i++)
		wn_store(&oldest->bits[i], 0);
	wn_store(&oldest->stamp, wn_load(&c->now));
	wn_store_release(&oldest->key, key);
	return oldest;
}

void wn_cover_tick(struct wn_cover *c, uint64_t now_ns)
{
	wn_store(&c->now, (uint32_t)(now_ns >> 20));
}

void wn_cover_clear(struct wn_cover *c)
{
	for (size_t i = 0; i < WN_COVER_SLOTS; i++)
		wn_store(&c->slot[i].key, 0);
}

/* The bits from `first` on, at most `count` of them, that lie in one word. */
static uint64_t mask_of(uint64_t first, uint64_t count)
{
	uint64_t bits = count >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1;

	return bits << (first % 64);
}

void wn_cover_mark(struct wn_cover *c, struct wn_cover_file f, uint64_t from, uint64_t to)
{
	uint64_t page = from / wn_page_size();
	uint64_t end = from < to ? wn_round_up(to, wn_page_size()) / wn_page_size() : 0;

	while (page < end) {
		struct wn_cover_slot *s = lookup_or_recycle(c, key_of(f, page));

		wn_store(&s->stamp, wn_load(&c->now));
		do {
			uint64_t *word = &s->bits[page % SLOT_PAGES / 64];

			__atomic_fetch_or(word, mask_of(page, end - page), __ATOMIC_RELAXED);
			page = wn_round_down(page, 64) + 64;
		} while (page < end && page % SLOT_PAGES);
	}
}

uint64_t wn_cover_asked(const struct wn_cover *c, struct wn_cover_file f, uint64_t from,
			uint64_t to)
{
	uint64_t page = from / wn_page_size();
	uint64_t end = wn_round_up(to, wn_page_size()) / wn_page_size();

	while (page < end) {
		const struct wn_cover_slot *s = lookup(c, key_of(f, page));
		uint64_t word = s ? wn_load(&s->bits[page % SLOT_PAGES / 64]) : 0;
		uint64_t unset = ~word >> (page % 64);

		if (unset) {
			unsigned run = (unsigned)__builtin_ctzll(unset);

			if (run < 64 - page % 64) {
				page += run;
				break;
			}
		}
		page = wn_round_down(page, 64) + 64;
	}
	return wn_above(wn_min(page * wn_page_size(), to), from);
}

void wn_cover_forget(struct wn_cover *c, struct wn_cover_file f, uint64_t from, uint64_t to)
{
	uint64_t page = from / wn_page_size();
	uint64_t end = wn_round_up(to, wn_page_size()) / wn_page_size();

	while (page < end) {
		struct wn_cover_slot *s = (struct wn_cover_slot *)lookup(c, key_of(f, page));
		uint64_t mask = mask_of(page, end - page);

		if (s)
			__atomic_fetch_and(&s->bits[page % SLOT_PAGES / 64], ~mask,
					   __ATOMIC_RELAXED);
		page = wn_round_down(page, 64) + 64;
	}
}

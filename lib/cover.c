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
/* Up to here slots are looked up one by one; beyond, all are passed through. */
#define FEW_SLOTS 64u

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

/* Signed: a thread whose clock is a tick ahead may have written the stamp. */
static int32_t age(const struct wn_cover *c, const struct wn_cover_slot *s)
{
	return (int32_t)(wn_load(&c->now) - wn_load(&s->stamp));
}

static bool fresh(const struct wn_cover *c, const struct wn_cover_slot *s)
{
	return age(c, s) <= (int32_t)LIFE_TICKS;
}

static const struct wn_cover_slot *lookup_any(const struct wn_cover *c, uint64_t key)
{
	const struct wn_cover_slot *s = &c->slot[bucket_of(key)];

	for (unsigned i = 0; i < WAYS; i++)
		if (wn_load_acquire(&s[i].key) == key)
			return &s[i];
	return NULL;
}

static const struct wn_cover_slot *lookup(const struct wn_cover *c, uint64_t key)
{
	const struct wn_cover_slot *s = lookup_any(c, key);

	return s && fresh(c, s) ? s : NULL;
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
	uint32_t now = (uint32_t)(now_ns >> 20);

	/* Read by all threads: written only when it has something new. */
	if (wn_load(&c->now) != now)
		wn_store(&c->now, now);
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

bool wn_cover_mark(struct wn_cover *c, struct wn_cover_file f, uint64_t from, uint64_t to)
{
	uint64_t page = from / wn_page_size();
	uint64_t end = from < to ? wn_round_up(to, wn_page_size()) / wn_page_size() : 0;
	uint64_t news = 0;

	while (page < end) {
		struct wn_cover_slot *s = lookup_or_recycle(c, key_of(f, page));

		wn_store(&s->stamp, wn_load(&c->now));
		do {
			uint64_t *word = &s->bits[page % SLOT_PAGES / 64];
			uint64_t mask = mask_of(page, end - page);

			news |= mask & ~__atomic_fetch_or(word, mask, __ATOMIC_RELAXED);
			page = wn_round_down(page, 64) + 64;
		} while (page < end && page % SLOT_PAGES);
	}
	return news;
}

uint32_t wn_cover_age(const struct wn_cover *c, struct wn_cover_file f, uint64_t from,
		      uint64_t to)
{
	uint64_t page = from / wn_page_size();
	uint64_t end = wn_round_up(to, wn_page_size()) / wn_page_size();
	int32_t oldest = 0;

	for (; page < end; page = wn_round_down(page, SLOT_PAGES) + SLOT_PAGES) {
		const struct wn_cover_slot *s = lookup_any(c, key_of(f, page));

		if (!s)
			return WN_COVER_NEVER;
		oldest = age(c, s) > oldest ? age(c, s) : oldest;
	}
	return (uint32_t)oldest;
}

/* Clears what a slot, which begins with the page `first`, has of [page, end). */
static void clear(struct wn_cover_slot *s, uint64_t first, uint64_t page, uint64_t end)
{
	for (; page < end && page < first + SLOT_PAGES; page = wn_round_down(page, 64) + 64)
		__atomic_fetch_and(&s->bits[page % SLOT_PAGES / 64], ~mask_of(page, end - page),
				   __ATOMIC_RELAXED);
}

static void forget_everywhere(struct wn_cover *c, uint64_t name, uint64_t page,
			      uint64_t end)
{
	for (size_t i = 0; i < WN_COVER_SLOTS; i++) {
		struct wn_cover_slot *s = &c->slot[i];
		uint64_t key = wn_load(&s->key);
		uint64_t first = (key >> 24) * SLOT_PAGES;

		if ((key & 0xffffff) == name && first < end && first + SLOT_PAGES > page)
			clear(s, first, wn_max(first, page), end);
	}
}

void wn_cover_forget(struct wn_cover *c, struct wn_cover_file f, uint64_t from, uint64_t to)
{
	uint64_t page = from / wn_page_size();
	uint64_t end = wn_round_up(wn_min(to, INT64_MAX), wn_page_size()) / wn_page_size();

	if (from >= to)
		return;
	if (end - page > FEW_SLOTS * SLOT_PAGES) {
		forget_everywhere(c, key_of(f, 0), page, end);
		return;
	}
	while (page < end) {
		uint64_t first = wn_round_down(page, SLOT_PAGES), key = key_of(f, page);
		struct wn_cover_slot *s = &c->slot[bucket_of(key)];

		for (unsigned i = 0; i < WAYS; i++)
			if (wn_load_acquire(&s[i].key) == key)
				clear(&s[i], first, page, end);
		page = first + SLOT_PAGES;
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

uint64_t wn_cover_missing(const struct wn_cover *c, struct wn_cover_file f, uint64_t from,
			  uint64_t to)
{
	uint64_t page = from / wn_page_size();
	uint64_t end = wn_round_up(to, wn_page_size()) / wn_page_size();
	uint64_t first = page;

	while (page < end) {
		const struct wn_cover_slot *s = lookup(c, key_of(f, page));
		uint64_t word = s ? wn_load(&s->bits[page % SLOT_PAGES / 64]) : 0;
		uint64_t set = word >> (page % 64);

		if (set) {
			page += (unsigned)__builtin_ctzll(set);
			break;
		}
		page = wn_round_down(page, 64) + 64;
	}
	return first == page ? 0 : wn_above(wn_min(page * wn_page_size(), to), from);
}

/* SPDX-License-Identifier: MIT */
#include "base/text.h"

struct wn_text wn_text_in(char *buf, size_t size)
{
	buf[0] = '\0';
	return (struct wn_text){ .buf = buf, .size = size };
}

void wn_text_add(struct wn_text *t, const char *s)
{
	while (*s && t->used + 1 < t->size)
		t->buf[t->used++] = *s++;
	t->buf[t->used] = '\0';
}

void wn_text_add_short(struct wn_text *t, const char *s)
{
	char start[49];
	struct wn_text head = wn_text_in(start, sizeof(start));

	wn_text_add(&head, s);
	wn_text_add(t, start);
	if (wn_length(s) > head.used)
		wn_text_add(t, "...");
}

void wn_text_number(struct wn_text *t, uint64_t v)
{
	char digits[21];
	size_t i = sizeof(digits) - 1;

	digits[i] = '\0';
	do {
		digits[--i] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	wn_text_add(t, digits + i);
}

size_t wn_length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

bool wn_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

const char *wn_after(const char *s, const char *prefix)
{
	while (*prefix)
		if (*s++ != *prefix++)
			return NULL;
	return s;
}

static unsigned digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	return 99;
}

bool wn_digits(const char **s, unsigned base, uint64_t *out)
{
	const char *p = *s;
	uint64_t v = 0;

	for (; digit_value(*p) < base; p++)
		if (__builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, digit_value(*p), &v))
			return false;
	if (p == *s)
		return false;
	*s = p;
	*out = v;
	return true;
}

bool wn_size(const char *s, uint64_t *out)
{
	static const char suffixes[] = "KMGT";
	unsigned shift = 0;

	if (!wn_digits(&s, 10, out))
		return false;
	for (unsigned i = 0; *s && i < 4; i++) {
		if (*s != suffixes[i] && *s != suffixes[i] + ('a' - 'A'))
			continue;
		shift = 10 * (i + 1);
		s++;
		break;
	}
	if (*s || (shift && *out >> (64 - shift)))
		return false;
	*out <<= shift;
	return true;
}

int wn_word_index(const char *list, char sep, const char *word)
{
	for (int index = 0;; index++) {
		const char *w = word;

		while (*list && *list != sep && *list == *w) {
			list++;
			w++;
		}
		if ((!*list || *list == sep) && !*w)
			return index;
		while (*list && *list != sep)
			list++;
		if (!*list++)
			return -1;
	}
}

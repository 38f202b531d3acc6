/* SPDX-License-Identifier: MIT */
/*
 * text.h - text without libc: building short lines, reading numbers.
 * Calls nothing.  Output is cut at the end of the buffer and always terminated.
 */
#ifndef WN_TEXT_H
#define WN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wn_text {
	char *buf;
	size_t size;
	size_t used; /* without the final NUL */
};

struct wn_text wn_text_in(char *buf, size_t size);
void wn_text_add(struct wn_text *t, const char *s);
/* The same, but the middle of a long text is left out. */
void wn_text_add_short(struct wn_text *t, const char *s);
void wn_text_number(struct wn_text *t, uint64_t v);

size_t wn_length(const char *s);
bool wn_equal(const char *a, const char *b);
/* What follows prefix in s, or NULL. */
const char *wn_after(const char *s, const char *prefix);
/* Reads digits at *s and moves *s behind them; false on none or on overflow. */
bool wn_digits(const char **s, unsigned base, uint64_t *out);
/* A whole string as a number with an optional suffix K, M, G or T (powers of 1024). */
bool wn_size(const char *s, uint64_t *out);
/* Is word one of the words in list, which are separated by sep?  Gives its index. */
int wn_word_index(const char *list, char sep, const char *word);

#endif

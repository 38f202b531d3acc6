/* SPDX-License-Identifier: MIT */
/*
 * lines KIND FILE: what libc's streams give for lines and characters, as a checksum.
 *	getline, getdelim, __getdelim, fgets, fgets_unlocked, __fgets_chk, getc, getc_unlocked
 *		the whole file
 *	odd	all of them, on streams of every kind, mixed with seeks and what is pushed back
 *	reopen	another file under the same number: freopen()
 */
#include <stdio_ext.h>

#include "host.h"

extern ssize_t __getdelim(char **line, size_t *room, int end, FILE *stream);
extern char *__fgets_chk(char *to, size_t size, int room, FILE *stream);

static char *line, buf[3000];
static size_t room;
static uint64_t sum;

static void add(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum = sum * 31 + (unsigned char)p[i];
}

/* What fgets() says nothing about is how much it read: lines have no zeroes here. */
static bool add_text(const char *text)
{
	if (text)
		add(text, strlen(text) + 1);
	return text;
}

static bool add_line(ssize_t n)
{
	if (n > 0)
		add(line, (size_t)n);
	return n > 0;
}

static bool add_char(int c)
{
	char one = (char)c;

	if (c != EOF)
		add(&one, 1);
	return c != EOF;
}

static bool next(const char *kind, FILE *f)
{
	if (!strcmp(kind, "getline"))
		return add_line(getline(&line, &room, f));
	if (!strcmp(kind, "getdelim"))
		return add_line(getdelim(&line, &room, 'e', f));
	if (!strcmp(kind, "__getdelim"))
		return add_line(__getdelim(&line, &room, '\n', f));
	if (!strcmp(kind, "fgets"))
		return add_text(fgets(buf, sizeof(buf), f));
	if (!strcmp(kind, "fgets_unlocked"))
		return add_text(fgets_unlocked(buf, sizeof(buf), f));
	if (!strcmp(kind, "__fgets_chk"))
		return add_text(__fgets_chk(buf, sizeof(buf), sizeof(buf), f));
	if (!strcmp(kind, "getc"))
		return add_char(getc(f));
	if (!strcmp(kind, "getc_unlocked"))
		return add_char(getc_unlocked(f));
	die("%s", kind);
}

static const char *const kinds[] = {"getline", "getdelim",       "__getdelim",
				    "fgets",   "fgets_unlocked", "__fgets_chk",
				    "getc",    "getc_unlocked"};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void show(const char *what, FILE *f)
{
	printf("%s: %016lx at %ld, end %d, error %d, errno %d\n", what, sum,
	       f ? ftell(f) : -1, f ? feof(f) : -1, f ? ferror(f) : -1, errno);
	errno = 0;
}

static void mixed(FILE *f)
{
	for (size_t k = 0; k < KINDS; k++) {
		for (int i = 0; i < 50; i++)
			next(kinds[k], f);
		show(kinds[k], f);
		ungetc('x', f);
		next(kinds[k], f);
		show("pushed back", f);
		fseek(f, 123456, SEEK_SET);
		next(kinds[k], f);
		fseek(f, -100, SEEK_END);
		while (next(kinds[k], f))
			;
		show("to the end", f);
		next(kinds[k], f);
		rewind(f);
	}
}

static void odd(const char *path)
{
	static const int buffering[] = {_IOFBF, _IOLBF, _IONBF};
	size_t none = 0;
	FILE *f;

	for (int b = 0; b < 3; b++) {
		for (size_t size = 1; size <= MIB; size *= 64) {
			f = fopen(path, "r");
			setvbuf(f, NULL, buffering[b], size);
			mixed(f);
			fclose(f);
		}
	}
	f = fopen(path, "rm");
	mixed(f);
	fclose(f);
	f = fmemopen(buf, 100, "w+");
	fputs("one\ntwo\nthree", f);
	rewind(f);
	mixed(f);
	fclose(f);
	f = popen("echo one; echo two", "r");
	for (size_t k = 0; k < KINDS; k++)
		next(kinds[k], f);
	show("pipe", f);
	pclose(f);
	f = tmpfile();
	fputs("written\n", f);
	for (size_t k = 0; k < KINDS; k++)
		next(kinds[k], f);
	show("written", f);
	close(fileno(f));
	rewind(f);
	next("getline", f);
	show("closed below", f);
	fclose(f);
	f = fopen("/tmp", "r");
	next("getline", f);
	next("getc_unlocked", f);
	show("folder", f);
	fclose(f);
	/* Refused before the stream is looked at. */
	printf("%zd ", getline(NULL, NULL, NULL));
	show("getline of nothing", NULL);
	printf("%zd ", getdelim(NULL, &none, 'x', NULL));
	show("getdelim of nothing", NULL);
	printf("%d ", fgets(buf, 0, NULL) == NULL);
	show("fgets of nothing", NULL);
}

/* The stream keeps its number, and what was known of that is of the past. */
static void reopen(const char *path, const char *other)
{
	FILE *f = fopen(path, "r");
	int number = fileno(f);

	while (next("getline", f))
		;
	show("first", f);
	MUST(freopen(other, "r", f) == f && fileno(f) == number);
	while (next("getline", f))
		;
	show("second", f);
	/* And elsewhere in it, when it has been cut. */
	rewind(f);
	MUST(truncate(other, 1000000) == 0);
	while (next("fgets", f))
		;
	show("cut", f);
	fclose(f);
}

int main(int argc, char **argv)
{
	MUST(argc >= 3);
	errno = 0;
	if (!strcmp(argv[1], "odd")) {
		odd(argv[2]);
	} else if (!strcmp(argv[1], "reopen")) {
		reopen(argv[2], argv[3]);
	} else {
		FILE *f = fopen(argv[2], "r");

		MUST(f);
		while (next(argv[1], f))
			;
		show(argv[1], f);
		fclose(f);
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * How long a bench will take, before it begins: from what its patterns read, and from how
 * fast the file was read just now, in sequence and a page here and there.
 */
#include "bench.h"
#include "base/text.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB 1048576.0

/* What the kernel reads at once for who reads in sequence, at the default. */
enum { WINDOW = 128 << 10, PAGE = 4096 };

struct pace {
	double rate;  /* bytes a second, in sequence */
	double page;  /* seconds for a page somewhere else */
	double evict; /* seconds until the file is cold */
};

/* Is an option of the pattern this word? */
static bool is(const char *pattern, const char *option, const char *word)
{
	const char *at = strstr(pattern, option);
	size_t length = strlen(word);

	if (!at)
		return false;
	at += strlen(option);
	return *at == ' ' && !strncmp(at + 1, word, length) &&
	       (!at[1 + length] || at[1 + length] == ' ');
}

/* The number of an option, also "25%" of size; a negative one counts back from its end. */
static double number(const char *pattern, const char *option, double size, double missing)
{
	const char *at = strstr(pattern, option);
	char word[32];
	uint64_t value;
	bool back;

	if (!at)
		return missing;
	at += strlen(option) + 1;
	back = *at == '-';
	at += back;
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(at, " "), at);
	if (strchr(word, '%'))
		return size * atof(word) / 100;
	if (!wn_size(word, &value))
		return missing;
	return back ? size - (double)value : (double)value;
}

/* The bytes that a pattern reads of a file of this size. */
static double bytes_of(const char *pattern, double size)
{
	double start = number(pattern, "--start", size, 0);
	double length = fmin(number(pattern, "--length", size, size), size - start);
	double piece = number(pattern, "--piece", size, 8 * MIB);
	double threads = number(pattern, "--threads", size, 1);
	double pieces = number(pattern, "--pieces", size, 0);

	/* A stride of less than the window is read as a whole. */
	length *= fmin(1, fmax(piece, WINDOW) / number(pattern, "--stride", size, piece));
	if (pieces > 0)
		length = fmin(length, pieces * piece * threads);
	return length * number(pattern, "--passes", size, 1);
}

/* The reads of the device for them, if nobody reads ahead. */
static double reads_of(const char *pattern, double bytes)
{
	double piece = number(pattern, "--piece", bytes, 8 * MIB);
	bool mapped =
		strncmp(pattern, "copy", 4) == 0 || strncmp(pattern, "load", 4) == 0;
	bool apart = is(pattern, "--advice", "random");
	bool backward = is(pattern, "--order", "backward");

	if (mapped && (apart || (backward && is(pattern, "--advice", "sequential"))))
		return bytes / PAGE;
	if (apart || backward || is(pattern, "--order", "random"))
		return bytes / fmin(piece, WINDOW);
	return bytes / WINDOW;
}

/* Seconds of one run; helped: what is ahead is asked for in time, where it can be known. */
static double run_time(const char *pattern, const struct bench_place *p, double size,
		       const struct pace *pace, bool helped)
{
	double bytes = bytes_of(pattern, size) * (p->files ? p->files : 1);
	double reads = reads_of(pattern, bytes);
	double lookups = number(pattern, "--lookups", size, 0);
	double time = bytes / pace->rate + lookups * pace->page;

	if (helped && !is(pattern, "--order", "random"))
		reads = bytes / WINDOW;
	else if (reads > 1.5 * bytes / WINDOW)
		time = fmax(time, reads * pace->page);
	if (p->rate)
		time = fmax(time, bytes / (double)p->rate);
	if (p->iops)
		time = fmax(time, reads / (double)p->iops);
	return time;
}

/* One run of each variant. */
static double case_time(const struct bench *b, const struct bench_args *args,
			const struct bench_case *c, const struct pace *pace)
{
	struct bench_place p = bench_place_of(args, c, -1);
	double size = (double)b->size, time;

	if (p.mib)
		size = fmin(size, (double)p.mib * MIB);
	if (p.files)
		size /= p.files;
	time = run_time(c->pattern, &p, size, pace, false) +
	       run_time(c->pattern, &p, size, pace, true);
	if (c->limit)
		time += run_time(c->limit, &p, size, pace, true);
	return time + (c->limit ? 3 : 2) * pace->evict;
}

/* Seconds that a read of so many bytes takes there. */
static double timed_read(int fd, char *buf, size_t length, uint64_t at)
{
	double begin = bench_now();

	for (size_t done = 0; done < length; done += WINDOW) {
		if (pread(fd, buf, length < WINDOW ? length : WINDOW,
			  (off_t)(at + done)) < 0)
			return NAN;
	}
	return bench_now() - begin;
}

/* The first half of the file in sequence, at most, and pages far apart in the other. */
static bool probe(const struct bench_file *f, struct pace *pace)
{
	enum { CHUNK = 8 << 20, SAMPLES = 32 };
	const uint64_t half = f->size / 2;
	double chunks[SAMPLES], pages[SAMPLES], begin = bench_now();
	static char buf[WINDOW];
	const char *why;
	unsigned n = 0;
	int fd;

	if (bench_file_prepare(f, STATE_COLD, &why) < 0)
		return false;
	pace->evict = bench_now() - begin;
	fd = open(f->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	for (; n < SAMPLES && (n + 1) * (uint64_t)CHUNK <= half; n++)
		chunks[n] = timed_read(fd, buf, CHUNK, n * (uint64_t)CHUNK);
	/* Each is read alone, whatever the read-ahead size. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (unsigned i = 0; i < SAMPLES; i++)
		pages[i] = timed_read(fd, buf, PAGE, half + half / SAMPLES * i);
	close(fd);
	/* Others may read from the device or write to it now and then. */
	pace->rate = CHUNK / bench_median(chunks, n);
	pace->page = bench_median(pages, SAMPLES);
	return isfinite(pace->rate) && isfinite(pace->page);
}

static void in_words(double seconds, char *text, size_t size)
{
	if (seconds < 50)
		snprintf(text, size, ", some seconds");
	else if (seconds < 90)
		snprintf(text, size, ", about a minute");
	else if (seconds < 5400)
		snprintf(text, size, ", about %.0f minutes", seconds / 60);
	else
		snprintf(text, size, ", about %.1f hours", seconds / 3600);
}

void bench_estimate(const struct bench *b, const struct bench_args *args,
		    const struct bench_case *const *cases, unsigned count)
{
	const struct bench_site *s = &b->sites[0];
	unsigned levels = args->read_aheads ? args->read_aheads : 1, runs = 0;
	char when[64] = "";
	double time = 0;
	struct pace pace;
	bool known = s->ready && s->files[0].temporary && probe(&s->files[0], &pace);

	for (unsigned i = 0; i < count; i++) {
		runs += cases[i]->limit ? VARIANTS : VARIANTS - 1;
		if (known)
			time += case_time(b, args, cases[i], &pace);
	}
	runs *= levels * args->runs;
	if (known)
		in_words(time * levels * args->runs, when, sizeof(when));
	wn_say("%u case%s%s, %u time%s each: %u runs%s%s", count, count == 1 ? "" : "s",
	       levels > 1 ? " at each read_ahead_kb" : "", args->runs,
	       args->runs == 1 ? "" : "s", runs, when,
	       args->only || args->quick || args->command
		       ? ""
		       : " (fewer: --quick, --only; see --list)");
}

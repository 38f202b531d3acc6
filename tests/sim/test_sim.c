/* SPDX-License-Identifier: MIT */
/*
 * Recorded accesses through stream and policy, with the null engine: the orders must be
 * those that the scenario expects, and keep the promises of policy.h.
 *
 *	test_sim		all scenarios, as TAP
 *	test_sim FILE		FILE with the orders that are given now: to be read, and
 *				put in its place, when policy changes on purpose
 *
 * A scenario (*.sim) is text, '#' begins a comment:
 *
 *	file SIZE		of the one file
 *	device RA REQUEST	read_ahead_kb and max_sectors_kb
 *	memory SIZE		that is available
 *	shared			streams may meet: sorting that out is the cover's task
 *	copies THREAD OFFSET LENGTH [COUNT [STRIDE [exact|down]]]
 *				COUNT copies by one thread, each STRIDE after the last;
 *				down: before it
 *	faults THREAD OFFSET COUNT STEP up|down major|minor
 *				COUNT page faults of plain loads, each STEP from the last
 *	reads THREAD OFFSET LENGTH COUNT STRIDE up|down|jitter|random
 *				COUNT reads through one descriptor, looked at as the
 *				wrappers do; jitter: up, but out of order within four
 *	wait			until all threads have done what stands above
 *	orders			and from here on: FROM TO SLACK, or FROM TO asked, by
 *				the thread itself for the read that it is about to make
 *
 * Threads go side by side, a MiB or a read each in turn; the helper makes a round after
 * each turn.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/kit.h"
#include "../unit/test.h"
#include "base/text.h"
#include "reads.h"

enum { THREADS = 32, COPIES = 256, ORDERS = 4096, LINE = 200 };
#define PIECE MIB
#define BLOCK (4 * KIB) /* what the invariants count in */

static struct thread {
	struct copy {
		uint64_t offset, length, done;
		bool exact, down;
	} copy[COPIES];
	unsigned copies, at;
} threads[THREADS];

/* What one line of reads does; lines of one thread take turns too. */
static struct lane {
	uint64_t thread, offset, length, count, stride, at;
	char how; /* the first letter */
} lanes[THREADS];
static unsigned lane_count;
static struct wn_reader readers[THREADS];

static struct sim {
	char path[512];
	char input[64 * 1024]; /* all before the orders, as it was */
	char want[256 * 1024];
	char got[256 * 1024];
	uint64_t size, readahead, request, memory;
	bool shared;
	/* For the invariants, in blocks and bytes. */
	unsigned char *demanded, *ordered, *seen;
	uint64_t begun, consumed, asked, furthest;
	char broken[200];
} sim;

/* -- Orders come out ----------------------------------------------------------------- */

static void complain(const char *what, const struct wn_order *o)
{
	if (!sim.broken[0])
		snprintf(sim.broken, sizeof(sim.broken), "%s at %lluK-%lluK", what,
			 (unsigned long long)(o->from / KIB),
			 (unsigned long long)(o->to / KIB));
}

static void append(uint64_t v, char after)
{
	size_t n = strlen(sim.got);

	snprintf(sim.got + n, sizeof(sim.got) - n, v % KIB || !v ? "%llu%c" : "%lluK%c",
		 (unsigned long long)(v % KIB ? v : v / KIB), after);
}

static void recorded(void *ctx, uint16_t file, const struct wn_order *o)
{
	uint64_t unit = kit.st->engine.file[file].unit;

	(void)ctx;
	append(o->from, ' ');
	append(o->to, ' ');
	append(o->slack, '\n');
	if (o->from >= o->to)
		complain("an order for nothing", o);
	if (o->to > sim.size)
		complain("an order beyond the end of the file", o);
	for (uint64_t b = o->from / BLOCK; b < (o->to + BLOCK - 1) / BLOCK; b++) {
		/* Neighbours share a block where they meet. */
		if (sim.ordered[b] && b > o->from / BLOCK && !sim.shared)
			complain("ordered twice", o);
		sim.asked += sim.ordered[b] ? 0 : BLOCK;
		sim.ordered[b] = 1;
	}
	if (sim.asked > sim.begun + sim.consumed + unit)
		complain("more than the evidence allows", o);
	if (lane_count)
		wn_cover_mark(&kit.st->cover,
			      (struct wn_cover_file){
				      file, wn_load(&kit.track->files.slot[file].serial) },
			      o->from, o->to);
}

/* What has been neither read nor asked for, the thread has to read from the device. */
static void read_block(uint64_t b)
{
	fake.blocks += sim.seen[b] || sim.ordered[b] ? 0 : BLOCK / 512;
	sim.seen[b] = 1;
}

/* What a thread asks for itself, before it reads all of it. */
static void asked_inline(int file, uint64_t offset, uint64_t length)
{
	size_t n;

	(void)file;
	append(offset, ' ');
	append(offset + length, ' ');
	n = strlen(sim.got);
	snprintf(sim.got + n, sizeof(sim.got) - n, "asked\n");
	for (uint64_t b = offset / BLOCK; b < (offset + length + BLOCK - 1) / BLOCK; b++)
		read_block(b);
}

/* -- Accesses go in ------------------------------------------------------------------ */

static void begin(struct copy *c, uint32_t thread)
{
	struct wn_access a = {
		.offset = c->offset,
		.length = c->length,
		.thread = 1000 + thread,
		.file = kit.slot,
		.kind = WN_ACCESS_BEGIN,
		.flags = c->exact ? WN_ACCESS_EXACT : c->down ? WN_ACCESS_DOWN : 0,
	};

	wn_ring_push(&kit.st->ring, &a);
	sim.begun += c->length;
	for (uint64_t b = c->offset / BLOCK;
	     b < (c->offset + c->length + BLOCK - 1) / BLOCK; b++)
		sim.demanded[b] |= c->exact ? 2 : 1;
}

/* The next piece of a thread; false when it has nothing left. */
static bool advance(struct thread *t)
{
	struct copy *c = &t->copy[t->at];
	struct wn_access a;

	if (t->at == t->copies)
		return false;
	if (!c->done)
		begin(c, (uint32_t)(t - threads));
	a = (struct wn_access){
		.offset = c->offset + c->done,
		.length = c->length - c->done < PIECE ? c->length - c->done : PIECE,
		.thread = 1000 + (uint32_t)(t - threads),
		.file = kit.slot,
		.kind = WN_ACCESS_STEP,
		.flags = c->exact ? WN_ACCESS_EXACT : 0,
	};
	wn_ring_push(&kit.st->ring, &a);
	c->done += a.length;
	sim.consumed += c->exact ? 0 : a.length;
	t->at += c->done == c->length;
	return true;
}

/* The pieces of a lane, in their order. */
static uint64_t place(struct lane *l)
{
	static const uint64_t jitter[] = { 2, 0, 3, 1 };
	static uint64_t seed = 88172645463325252u;
	uint64_t i = l->at++;

	switch (l->how) {
	case 'd':
		return l->offset - i * l->stride;
	case 'j':
		return l->offset + (i - i % 4 + jitter[i % 4]) * l->stride;
	case 'r':
		return random_between(&seed, 0, (sim.size - l->length) / l->stride) * l->stride;
	}
	return l->offset + i * l->stride;
}

static bool read_on(struct lane *l)
{
	struct wn_reader *me = &readers[l->thread];
	uint64_t offset;

	if (l->at == l->count)
		return false;
	offset = place(l);
	fake.thread = 1000 + (int)l->thread;
	sim.begun += l->length;
	sim.consumed += l->length;
	if (!wn_reads_granted(me, KIT_FD, l->length))
		wn_reads_look(me, KIT_FD, (int64_t)offset, l->length, true);
	for (uint64_t b = offset / BLOCK; b < (offset + l->length + BLOCK - 1) / BLOCK; b++)
		read_block(b);
	wn_loop_round(&kit.loop);
	fake.now_ns += MS_NS / 10;
	return true;
}

static void run(void)
{
	bool any;

	do {
		any = false;
		for (unsigned i = 0; i < lane_count; i++)
			any |= read_on(&lanes[i]);
	} while (any);

	do {
		any = false;
		for (int i = 0; i < THREADS; i++)
			any |= advance(&threads[i]);
		wn_loop_round(&kit.loop);
		fake.now_ns += MS_NS;
	} while (any);
}

/* -- Scenarios ----------------------------------------------------------------------- */

static void prepare(void)
{
	static char memory[64];

	kit_empty();
	fake_device_texts(sim.readahead, sim.request);
	snprintf(memory, sizeof(memory), "MemAvailable: %llu kB\n",
		 (unsigned long long)(sim.memory / KIB));
	fake_set_text("/proc/meminfo", memory);
	kit.file = fake_huge_file("/data/file", 4711, sim.size);
	kit.slot = kit_watch(kit.file, KIT_FD, KIT_ADDR, sim.size);
	kit.loop.k.record_only = true;
	kit.loop.k.recorded = recorded;
	sim.demanded = calloc(sim.size / BLOCK + 1, 1);
	sim.ordered = calloc(sim.size / BLOCK + 1, 1);
	sim.seen = calloc(sim.size / BLOCK + 1, 1);
	if (!sim.demanded || !sim.ordered || !sim.seen)
		abort();
	fake.on_advice = asked_inline;
}

static bool add_reads(char *const word[], int words)
{
	struct lane *l = &lanes[lane_count];
	uint64_t *field[] = { &l->thread, &l->offset, &l->length, &l->count, &l->stride };
	uint64_t way;

	for (int i = 0; i < 5; i++)
		if (words != 7 || lane_count == THREADS || !wn_size(word[i + 1], field[i]))
			return false;
	l->how = word[6][0];
	l->at = 0;
	way = l->count * l->stride;
	lane_count++;
	return l->thread < THREADS && l->length && l->stride && strchr("udjr", l->how) &&
	       (l->how == 'r' || (l->how == 'd' ? way <= l->offset + l->stride :
						  l->offset + way <= sim.size + l->stride));
}

static bool add_copies(char *const word[], int words)
{
	bool exact = words > 6 && !strcmp(word[6], "exact");
	bool down = words > 6 && !strcmp(word[6], "down");
	uint64_t v[5] = { 0, 0, 0, 1, 0 };
	struct thread *t;

	for (int i = 1; i < words && i <= 5; i++)
		if (!wn_size(word[i], &v[i - 1]))
			return false;
	if (words < 4 || v[0] >= THREADS || !v[2])
		return false;
	t = &threads[v[0]];
	for (uint64_t i = 0; i < v[3]; i++) {
		if (t->copies == COPIES || v[1] + v[2] > sim.size)
			return false;
		t->copy[t->copies++] = (struct copy){
			.offset = v[1],
			.length = v[2],
			.exact = exact,
			.down = down && i,
		};
		v[1] += down ? -(v[4] ? v[4] : v[2]) : v[4] ? v[4] : v[2];
	}
	return true;
}

/* Each fault is seen at once, and answered. */
static bool add_faults(char *const word[], int words)
{
	uint64_t v[4];

	for (int i = 1; i < 5; i++)
		if (words != 7 || !wn_size(word[i], &v[i - 1]))
			return false;
	for (uint64_t i = 0; i < v[2]; i++) {
		struct wn_access a = {
			.offset = v[1],
			.length = BLOCK,
			.thread = 1000 + (uint32_t)v[0],
			.file = kit.slot,
			.kind = WN_ACCESS_FAULT,
			.flags = strcmp(word[6], "major") ? 0 : WN_ACCESS_FAULTED,
		};

		wn_ring_push(&kit.st->ring, &a);
		/* The first one tells no way; there the kernel's own readahead counts. */
		sim.consumed += i ? v[3] : 128 * KIB;
		sim.begun += i ? v[3] : 0;
		wn_loop_round(&kit.loop);
		fake.now_ns += MS_NS / 10;
		v[1] = strcmp(word[5], "down") ? v[1] + v[3] : v[1] - v[3];
	}
	return true;
}

static bool command(char *line)
{
	char *word[8], *rest = line;
	int words = 0;

	for (char *w; words < 8 && (w = strtok_r(rest, " \t\n", &rest));)
		word[words++] = w;
	if (!words || word[0][0] == '#')
		return true;
	if (!strcmp(word[0], "file") && words == 2)
		return wn_size(word[1], &sim.size);
	if (!strcmp(word[0], "device") && words == 3)
		return wn_size(word[1], &sim.readahead) && wn_size(word[2], &sim.request);
	if (!strcmp(word[0], "memory") && words == 2)
		return wn_size(word[1], &sim.memory);
	if (!strcmp(word[0], "shared"))
		return sim.shared = true;
	if (!sim.demanded)
		prepare();
	if (!strcmp(word[0], "faults"))
		return add_faults(word, words);
	if (!strcmp(word[0], "reads"))
		return add_reads(word, words);
	if (!strcmp(word[0], "wait"))
		run();
	return !strcmp(word[0], "wait") ||
	       (!strcmp(word[0], "copies") && add_copies(word, words));
}

/* False: the file cannot be read or understood. */
static bool play(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[LINE];
	bool orders = false, good = f != NULL;

	free(sim.demanded);
	free(sim.ordered);
	free(sim.seen);
	memset(&sim, 0, sizeof(sim));
	memset(threads, 0, sizeof(threads));
	memset(lanes, 0, sizeof(lanes));
	memset(readers, 0, sizeof(readers));
	lane_count = 0;
	while (good && fgets(line, sizeof(line), f)) {
		strcat(orders ? sim.want : sim.input, line);
		if (!orders && !strcmp(line, "orders\n"))
			orders = true;
		else if (!orders)
			good = command(line);
	}
	if (f)
		fclose(f);
	if (!good || !sim.demanded)
		return false;
	run();
	return true;
}

static void check_promises(void)
{
	for (uint64_t b = 0; b < sim.size / BLOCK && !sim.broken[0]; b++) {
		struct wn_order o = { .from = b * BLOCK, .to = (b + 1) * BLOCK };

		if (sim.demanded[b] && !sim.ordered[b])
			complain("read but never ordered", &o);
		if (!sim.demanded[b] && sim.ordered[b] && !sim.consumed)
			complain("ordered though everything is exact", &o);
	}
}

TEST(scenario)
{
	assert_true(play(*state));
	check_promises();
	assert_string_equal(sim.broken, "");
	assert_string_equal(sim.got, sim.want);
}

static int is_scenario(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 4 && !strcmp(d->d_name + n - 4, ".sim");
}

static int all_scenarios(const char *dir)
{
	static struct CMUnitTest tests[64];
	static char paths[64][1024];
	struct dirent **names;
	int failed, n = scandir(dir, &names, is_scenario, alphasort);

	if (n <= 0 || n > 64) {
		printf("Bail out! no scenarios in %s\n", dir);
		return 1;
	}
	for (int i = 0; i < n; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", dir, names[i]->d_name);
		tests[i] = (struct CMUnitTest){
			.name = names[i]->d_name,
			.test_func = scenario,
			.initial_state = paths[i],
		};
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = _cmocka_run_group_tests("tests", tests, (size_t)n, NULL, NULL);
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
	free(sim.demanded);
	free(sim.ordered);
	free(sim.seen);
	return failed;
}

int main(int argc, char **argv)
{
	const char *top = getenv("WN_SRCDIR");
	char dir[512];

	if (argc > 1) {
		if (!play(argv[1])) {
			fprintf(stderr, "test_sim: %s is no scenario\n", argv[1]);
			return 2;
		}
		check_promises();
		if (sim.broken[0])
			fprintf(stderr, "test_sim: %s: %s\n", argv[1], sim.broken);
		printf("%s%s", sim.input,
		       strstr(sim.input, "\norders\n") ? "" : "orders\n");
		fputs(sim.got, stdout);
		return sim.broken[0] != '\0';
	}
	snprintf(dir, sizeof(dir), "%s/tests/sim", top ? top : ".");
	return all_scenarios(dir);
}

/* SPDX-License-Identifier: MIT */
/* startup self | warm FILE | passes FILE | memory [FILE] | faults PROGRAM [PRELOAD] */
#include <spawn.h>
#include <sys/resource.h>

#include "host.h"

extern char **environ;

/* What a program can see of itself, but for numbers that differ from run to run. */
static void self(void)
{
	static const char *const keys[] = { "Threads:", "SigPnd:", "SigBlk:", "SigIgn:",
					    "SigCgt:",	"NoNewPrivs:", "Seccomp:", "VmLck:" };
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");

	printf("errno %d\n", errno);
	MUST(f);
	while (fgets(line, sizeof(line), f))
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (!strncmp(line, keys[i], strlen(keys[i])))
				fputs(line, stdout);
	fclose(f);
	printf("descriptors %d, tasks %d\n", entries("/proc/self/fd"), tasks());
	for (char **e = environ; *e; e++)
		if (strncmp(*e, "LD_PRELOAD=", 11) && strncmp(*e, "_=", 2))
			puts(*e);
}

static void pass(const struct view *v, size_t piece)
{
	static char buf[4 << 20];

	for (size_t at = 0; at + piece <= v->size; at += piece)
		copy(buf, v->at + at, piece);
}

static void warm(const char *path)
{
	struct view v = view_of(path, PROT_READ, MAP_PRIVATE);

	/* By another way than copies out of a mapping. */
	for (size_t at = 0; at < v.size; at += 4096)
		(void)*(volatile char *)(v.at + at);
	pass(&v, 64);
	pass(&v, 4096);
	pass(&v, 4 << 20);
	self();
}

static void passes(const char *path)
{
	struct view v = view_of(path, PROT_READ, MAP_PRIVATE);

	for (int i = 0; i < 100; i++)
		pass(&v, 4 << 20);
}

static void memory(const char *path)
{
	char line[4096];
	long anonymous = 0;
	int mappings = 0;
	struct view v;
	FILE *f;

	if (path) {
		v = view_of(path, PROT_READ, MAP_PRIVATE);
		read_all(&v, 0, v.size, 4 * MIB);
	}
	f = fopen("/proc/self/status", "r");
	MUST(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "RssAnon: %ld", &anonymous);
	fclose(f);
	f = fopen("/proc/self/maps", "r");
	MUST(f);
	while (fgets(line, sizeof(line), f))
		mappings++;
	fclose(f);
	printf("anonymous KiB %ld\nmappings %d\n", anonymous, mappings);
}

/* The mean number of page faults of a program, over many runs. */
static void faults(char *program, const char *preload)
{
	enum { RUNS = 200 };
	char *argv[] = { program, NULL };
	struct rusage usage;
	long total = 0;
	int status;
	pid_t pid;

	if (preload)
		setenv("LD_PRELOAD", preload, 1);
	else
		unsetenv("LD_PRELOAD");
	for (int i = 0; i < RUNS; i++) {
		MUST(posix_spawn(&pid, program, NULL, NULL, argv, environ) == 0);
		MUST(wait4(pid, &status, 0, &usage) == pid && status == 0);
		total += usage.ru_minflt + usage.ru_majflt;
	}
	printf("%ld\n", (total + RUNS / 2) / RUNS);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "self"))
		self();
	else if (argc == 3 && !strcmp(argv[1], "warm"))
		warm(argv[2]);
	else if (argc == 3 && !strcmp(argv[1], "passes"))
		passes(argv[2]);
	else if (argc >= 2 && !strcmp(argv[1], "memory"))
		memory(argv[2]);
	else if (argc >= 3 && !strcmp(argv[1], "faults"))
		faults(argv[2], argv[3]);
	else
		return 2;
	return 0;
}

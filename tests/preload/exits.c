/* SPDX-License-Identifier: MIT */
/* exits WAY FILE: reads a file cold in part, and ends in that way, with a status of its own. */
#include <dlfcn.h>

#include "host.h"

static struct view v;

static void *last(void *unused)
{
	(void)unused;
	read_all(&v, 12 * MIB, 16 * MIB, 4 * MIB);
	exit(25);
}

static void *endless(void *unused)
{
	char *buf = anon(4 * MIB);
	(void)unused;

	for (size_t at = 0;; at = (at + 4 * MIB) % v.size)
		copy(buf, v.at + at, 4 * MIB);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *way = argv[1];
	pthread_t t;
	void *lib;

	MUST(argc == 3);
	v = view_of(argv[2], PROT_READ, MAP_PRIVATE);
	read_all(&v, 0, 8 * MIB, 4 * MIB);
	if (!strcmp(way, "return"))
		return 20;
	if (!strcmp(way, "exit"))
		exit(21);
	if (!strcmp(way, "_exit"))
		_exit(22);
	if (!strcmp(way, "quick_exit"))
		quick_exit(23);
	if (!strcmp(way, "abort"))
		abort();
	if (!strcmp(way, "kill"))
		raise(SIGKILL);
	if (!strcmp(way, "segv"))
		raise(SIGSEGV);
	if (!strcmp(way, "group"))
		syscall(SYS_exit_group, 24L);
	if (!strcmp(way, "thread")) {
		MUST(pthread_create(&t, NULL, last, NULL) == 0);
		pthread_join(t, NULL);
	}
	if (!strcmp(way, "main_thread")) {
		MUST(pthread_create(&t, NULL, last, NULL) == 0);
		pthread_exit(NULL);
	}
	if (!strcmp(way, "exec"))
		execl("/bin/sh", "sh", "-c", "exit 26", NULL);
	if (!strcmp(way, "dlclose")) {
		for (int i = 0; i < 3; i++)
			MUST(pthread_create(&t, NULL, endless, NULL) == 0);
		for (int i = 0; i < 20; i++) {
			lib = dlopen("libm.so.6", RTLD_NOW);
			MUST(lib && dlclose(lib) == 0);
		}
		exit(27);
	}
	return 2;
}

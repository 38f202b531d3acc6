/* SPDX-License-Identifier: MIT */
/* sandbox KIND FILE: gives up its rights after cold reads, and goes on copying. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "host.h"

static struct view v;
static char *buf;

/* Copies without any other call, and says so by write(2) alone. */
static void copy_on(size_t from)
{
	for (size_t at = from; at < v.size; at += 4 * MIB) {
		copy(buf, v.at + at, 4 * MIB);
		if (!right(buf, at, 4 * MIB))
			syscall(SYS_exit, 1L);
	}
	if (write(1, "still right\n", 12) != 12)
		syscall(SYS_exit, 1L);
	/* exit_group is not among what is left in strict mode. */
	syscall(SYS_exit, 0L);
}

/* Like that of a strict daemon: what is not needed for copying kills. */
static struct sock_filter strict_filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 6, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 5, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 4, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 3, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 2, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static struct sock_fprog program = {
	.len = sizeof(strict_filter) / sizeof(strict_filter[0]),
	.filter = strict_filter,
};

static void begin(void)
{
	buf = anon(4 * MIB);
	for (size_t at = 0; at < v.size / 2; at += 4 * MIB) {
		copy(buf, v.at + at, 4 * MIB);
		MUST(right(buf, at, 4 * MIB));
	}
	posix_fadvise(v.fd, 0, 0, POSIX_FADV_DONTNEED);
}

static void plain(void)
{
	read_all(&v, 0, v.size, 4 * MIB);
}

static void strict(void)
{
	begin();
	MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	copy_on(v.size / 2);
}

static void filter(void)
{
	begin();
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	copy_on(v.size / 2);
}

static void by_syscall(void)
{
	begin();
	MUST(syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
	copy_on(v.size / 2);
}

/* All threads at once: none of the library's may be left. */
static void tsync(void)
{
	begin();
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
		     &program) == 0);
	MUST(munmap(anon(MIB), MIB) == 0);
	copy_on(v.size / 2);
}

static void no_new_privs(void)
{
	begin();
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	plain();
	MUST(tasks() == 1);
}

/* The program has no way to its own file any more. */
static void noproc(void)
{
	MUST(close(v.fd) == 0);
	MUST(prctl(PR_SET_DUMPABLE, 0) == 0);
	plain();
}

static void secure(void)
{
	MUST(geteuid() == 0 && getuid() != 0);
	plain();
	MUST(tasks() == 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{ "plain", plain },	   { "strict", strict },    { "filter", filter },
		{ "syscall", by_syscall }, { "tsync", tsync },	    { "nnp", no_new_privs },
		{ "noproc", noproc },	   { "secure", secure },
	};

	MUST(argc == 3);
	v = view_of(argv[2], PROT_READ, MAP_PRIVATE);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name))
			continue;
		kinds[i].run();
		return 0;
	}
	return 2;
}

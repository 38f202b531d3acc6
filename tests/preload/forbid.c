/* SPDX-License-Identifier: MIT */
/*
 * forbid ERROR CALL[,CALL...] COMMAND...: runs the command in a sandbox where these calls
 * fail with that error.  The call "thread" is clone(2) for a thread; clone3(2) is not there
 * at all then, so that libc falls back to the former.
 */
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "host.h"

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

static const struct {
	const char *name;
	int number;
} errors[] = {
	{ "EPERM", EPERM },   { "ENOSYS", ENOSYS }, { "EACCES", EACCES },
	{ "EINVAL", EINVAL }, { "ENOMEM", ENOMEM }, { "EAGAIN", EAGAIN },
	{ "EOPNOTSUPP", EOPNOTSUPP },
}, calls[] = {
#define CALL(name) { #name, SYS_##name }
	CALL(io_uring_setup), CALL(perf_event_open), CALL(fadvise64), CALL(madvise),
	CALL(preadv2), CALL(mincore), CALL(cachestat), CALL(close_range), CALL(pidfd_getfd),
	CALL(sched_setaffinity), CALL(sched_setscheduler), CALL(prctl), CALL(readahead),
	CALL(epoll_create1), CALL(eventfd2), CALL(ioctl),
};

static struct sock_filter filter[64];
static unsigned short used;

static void add(uint16_t code, uint8_t yes, uint8_t no, uint32_t k)
{
	filter[used++] = (struct sock_filter){ code, yes, no, k };
}

static void refuse(uint32_t number, int error)
{
	add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number);
	add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | (uint32_t)error);
}

static void refuse_threads(int error)
{
	refuse(SYS_clone3, ENOSYS);
	add(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_clone);
	add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, args[0]));
	add(BPF_JMP | BPF_JSET | BPF_K, 0, 1, CLONE_THREAD);
	add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | (uint32_t)error);
	add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
}

static int number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, name))
			return calls[i].number;
	die("no such call: %s", name);
}

int main(int argc, char **argv)
{
	struct sock_fprog p = { .filter = filter };
	int error = 0;

	MUST(argc >= 4);
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (!strcmp(errors[i].name, argv[1]))
			error = errors[i].number;
	MUST(error);
	add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	for (char *name = strtok(argv[2], ","); name; name = strtok(NULL, ",")) {
		if (!strcmp(name, "thread"))
			refuse_threads(error);
		else
			refuse((uint32_t)number_of(name), error);
	}
	add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	p.len = used;
	/* By raw calls: this program may be preloaded itself. */
	MUST(syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) == 0);
	MUST(syscall(SYS_prctl, PR_SET_SECCOMP, (long)SECCOMP_MODE_FILTER, &p, 0L, 0L) == 0);
	execvp(argv[3], argv + 3);
	die("%s", argv[3]);
}

/* SPDX-License-Identifier: MIT */
/*
 * Calls that a second thread would disturb, or must not survive: the helper is gone before
 * they are passed on.  Where the process gives up rights for good, we fall silent for good.
 */
#include "front/read.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>

#include "base/arch.h"
#include "helper.h"
#include "runtime.h"

/* Variadic in the headers; fixed here, so that the call can be passed on by a jump. */
WN_EXPORT long wn_front_syscall(long nr, long a, long b, long c, long d, long e,
				long f) __asm__("syscall");
WN_EXPORT int wn_front_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
			     unsigned long d) __asm__("prctl");

/* A fork does not wait for a helper that hangs in a slow file system. */
#define FORK_NS 10000000u

typedef long syscall_fn(long nr, long a, long b, long c, long d, long e, long f);

static bool gives_up_rights(long option)
{
	/* Without the time stamp counter there is no clock for us. */
	return option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS ||
	       option == PR_SET_TSC;
}

/* What a thread gives up for itself, a helper that is there already would keep. */
static bool is_per_thread(long option)
{
	return option == PR_CAPBSET_DROP || option == PR_SET_SECUREBITS ||
	       option == PR_CAP_AMBIENT;
}

static bool gives_up_rights_by(long nr, long a)
{
	switch (nr) {
	case SYS_prctl:
		return gives_up_rights(a);
	case SYS_seccomp:
#ifdef SYS_landlock_restrict_self
	case SYS_landlock_restrict_self:
#endif
	/* Whoever hears of every open, and reads what was opened, would hear of ours. */
	case SYS_fanotify_init:
		return true;
	}
	return false;
}

static bool wants_no_helper(long nr)
{
	switch (nr) {
	case SYS_unshare:
	case SYS_setns:
	case SYS_setuid:
	case SYS_setgid:
	case SYS_setreuid:
	case SYS_setregid:
	case SYS_setresuid:
	case SYS_setresgid:
	case SYS_setgroups:
	case SYS_capset:
	case SYS_umount2:
		return true;
	}
	return false;
}

long wn_front_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	syscall_fn *next = (syscall_fn *)wn_front.syscall;
	long r;

	if (!next)
		return wn_front_result(wn_raw(nr, a, b, c, d, e, f));
	if (gives_up_rights_by(nr, a))
		wn_sleep_for_good();
	if (nr == SYS_close)
		wn_front_closing((int)a);
	/* If this is the only other thread, its status must be that of the process. */
	if (nr == SYS_exit) {
		wn_helper_stop();
		wn_helper_allow();
	}
	/* A jump, since some calls return twice. */
	if (!wants_no_helper(nr))
		return next(nr, a, b, c, d, e, f);
	wn_helper_stop();
	r = next(nr, a, b, c, d, e, f);
	wn_helper_allow();
	return r;
}

int wn_front_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
		   unsigned long d)
{
	int result;

	if (!wn_front.prctl)
		return (int)wn_front_result(wn_raw(SYS_prctl, option, a, b, c, d));
	if (gives_up_rights(option))
		wn_sleep_for_good();
	if (!is_per_thread(option))
		return wn_front.prctl(option, a, b, c, d);
	wn_helper_stop();
	result = wn_front.prctl(option, a, b, c, d);
	wn_helper_allow();
	return result;
}

WN_EXPORT int fanotify_init(unsigned flags, unsigned event_flags)
{
	if (!wn_front.fanotify_init)
		return (int)wn_front_result(wn_raw(SYS_fanotify_init, flags, event_flags));
	wn_sleep_for_good();
	return wn_front.fanotify_init(flags, event_flags);
}

/* Some runtimes count the threads after a fork, and complain of more than they know. */
WN_EXPORT pid_t fork(void)
{
	pid_t child;

	/* Before the constructor there is nothing to end, and nobody forks. */
	if (!wn_front.fork)
		return (pid_t)wn_front_result(wn_raw(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	wn_helper_stop_within(FORK_NS);
	child = wn_front.fork();
	wn_helper_allow();
	return child;
}

/* The others have one shape: no helper while the call is passed on. */
#define WN_WITHOUT_HELPER(name, params, args, early)                   \
	WN_EXPORT int name params                                  \
	{                                                          \
		if (!wn_front.name)                                \
			return (int)wn_front_result(early);        \
		wn_helper_stop();                                  \
		int result = wn_front.name args;                   \
		wn_helper_allow();                                 \
		return result;                                     \
	}

WN_WITHOUT_HELPER(unshare, (int flags), (flags), wn_raw(SYS_unshare, flags))
WN_WITHOUT_HELPER(setns, (int fd, int type), (fd, type), wn_raw(SYS_setns, fd, type))
WN_WITHOUT_HELPER(setuid, (uid_t u), (u), wn_raw(SYS_setuid, u))
WN_WITHOUT_HELPER(setgid, (gid_t g), (g), wn_raw(SYS_setgid, g))
WN_WITHOUT_HELPER(seteuid, (uid_t u), (u), wn_raw(SYS_setresuid, -1, u, -1))
WN_WITHOUT_HELPER(setegid, (gid_t g), (g), wn_raw(SYS_setresgid, -1, g, -1))
WN_WITHOUT_HELPER(setreuid, (uid_t r, uid_t e), (r, e), wn_raw(SYS_setreuid, r, e))
WN_WITHOUT_HELPER(setregid, (gid_t r, gid_t e), (r, e), wn_raw(SYS_setregid, r, e))
WN_WITHOUT_HELPER(setresuid, (uid_t r, uid_t e, uid_t s), (r, e, s),
	      wn_raw(SYS_setresuid, r, e, s))
WN_WITHOUT_HELPER(setresgid, (gid_t r, gid_t e, gid_t s), (r, e, s),
	      wn_raw(SYS_setresgid, r, e, s))
WN_WITHOUT_HELPER(setgroups, (size_t n, const gid_t *list), (n, list),
	      wn_raw(SYS_setgroups, n, list))
WN_WITHOUT_HELPER(capset, (cap_user_header_t header, const cap_user_data_t data),
		  (header, data), wn_raw(SYS_capset, header, data))
WN_WITHOUT_HELPER(initgroups, (const char *user, gid_t g), (user, g), -ENOSYS)
WN_WITHOUT_HELPER(umount, (const char *target), (target), wn_raw(SYS_umount2, target, 0))
WN_WITHOUT_HELPER(umount2, (const char *target, int flags), (target, flags),
	      wn_raw(SYS_umount2, target, flags))

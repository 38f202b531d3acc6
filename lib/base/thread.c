/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <linux/sched.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "base/arch.h"
#include "base/mem.h"

/* Room for a thread control block: stack protectors of other libraries read from it. */
#define TLS_BELOW 1024
#define TLS_ABOVE 1024

/* What the new thread finds on its stack. */
struct start {
	void (*run)(void *);
	void *arg;
};

static __attribute__((noreturn, used)) void thread_main(struct start *s)
{
	s->run(s->arg);
	for (;;)
		wn_raw(SYS_exit, 0);
}

/*
 * clone(2) for a child that runs on another stack cannot be a C function: both return
 * from it.  The child calls thread_main with the top of its stack as the argument.
 */
static long clone_thread(unsigned long flags, struct start *sp, uint32_t *tid, void *tls);

#if defined(__x86_64__)
static long clone_thread(unsigned long flags, struct start *sp, uint32_t *tid, void *tls)
{
	register uint32_t *r10 __asm__("r10") = tid;
	register void *r8 __asm__("r8") = tls;
	long ret;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%rsp, %%rdi\n\t"
			 "call *%[go]\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(ret)
			 : "a"((long)SYS_clone), "D"(flags), "S"(sp), "d"(tid), "r"(r10),
			   "r"(r8), [go] "r"(thread_main)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static long clone_thread(unsigned long flags, struct start *sp, uint32_t *tid, void *tls)
{
	register long x8 __asm__("x8") = SYS_clone;
	register long x0 __asm__("x0") = (long)flags;
	register void *x1 __asm__("x1") = sp;
	register void *x2 __asm__("x2") = tid;
	register void *x3 __asm__("x3") = tls;
	register void *x4 __asm__("x4") = tid;

	__asm__ volatile("svc #0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "mov x30, xzr\n\t"
			 "mov x0, sp\n\t"
			 "blr %[go]\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), [go] "r"(thread_main)
			 : "memory");
	return x0;
}
#endif

int wn_thread_start(void (*run)(void *), void *arg, char *stack_top, uint32_t *tid)
{
	const unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
				    CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
				    CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	char *tls = stack_top - TLS_ABOVE;
	struct start *sp = (struct start *)(tls - TLS_BELOW);
	uint64_t all = ~(uint64_t)0, before;
	long ret;

	/* x86-64 finds its thread pointer by reading through it, at 0 and at 16. */
	((void **)tls)[0] = tls;
	((void **)tls)[2] = tls;
	*--sp = (struct start){ .run = run, .arg = arg };
	ret = wn_raw(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, &before, sizeof(all));
	if (ret < 0)
		return (int)ret;
	ret = clone_thread(flags, sp, tid, tls);
	wn_raw(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &before, NULL, sizeof(before));
	return (int)ret;
}

/* linux/sched/types.h cannot be included beside libc's headers. */
struct sched_attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

/*
 * Little work at a time, but soon: since Linux 6.12 an ordinary thread may ask for a short
 * slice, and in return comes to run earlier.  Its nice value stays what the creator's was.
 */
static void be_quick(void)
{
	long nice = wn_raw(SYS_getpriority, 0 /* PRIO_PROCESS */, 0);
	struct sched_attributes a = {
		.size = sizeof(a),
		/* The raw call returns 20 - nice, to have no negative results. */
		.nice = (int32_t)(nice > 0 ? 20 - nice : 0),
		.runtime = 100000,
	};

	wn_raw(SYS_sched_setattr, 0, &a, 0);
}

void wn_thread_be_ordinary(const char *name)
{
	unsigned long cpus[128]; /* 8192 CPUs */
	int priority = 0;
	long size = wn_raw(SYS_sched_getaffinity, wn_raw(SYS_getpid), sizeof(cpus), cpus);

	if (size > 0)
		wn_raw(SYS_sched_setaffinity, 0, size, cpus);
	wn_raw(SYS_sched_setscheduler, 0, 0 /* SCHED_OTHER */, &priority);
	be_quick();
	wn_raw(SYS_prctl, PR_SET_NAME, name, 0, 0, 0);
	/* Short rests are to be short. */
	wn_raw(SYS_prctl, PR_SET_TIMERSLACK, 1000, 0, 0, 0);
}

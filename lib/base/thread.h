/* SPDX-License-Identifier: MIT */
/*
 * thread.h - a thread that libc does not know.
 * Calls the kernel only, so it may be started from anywhere, even from a signal handler
 * or under an allocator's lock: no malloc, no lock, no libc state.  libc keeps believing
 * what it believed about the process (single-threaded fast paths, "last thread exits the
 * process").  In return the thread must never call libc, and must be gone before the
 * process changes its credentials, since libc cannot pass them on to it.
 */
#ifndef WN_THREAD_H
#define WN_THREAD_H

#include <stdint.h>

/*
 * Starts run(arg) with all signals blocked, on the stack below stack_top.  *tid is the
 * thread's id while it uses the stack; the kernel zeroes it, and wakes its futex, when it
 * no longer does.  It ends when run returns.
 * The thread's id, or a negative errno.
 */
int wn_thread_start(void (*run)(void *), void *arg, char *stack_top, uint32_t *tid);

/* Ordinary scheduling class, and the CPUs of the process, whoever was the creator. */
void wn_thread_be_ordinary(const char *name);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * helper.h - the thread that works for the program's threads.
 * Started at the first work, ended when there has been none for a while, or at once when
 * the program is about to do something that a second thread would disturb.  It has its own
 * descriptor table, blocks every signal, and is not known to libc.  The program's threads
 * never wait for it, except in wn_helper_stop().
 */
#ifndef WN_HELPER_H
#define WN_HELPER_H

#include <stdbool.h>
#include <stdint.h>

struct wn_state;

/*
 * There is work: starts the helper when there is none, wakes it when it sleeps.  False when
 * nobody will look at the work now: it is ending, or may not be started.
 */
bool wn_helper_kick(struct wn_state *st);

/* Wakes it when it sleeps. */
void wn_helper_wake(struct wn_state *st);

/* May one be expected to do the work, now or shortly? */
bool wn_helper_expected(const struct wn_state *st);

/*
 * Returns when the kernel has removed the thread, or after two seconds when it is stuck in
 * a system call.  It is not started again before wn_helper_allow(); the two are counted.
 */
void wn_helper_stop(void);
void wn_helper_stop_within(uint64_t limit_ns);
void wn_helper_allow(void);

#endif

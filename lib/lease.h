/* SPDX-License-Identifier: MIT */
/*
 * lease.h - references to files that are read cold, one a file, whoever reads it.
 * Calls track, request and devices.  Taken by the program's threads; ends with the close of
 * a descriptor, or when the helper has heard nothing of the file for a while.
 */
#ifndef WN_LEASE_H
#define WN_LEASE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct wn_state;

/*
 * Holds the file, and notes what is known of its device: the slot, or WN_NO_FILE.  What is
 * noted in the state's reads for another file that had it before is forgotten.
 */
uint16_t wn_lease_take(struct wn_state *st, const struct stat *file, int fd);
/* True when that was the last reference to the file. */
bool wn_lease_drop(struct wn_state *st, uint16_t slot);
/* For the helper: files that have been quiet for so long are let go of; 0: all. */
void wn_lease_expire(struct wn_state *st, uint64_t now_ns, uint64_t quiet_ns);

#endif

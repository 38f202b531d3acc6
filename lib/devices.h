/* SPDX-License-Identifier: MIT */
/*
 * devices.h - what the devices allow that the program reads from, remembered for a second.
 * Calls base and track.  The helper learns, since that opens files of /sys; any thread may
 * ask what is known, without a lock: a hint, so that a file is known before it is opened.
 */
#ifndef WN_DEVICES_H
#define WN_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "track/file.h"

enum { WN_DEVICES = 8 };

struct wn_devices {
	struct wn_device {
		uint64_t dev; /* plus one; 0: none */
		uint64_t readahead;
		uint64_t request;
		uint64_t learned_ns;
	} slot[WN_DEVICES];
	uint32_t turn;
};

/* For the helper: what is known, or else what the kernel says now. */
struct wn_device_limits wn_devices_learn(struct wn_devices *t, uint64_t dev,
					 uint64_t now_ns);
/* Notes for the threads of the program what that means for a file; wide: the setting. */
void wn_devices_note(struct wn_file *f, const struct wn_device_limits *l, uint64_t wide);
/*
 * The same for a file that is met by a thread of the program, if its device is known.  One
 * whose slot is just being reused may give another's limits, which costs speed.
 */
void wn_devices_meet(const struct wn_devices *t, struct wn_file *f, uint64_t wide);
/* What one call of advice reads. */
uint64_t wn_devices_chunk(const struct wn_device_limits *l);

#endif

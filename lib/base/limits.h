/* SPDX-License-Identifier: MIT */
/*
 * limits.h - what the device, the machine and the cgroup allow.
 * Calls base only; opens files of /proc and /sys, so only the helper may call it.
 */
#ifndef WN_LIMITS_H
#define WN_LIMITS_H

#include <stdint.h>
#include <sys/types.h>

struct wn_device_limits {
	uint64_t readahead; /* read_ahead_kb, in bytes; 0: unknown or switched off */
	uint64_t request;   /* max_sectors_kb, in bytes; 0: unknown */
};

/* The limits of the device that a file with this st_dev lives on. */
struct wn_device_limits wn_device_limits(dev_t dev);

/*
 * How many more bytes of page cache can be filled without hurting anybody, as far as
 * /proc/meminfo and the cgroups (v1 or v2, every level that can be seen) know.
 * UINT64_MAX when nothing is known.
 */
uint64_t wn_memory_headroom(void);

#endif

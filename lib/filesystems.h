/* SPDX-License-Identifier: MIT */
/*
 * filesystems.h - what is known of file systems, from the list in filesystems.def.
 * Calls base only; any thread.
 */
#ifndef WN_FILESYSTEMS_H
#define WN_FILESYSTEMS_H

#include <stdbool.h>

/* How pages of a file are asked for; see engine.h. */
enum wn_way { WN_UNOPENED, WN_RIDE, WN_ADVISE, WN_SLOW, WN_ADDRESS, WN_NONE };

/* The best way for an open file; WN_ADVISE where nothing is known. */
enum wn_way wn_filesystem_way(int fd);
bool wn_filesystem_is_fuse(int fd);

#endif

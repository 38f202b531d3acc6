/* SPDX-License-Identifier: MIT */
/*
 * request.h - ranges that the program names itself, on their way to the helper.
 * Calls track and helper; runs on the program's threads.  Nothing is waited for.
 */
#ifndef WN_REQUEST_H
#define WN_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct wn_state;

/* The file's slot with a reference for a request, or WN_NO_FILE. */
uint16_t wn_request_hold(struct wn_state *st, const struct stat *file, int fd);
void wn_request_let_go(struct wn_state *st, uint16_t slot);

/*
 * Hands a range to the helper, and the reference with it; false, and the reference stays
 * the caller's, when the queue is full or there can be no helper.
 */
bool wn_request(struct wn_state *st, uint16_t file, uint64_t from, uint64_t to);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * file_io.h - small files of /proc and /sys as text and numbers.
 * Calls base only.  What opens files is for threads with a descriptor table of their own.
 */
#ifndef WN_FILE_IO_H
#define WN_FILE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What getdents64(2) fills in. */
struct wn_entry {
	uint64_t ino;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

/* Reads up to size - 1 bytes and terminates them: the length, or a negative errno. */
ssize_t wn_file_text(const char *path, char *buf, size_t size);
/* The file's first word as a number; false when it cannot be read or is no number. */
bool wn_file_number(const char *path, uint64_t *out);
/*
 * Writes to a descriptor of the program's, or to what its user named: no SIGPIPE is left
 * behind, whoever has gone away at the other end.
 */
void wn_write_quietly(int fd, const void *buf, size_t n);
/* The number behind a line's key ("MemAvailable:") in the text of such a file. */
bool wn_text_field(const char *text, const char *key, uint64_t *out);

#endif

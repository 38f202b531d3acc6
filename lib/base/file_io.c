/* SPDX-License-Identifier: MIT */
#include "base/file_io.h"

#include <fcntl.h>

#include "base/sys.h"
#include "base/text.h"

ssize_t wn_file_text(const char *path, char *buf, size_t size)
{
	size_t used = 0;
	ssize_t got;
	int fd = wn_sys->open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return fd;
	do {
		got = wn_sys->read(fd, buf + used, size - 1 - used);
		if (got > 0)
			used += (size_t)got;
	} while (got > 0 && used + 1 < size);
	wn_sys->close(fd);
	if (got < 0)
		return got;
	buf[used] = '\0';
	return (ssize_t)used;
}

bool wn_file_number(const char *path, uint64_t *out)
{
	char buf[64];
	const char *p = buf;

	return wn_file_text(path, buf, sizeof(buf)) > 0 && wn_digits(&p, 10, out);
}

bool wn_text_field(const char *text, const char *key, uint64_t *out)
{
	while (*text) {
		const char *p = wn_after(text, key);

		if (p) {
			while (*p == ' ' || *p == '\t')
				p++;
			return wn_digits(&p, 10, out);
		}
		while (*text && *text != '\n')
			text++;
		if (*text)
			text++;
	}
	return false;
}

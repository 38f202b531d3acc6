/* SPDX-License-Identifier: MIT */
#include "base/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "base/arch.h"
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

void wn_write_quietly(int fd, const void *buf, size_t n)
{
	const uint64_t pipe = (uint64_t)1 << (SIGPIPE - 1);
	const struct timespec now = { 0 };
	uint64_t before, pending = 0;

	if (wn_raw(SYS_rt_sigprocmask, SIG_BLOCK, &pipe, &before, sizeof(before)) < 0)
		return;
	wn_raw(SYS_rt_sigpending, &pending, sizeof(pending));
	if (wn_sys->write(fd, buf, n) == -EPIPE && !(pending & pipe))
		wn_raw(SYS_rt_sigtimedwait, &pipe, NULL, &now, sizeof(pipe));
	wn_raw(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
}

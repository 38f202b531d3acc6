/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <errno.h>
#include <fcntl.h>

#include "base/arch.h"
#include "base/file_io.h"
#include "base/sys.h"

/*
 * The program's own descriptor 2, not the helper's: the very open file, so that what others
 * write goes behind our lines.  Older kernels (before 5.6) open it anew.
 */
static int open_stderr(int flags)
{
	long pidfd = wn_raw(SYS_pidfd_open, wn_sys->getpid(), 0);
	long fd = -ENOSYS;

	if (pidfd >= 0) {
		fd = wn_raw(SYS_pidfd_getfd, pidfd, 2, 0);
		wn_sys->close((int)pidfd);
	}
	return fd >= 0 ? (int)fd : wn_sys->open("/proc/self/fd/2", flags);
}

int wn_log_open(const char *path)
{
	const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

	if (wn_equal(path, "stderr"))
		return open_stderr(flags);
	return (int)wn_raw(SYS_openat, AT_FDCWD, path, flags | O_CREAT | O_NOFOLLOW, 0600);
}

bool wn_line_begin(struct wn_line *l, const struct wn_options *o)
{
	l->path = wn_option_text(o, WN_OPT_LOG);
	if (!l->path)
		return false;
	l->text = wn_text_in(l->buf, sizeof(l->buf) - 1); /* room for the newline */
	wn_text_add(&l->text, "willneed[");
	wn_text_number(&l->text, (uint64_t)wn_sys->getpid());
	wn_text_add(&l->text, "]: ");
	return true;
}

void wn_line_file(struct wn_line *l, int fd)
{
	char link[48], path[256];
	struct wn_text t = wn_text_in(link, sizeof(link));
	long n;

	wn_text_add(&t, "/proc/thread-self/fd/");
	wn_text_number(&t, (uint64_t)fd);
	n = fd < 0 ? fd : wn_raw(SYS_readlinkat, AT_FDCWD, link, path, sizeof(path) - 1);
	if (n <= 0)
		return;
	/* One line stays one line. */
	for (long i = 0; i < n; i++)
		if ((unsigned char)path[i] < ' ')
			path[i] = '?';
	path[n] = '\0';
	wn_text_add(&l->text, " (");
	wn_text_add(&l->text, path);
	wn_text_add(&l->text, ")");
}

void wn_line_end(struct wn_line *l)
{
	int fd = wn_log_open(l->path);

	if (fd < 0)
		return;
	l->buf[l->text.used++] = '\n';
	wn_write_quietly(fd, l->buf, l->text.used);
	wn_sys->close(fd);
}

void wn_log(const struct wn_options *o, const char *what, const char *more, uint64_t number)
{
	struct wn_line l;

	if (!wn_line_begin(&l, o))
		return;
	wn_text_add(&l.text, what);
	wn_text_add(&l.text, more);
	wn_text_number(&l.text, number);
	wn_line_end(&l);
}

/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>

#include "base/arch.h"
#include "base/file_io.h"
#include "base/mem.h"
#include "base/sys.h"

static int stderr_fd = 2;

void wn_log_stderr(int fd)
{
	wn_store(&stderr_fd, fd);
}

/*
 * The program's own descriptor, not the helper's: the very open file, so that what others
 * write goes behind our lines.  Older kernels (before 5.6) open it anew.
 */
static int open_stderr(int flags)
{
	long pidfd = wn_raw(SYS_pidfd_open, wn_sys->getpid(), 0);
	long fd = -ENOSYS;
	char path[32];
	struct wn_text t = wn_text_in(path, sizeof(path));

	if (pidfd >= 0) {
		fd = wn_raw(SYS_pidfd_getfd, pidfd, wn_load(&stderr_fd), 0);
		wn_sys->close((int)pidfd);
	}
	if (fd >= 0)
		return (int)fd;
	wn_text_add(&t, "/proc/self/fd/");
	wn_text_number(&t, (uint64_t)wn_load(&stderr_fd));
	return wn_sys->open(path, flags);
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

void wn_line_id(struct wn_line *l, uint64_t dev, uint64_t ino)
{
	wn_text_add(&l->text, "device ");
	wn_text_number(&l->text, major(dev));
	wn_text_add(&l->text, ":");
	wn_text_number(&l->text, minor(dev));
	wn_text_add(&l->text, " inode ");
	wn_text_number(&l->text, ino);
}

void wn_line_file(struct wn_line *l, int fd)
{
	char link[48];
	struct wn_text t = wn_text_in(link, sizeof(link));

	if (fd < 0)
		return;
	wn_text_add(&t, "/proc/thread-self/fd/");
	wn_text_number(&t, (uint64_t)fd);
	wn_line_link(l, link);
}

void wn_line_link(struct wn_line *l, const char *link)
{
	char path[256];
	long n = wn_raw(SYS_readlinkat, AT_FDCWD, link, path, sizeof(path) - 1);

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

/* SPDX-License-Identifier: MIT */
/* The advice family on descriptors: what was asked for a moment ago is not asked again. */
#include "front/front.h"

#include <fcntl.h>

#include "base/arch.h"
#include "reads.h"
#include "repeat.h"

static ssize_t next_readahead(int fd, off64_t offset, size_t count)
{
	return wn_front.readahead ? wn_front.readahead(fd, offset, count) :
				    wn_front_result(wn_raw(SYS_readahead, fd, offset, count));
}

WN_EXPORT ssize_t readahead(int fd, off64_t offset, size_t count)
{
	off_t length = (off_t)count;
	struct wn_repeat r;
	ssize_t result;

	/* Nothing to read is not "to the end" here. */
	if (!wn_front.copy_min || !count)
		return next_readahead(fd, offset, count);
	if (wn_repeat_file(&r, fd, WN_READABLE_FILE, &offset, &length))
		return 0;
	result = next_readahead(fd, offset, (size_t)length);
	wn_repeat_told(&r, result == 0);
	return result;
}

static int next_fadvise(int fd, off_t offset, off_t length, int advice)
{
	/* It returns the error, and leaves errno alone. */
	return wn_front.posix_fadvise ?
		       wn_front.posix_fadvise(fd, offset, length, advice) :
		       (int)-wn_raw(SYS_fadvise64, fd, offset, length, advice);
}

static int ask(int fd, off_t offset, off_t length)
{
	struct wn_repeat r;
	int result;

	if (wn_repeat_file(&r, fd, WN_ANY_OPEN_FILE, &offset, &length))
		return 0;
	result = next_fadvise(fd, offset, length, POSIX_FADV_WILLNEED);
	wn_repeat_told(&r, result == 0);
	return result;
}

static int advise(int fd, off_t offset, off_t length, int advice)
{
	int result;

	if (wn_front.copy_min && advice == POSIX_FADV_WILLNEED)
		return ask(fd, offset, length);
	result = next_fadvise(fd, offset, length, advice);
	if (wn_front.copy_min && !result)
		wn_reads_advised(fd, advice);
	if (wn_front.copy_min && advice == POSIX_FADV_DONTNEED && !result)
		wn_repeat_forget_file(fd, offset, length);
	return result;
}

WN_EXPORT int posix_fadvise(int fd, off_t offset, off_t length, int advice)
{
	return advise(fd, offset, length, advice);
}

WN_EXPORT int posix_fadvise64(int fd, off64_t offset, off64_t length, int advice)
{
	return advise(fd, offset, length, advice);
}

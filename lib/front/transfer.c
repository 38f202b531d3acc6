/* SPDX-License-Identifier: MIT */
/*
 * Calls that read a file without a buffer of the program's.  An offset that the program
 * keeps in its memory is only looked at after the call, which has proved that it is there.
 */
#include <sys/sendfile.h>

#include "base/arch.h"
#include "front/read.h"
#include "reads.h"

static void will_read(int fd, const void *offset, size_t n)
{
	if (!offset)
		wn_front_will_read(fd, WN_AT_POSITION, n);
}

static void has_read(int fd, const off64_t *offset, ssize_t got)
{
	if (offset && got > 0)
		wn_front_has_read(fd, *offset - got, got);
}

static ssize_t next_sendfile(int out, int in, off_t *offset, size_t n)
{
	return wn_front.sendfile ? wn_front.sendfile(out, in, offset, n) :
				   wn_front_result(wn_raw(SYS_sendfile, out, in, offset, n));
}

WN_EXPORT ssize_t sendfile(int out, int in, off_t *offset, size_t n)
{
	ssize_t got;

	will_read(in, offset, n);
	got = next_sendfile(out, in, offset, n);
	has_read(in, offset, got);
	return got;
}

WN_EXPORT ssize_t sendfile64(int out, int in, off64_t *offset, size_t n)
{
	return sendfile(out, in, offset, n);
}

WN_EXPORT ssize_t copy_file_range(int in, off64_t *in_offset, int out, off64_t *out_offset,
				  size_t n, unsigned flags)
{
	ssize_t got;

	will_read(in, in_offset, n);
	got = wn_front.copy_file_range ?
		      wn_front.copy_file_range(in, in_offset, out, out_offset, n, flags) :
		      wn_front_result(wn_raw(SYS_copy_file_range, in, in_offset, out,
					     out_offset, n, flags));
	has_read(in, in_offset, got);
	return got;
}

WN_EXPORT ssize_t splice(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t n,
			 unsigned flags)
{
	ssize_t got;

	will_read(in, in_offset, n);
	got = wn_front.splice ? wn_front.splice(in, in_offset, out, out_offset, n, flags) :
				wn_front_result(wn_raw(SYS_splice, in, in_offset, out,
						       out_offset, n, flags));
	has_read(in, in_offset, got);
	return got;
}

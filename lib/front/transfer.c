/* SPDX-License-Identifier: MIT */
/*
 * Calls that read a file without a buffer of the program's.  They are looked at after the
 * call: the size is only the most that they may take (a slow socket takes little at a
 * time, and where extents are shared nothing is read at all), and an offset that the
 * program keeps in its memory has then been proved to be there.
 */
#include "front/read.h"

#include <sys/sendfile.h>

#include "base/arch.h"
#include "reads.h"

static void has_read(int fd, const off64_t *offset, ssize_t got)
{
	if (got > 0)
		wn_front_has_read(fd, offset ? *offset - got : WN_BEHIND_POSITION, got);
}

static ssize_t next_sendfile(int out, int in, off_t *offset, size_t n)
{
	return wn_front.sendfile ?
		       wn_front.sendfile(out, in, offset, n) :
		       wn_front_result(wn_raw(SYS_sendfile, out, in, offset, n));
}

WN_EXPORT ssize_t sendfile(int out, int in, off_t *offset, size_t n)
{
	ssize_t got = next_sendfile(out, in, offset, n);

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
	ssize_t got = wn_front.copy_file_range ?
			      wn_front.copy_file_range(in, in_offset, out, out_offset, n,
						       flags) :
			      wn_front_result(wn_raw(SYS_copy_file_range, in, in_offset,
						     out, out_offset, n, flags));

	has_read(in, in_offset, got);
	return got;
}

WN_EXPORT ssize_t splice(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t n,
			 unsigned flags)
{
	ssize_t got = wn_front.splice ?
			      wn_front.splice(in, in_offset, out, out_offset, n, flags) :
			      wn_front_result(wn_raw(SYS_splice, in, in_offset, out,
						     out_offset, n, flags));

	has_read(in, in_offset, got);
	return got;
}

/* SPDX-License-Identifier: MIT */
/*
 * The calls that close descriptors, or put another file in their place: what the helper has
 * open for their sake is closed before they are passed on.
 */
#include "front/read.h"

#include <errno.h>
#include <linux/close_range.h>

#include "base/arch.h"
#include "base/mem.h"
#include "reads.h"

/* What some libraries call these. */
WN_EXPORT int __close(int fd);
WN_EXPORT int __dup2(int from, int to);

WN_EXPORT int close(int fd)
{
	wn_front_closing(fd);
	return wn_front.close ? wn_front.close(fd) :
				(int)wn_front_result(wn_raw(SYS_close, fd));
}

int __close(int fd)
{
	return close(fd);
}

/* Of descriptors that share a place one stands for all: more need not be looked at. */
static void closing_range(unsigned first, unsigned last)
{
	bool any = false;

	last = (unsigned)wn_min(last, (uint64_t)first + WN_READ_FDS - 1);
	for (uint64_t fd = first; fd <= last; fd++)
		any |= wn_front_lets_go((int)fd);
	if (any)
		wn_reads_closed();
}

WN_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	if (!((unsigned)flags & CLOSE_RANGE_CLOEXEC))
		closing_range(first, last);
	return wn_front.close_range ?
		       wn_front.close_range(first, last, flags) :
		       (int)wn_front_result(wn_raw(SYS_close_range, first, last, flags));
}

WN_EXPORT void closefrom(int first)
{
	/* As libc does it. */
	unsigned from = first < 0 ? 0 : (unsigned)first;

	closing_range(from, ~0u);
	if (wn_front.closefrom)
		wn_front.closefrom(first);
	else
		wn_raw(SYS_close_range, from, ~0u, 0);
}

/* Another name of fclose(), for before the constructor: the call cannot be made raw. */
extern int _IO_fclose(FILE *stream);

/* Which closes its descriptor by itself.  fileno() would set errno for one without. */
WN_EXPORT int fclose(FILE *stream)
{
	if (!wn_front.fclose)
		return _IO_fclose(stream);
	if (wn_front.copy_min && stream)
		wn_front_closing(stream->_fileno);
	return wn_front.fclose(stream);
}

WN_EXPORT int dup2(int from, int to)
{
	if (from != to)
		wn_front_closing(to);
	if (wn_front.dup2)
		return wn_front.dup2(from, to);
	/* Some processors have no dup2() any more, and dup3() refuses equal numbers. */
	if (from != to)
		return (int)wn_front_result(wn_raw(SYS_dup3, from, to, 0));
	return wn_raw(SYS_fcntl, from, F_GETFL) < 0 ? (int)wn_front_result(-EBADF) : to;
}

int __dup2(int from, int to)
{
	return dup2(from, to);
}

WN_EXPORT int dup3(int from, int to, int flags)
{
	if (from != to)
		wn_front_closing(to);
	return wn_front.dup3 ? wn_front.dup3(from, to, flags) :
			       (int)wn_front_result(wn_raw(SYS_dup3, from, to, flags));
}

/*
 * A write lease is only given while nobody else has the file open, and opening it would
 * break the lease.  Variadic in the headers; fixed here, so that all is passed on.
 */
WN_EXPORT int wn_front_fcntl(int fd, int command, long a) __asm__("fcntl");
WN_EXPORT int wn_front_fcntl64(int fd, int command, long a) __asm__("fcntl64");

int wn_front_fcntl(int fd, int command, long a)
{
	if (wn_unlikely(command == F_SETLEASE) && wn_front.copy_min)
		wn_reads_spare(fd, a == F_WRLCK);
	return wn_front.fcntl ? wn_front.fcntl(fd, command, a) :
				(int)wn_front_result(wn_raw(SYS_fcntl, fd, command, a));
}

int wn_front_fcntl64(int fd, int command, long a)
{
	return wn_front_fcntl(fd, command, a);
}

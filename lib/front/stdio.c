/* SPDX-License-Identifier: MIT */
/*
 * Streams of libc.  What their buffers hold is handed out as ever; the reads that fill them
 * are made inside of libc, where nobody sees them: so they are foreseen here.  (How much
 * lines and characters need shows too late for that: see lines.c.)
 */
#include "front/read.h"

#include "base/mem.h"

/* Some headers of libc define them as macros. */
#undef fread
#undef fread_unlocked

/* Other names of these, for before the constructor: the calls cannot be made raw. */
extern size_t _IO_fread(void *to, size_t size, size_t count, FILE *stream);
/* libc's way to report an overflow; it does not return. */
extern void __chk_fail(void) __attribute__((noreturn));

/* What programs call that were compiled with _FORTIFY_SOURCE. */
WN_EXPORT size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *stream);
WN_EXPORT size_t __fread_unlocked_chk(void *to, size_t room, size_t size, size_t count,
				      FILE *stream);

/*
 * How much will be read to fill this request, which the buffer does not hold: whole buffers.
 * Other threads may use the stream meanwhile: what is found here is a hint.
 */
static size_t beyond_buffer(const FILE *stream, size_t size, size_t count)
{
	size_t held = (size_t)(stream->_IO_read_end - stream->_IO_read_ptr);
	size_t room = (size_t)(stream->_IO_buf_end - stream->_IO_buf_base);
	size_t want;

	if (stream->_fileno < 0 || __builtin_mul_overflow(size, count, &want) || want <= held)
		return 0;
	want -= held;
	return room ? (want + room - 1) / room * room : want;
}

static inline __attribute__((always_inline)) size_t
fread_any(__typeof__(fread) *next, void *to, size_t size, size_t count, FILE *stream)
{
	size_t beyond = beyond_buffer(stream, size, count), got;
	off_t from;

	if (wn_likely(!beyond))
		return next(to, size, count, stream);
	from = wn_front_fills(stream->_fileno, beyond);
	got = next(to, size, count, stream);
	wn_front_filled(stream->_fileno, from);
	return got;
}

WN_EXPORT size_t fread(void *to, size_t size, size_t count, FILE *stream)
{
	return fread_any(wn_front.fread ? wn_front.fread : _IO_fread, to, size, count, stream);
}

/* To lock what need not be locked is harmless; before the constructor nobody else is there. */
WN_EXPORT size_t fread_unlocked(void *to, size_t size, size_t count, FILE *stream)
{
	return fread_any(wn_front.fread_unlocked ? wn_front.fread_unlocked : _IO_fread, to, size,
			 count, stream);
}

static void check(size_t room, size_t size, size_t count)
{
	size_t want;

	if (wn_unlikely(__builtin_mul_overflow(size, count, &want) || want > room))
		__chk_fail();
}

size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *stream)
{
	check(room, size, count);
	return fread(to, size, count, stream);
}

size_t __fread_unlocked_chk(void *to, size_t room, size_t size, size_t count, FILE *stream)
{
	check(room, size, count);
	return fread_unlocked(to, size, count, stream);
}

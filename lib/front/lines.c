/* SPDX-License-Identifier: MIT */
/*
 * Lines and characters of libc's streams.  Their buffers are filled inside of libc, where
 * nobody sees it, so that it is found out afterwards: where the buffer holds little, the call
 * may have filled it anew, and then the place that is read next is not where it would be.
 * Other calls are passed on by a jump.  getc() itself is left alone, since it costs less
 * than a look at the buffer; getc_unlocked() and its like call __uflow() for each buffer.
 */
#include "front/read.h"

#include "base/mem.h"
#include "reads.h"

/* Some headers of libc define these as macros, and this one as an inline function. */
#undef fgets
#undef fgets_unlocked
#undef getdelim
WN_EXPORT ssize_t wn_front_getline(char **line, size_t *room,
				   FILE *stream) __asm__("getline");

/* Other names in libc, for before the constructor: the calls cannot be made raw. */
extern char *_IO_fgets(char *to, int room, FILE *stream);
extern int __underflow(FILE *stream);

/* Where so little is held a line may end behind it; longer lines are found out now and then. */
#define LOW 128

static inline bool holds_plenty(const FILE *s)
{
	return s && wn_likely(s->_IO_read_end - s->_IO_read_ptr >= LOW);
}

/* A call that began at `from` and took n characters has returned. */
static void then_look(const FILE *s, const char *from, ssize_t n)
{
	if (n > 0 && (uintptr_t)s->_IO_read_ptr != (uintptr_t)from + (size_t)n && s->_fileno >= 0)
		wn_front_has_read(s->_fileno, WN_BEHIND_POSITION,
				  s->_IO_read_end - s->_IO_read_base);
}

WN_EXPORT int __uflow(FILE *stream)
{
	int c;

	if (!wn_front.__uflow)
		return __underflow(stream) == EOF
			       ? EOF
			       : (unsigned char)*stream->_IO_read_ptr++;
	c = wn_front.__uflow(stream);
	if (c != EOF)
		then_look(stream, NULL, 1);
	return c;
}

/* Apart, so that the way of most calls saves no registers. */
static __attribute__((noinline)) ssize_t getdelim_slowly(char **line, size_t *room,
							 int end, FILE *stream)
{
	__typeof__(getdelim) *next = wn_front.getdelim;
	const char *from;
	ssize_t n;

	if (!next)
		next = (__typeof__(getdelim) *)wn_front_early("getdelim");
	/* Some arguments are refused before the stream is looked at. */
	if (!stream)
		return next(line, room, end, stream);
	from = stream->_IO_read_ptr;
	n = next(line, room, end, stream);
	then_look(stream, from, n);
	return n;
}

static inline __attribute__((always_inline)) ssize_t
getdelim_any(char **line, size_t *room, int end, FILE *stream)
{
	if (wn_likely(holds_plenty(stream) && wn_front.getdelim))
		return wn_front.getdelim(line, room, end, stream);
	return getdelim_slowly(line, room, end, stream);
}

WN_EXPORT ssize_t getdelim(char **line, size_t *room, int end, FILE *stream)
{
	return getdelim_any(line, room, end, stream);
}

WN_EXPORT ssize_t __getdelim(char **line, size_t *room, int end, FILE *stream)
{
	return getdelim_any(line, room, end, stream);
}

ssize_t wn_front_getline(char **line, size_t *room, FILE *stream)
{
	return getdelim_any(line, room, '\n', stream);
}

/* It was at the end of a full buffer, or there was none: a new one is read from further up. */
static void then_look_again(const FILE *s, const char *from, const char *line)
{
	if (line && (!from || s->_IO_read_ptr < from))
		then_look(s, NULL, 1);
}

static __attribute__((noinline)) char *fgets_slowly(__typeof__(fgets) *next, char *to,
						    int room, FILE *stream)
{
	const char *from = stream ? stream->_IO_read_ptr : NULL;
	char *line = next ? next(to, room, stream) : _IO_fgets(to, room, stream);

	if (stream)
		then_look_again(stream, from, line);
	return line;
}

WN_EXPORT char *fgets(char *to, int room, FILE *stream)
{
	if (wn_likely(holds_plenty(stream) && wn_front.fgets))
		return wn_front.fgets(to, room, stream);
	return fgets_slowly(wn_front.fgets, to, room, stream);
}

WN_EXPORT char *fgets_unlocked(char *to, int room, FILE *stream)
{
	if (wn_likely(holds_plenty(stream) && wn_front.fgets_unlocked))
		return wn_front.fgets_unlocked(to, room, stream);
	return fgets_slowly(wn_front.fgets_unlocked, to, room, stream);
}

/* What programs call that were compiled with _FORTIFY_SOURCE. */
WN_EXPORT char *__fgets_chk(char *to, size_t size, int room, FILE *stream)
{
	const char *from = stream ? stream->_IO_read_ptr : NULL;
	char *line;

	if (wn_unlikely(!wn_front.__fgets_chk))
		return _IO_fgets(to, room, stream);
	if (holds_plenty(stream))
		return wn_front.__fgets_chk(to, size, room, stream);
	line = wn_front.__fgets_chk(to, size, room, stream);
	if (stream)
		then_look_again(stream, from, line);
	return line;
}

dnl SPDX-License-Identifier: MIT
dnl The macros of configure.ac.

dnl WN_SWITCH(NAME, DEFAULT, HELP): --enable-NAME or --disable-NAME, as $enable_NAME.
AC_DEFUN([WN_SWITCH], [
AC_ARG_ENABLE([$1], [AS_HELP_STRING(m4_if([$2], [yes], [--disable-$1], [--enable-$1]), [$3])],
	[AS_CASE([$enable_$1], [yes|no], [],
		[AC_MSG_ERROR([--enable-$1 takes yes or no, not $enable_$1])])],
	[enable_$1=$2])
])

dnl WN_CC_FLAGS(VARIABLE, FLAGS): substitute those of FLAGS that the compiler takes.
AC_DEFUN([WN_CC_FLAGS], [
wn_saved_cflags=$CFLAGS
$1=
for wn_flag in $2; do
	AC_MSG_CHECKING([whether $CC takes $wn_flag])
	CFLAGS="$wn_saved_cflags -Werror $wn_flag"
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
		[AC_MSG_RESULT([yes])
		 $1="$$1 $wn_flag"],
		[AC_MSG_RESULT([no])])
done
CFLAGS=$wn_saved_cflags
AC_SUBST([$1])
])

dnl WN_LD_FLAGS(VARIABLE, FLAGS): substitute those of FLAGS that link a shared object.
AC_DEFUN([WN_LD_FLAGS], [
wn_saved_cflags=$CFLAGS
wn_saved_ldflags=$LDFLAGS
$1=
for wn_flag in $2; do
	AC_MSG_CHECKING([whether the linker takes $wn_flag])
	CFLAGS="$wn_saved_cflags -Werror -fPIC"
	LDFLAGS="$wn_saved_ldflags -shared $wn_flag"
	AC_LINK_IFELSE([AC_LANG_SOURCE([int wn_probe(void) { return 0; }])],
		[AC_MSG_RESULT([yes])
		 $1="$$1 $wn_flag"],
		[AC_MSG_RESULT([no])])
done
CFLAGS=$wn_saved_cflags
LDFLAGS=$wn_saved_ldflags
AC_SUBST([$1])
])

dnl WN_LIBURING: set have_liburing, LIBURING_CFLAGS, LIBURING_LIBS, liburing_why.
dnl Only the archive will do.  A shared liburing would be one more object to load in every
dnl process that is started under the preload library, before anyone wants io_uring.
AC_DEFUN([WN_LIBURING], [
have_liburing=no
liburing_why=
AS_IF([test "$with_liburing" = no],
	[liburing_why=" (--without-liburing)"],
	[PKG_CHECK_MODULES([LIBURING], [liburing >= 2.0], [have_liburing=found],
		[liburing_why=" (liburing was not found by pkg-config)"])])
AS_IF([test "$have_liburing" = found], [
	have_liburing=no
	wn_uring_dirs=`$PKG_CONFIG --libs-only-L liburing`
	LIBURING_LIBS="$wn_uring_dirs -l:liburing.a"
	AC_MSG_CHECKING([for a liburing.a that can be part of a shared object])
	wn_saved_cflags=$CFLAGS wn_saved_ldflags=$LDFLAGS wn_saved_libs=$LIBS
	CFLAGS="$CFLAGS $LIBURING_CFLAGS -fPIC"
	LDFLAGS="$LDFLAGS -shared -Wl,--no-undefined -Wl,-z,text"
	LIBS="$LIBURING_LIBS $LIBS"
	AC_LINK_IFELSE([AC_LANG_SOURCE([
#define _GNU_SOURCE
#include <liburing.h>
int wn_probe(struct io_uring *ring);
int wn_probe(struct io_uring *ring)
{
	io_uring_prep_nop(io_uring_get_sqe(ring));
	return io_uring_queue_init(8, ring, 0) + io_uring_submit(ring);
}
])],
		[have_liburing=yes],
		[liburing_why=" (liburing is there, but no liburing.a that fits a shared object)"])
	AC_MSG_RESULT([$have_liburing])
	CFLAGS=$wn_saved_cflags LDFLAGS=$wn_saved_ldflags LIBS=$wn_saved_libs
])
AS_IF([test "$have_liburing" = yes],
	[AC_DEFINE([HAVE_LIBURING], [1], [Define to 1 to build the io_uring engine.])],
	[AS_CASE([$with_liburing], [yes], [AC_MSG_ERROR([--with-liburing:$liburing_why])])
	 LIBURING_CFLAGS= LIBURING_LIBS=])
])

#!/bin/sh
# SPDX-License-Identifier: MIT
# make install, a program built against the installed tree, make uninstall.

. "${WN_SRCDIR:?}/tests/lint/lint.sh"
tmp=${WN_TMPDIR:?}
root=$tmp/root
unset MAKEFLAGS MFLAGS MAKELEVEL

# in_tree TARGET: its output, when it fails.
in_tree()
{
	(cd "$WN_BUILDDIR" && "${MAKE:-make}" "$1" DESTDIR="$root") >"$tmp/log" 2>&1 ||
		tail -n 20 "$tmp/log"
}

check "make install" "$(in_tree install)"
find "$root" ! -type d >"$tmp/installed"
looked "$(wc -l <"$tmp/installed")" 15 "installed files"

for file in /include/willneed.h /lib.*/libwillneed.so /lib.*/libwillneed.so.0 \
	/lib.*/libwillneed-preload.so /pkgconfig/willneed.pc /man3/willneed.3 \
	/man7/libwillneed.7; do
	check "$file is installed" "$(grep -q "$file\$" "$tmp/installed" || echo missing)"
done
check "no libtool archive is" "$(grep '\.l\{0,1\}a$' "$tmp/installed")"
check "no object remembers where it was built" \
	"$(for object in "$(grep '/libwillneed-preload\.so$' "$tmp/installed")" \
		"$(grep '/libwillneed\.so\.0$' "$tmp/installed")"; do
		readelf -dW "$object" | grep -F "$WN_BUILDDIR"
	done)"

pc=$(grep '/willneed\.pc$' "$tmp/installed")
libdir=$(dirname "$(grep '/libwillneed\.so$' "$tmp/installed")")
flags=$(PKG_CONFIG_PATH=$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$root \
	"${PKG_CONFIG:-pkg-config}" --cflags --libs willneed 2>&1) || flags="failed: $flags"
check "pkg-config knows willneed" "$(case $flags in *-lwillneed*) ;; *) echo "$flags" ;; esac)"

# shellcheck disable=SC2086  # flags are many words
check "the example compiles with what pkg-config says" \
	"$(${CC:-cc} -Wall -Wextra -Werror -o "$tmp/example" tests/harness/example.c \
		$flags 2>&1)"
dd if=/dev/urandom of="$tmp/data" bs=1M count=4 2>"$tmp/log"
want=$(cksum <"$tmp/data")
got=$(LD_LIBRARY_PATH=$libdir "$tmp/example" "$tmp/data" 2>"$tmp/stderr" | cksum)
check "the example copies a file" "$([ "$got" = "$want" ] || echo "$got, not $want")"
check "the example tells what the library did" \
	"$(grep -q 'asked of the kernel' "$tmp/stderr" || cat "$tmp/stderr")"
check "the example refuses a file that is not there" \
	"$(LD_LIBRARY_PATH=$libdir "$tmp/example" "$tmp/absent" 2>/dev/null && echo "status 0")"

# What is below DESTDIR, or has been moved, is complete in itself.
program=$(grep '/bin/willneed$' "$tmp/installed")
if [ -n "$program" ]; then
	preload=$(grep '/libwillneed-preload\.so$' "$tmp/installed")
	told=$("$program" -v true 2>&1)
	check "the program takes the library that was installed with it" \
		"$(case $told in *" $(realpath "$preload")") ;; *) echo "$told" ;; esac)"
	mv "$root" "$root.moved"
	told=$("$root.moved${program#"$root"}" -v true 2>&1)
	check "and once more when all was moved" \
		"$(case $told in *" $(realpath "$root.moved${preload#"$root"}")") ;;
		*) echo "$told" ;; esac)"
	mv "$root.moved" "$root"
	check "another run of configure makes the program anew" \
		"$(cd "$WN_BUILDDIR" && "${MAKE:-make}" -n -W Makefile willneed V=1 2>&1 |
			grep -q -- '-DWN_LIBDIR=.*tools/preload\.c' || echo "it does not")"
else
	skip "the program takes the library that was installed with it" "built without it"
fi

# The program in the manual is one that people will copy.
awk '/^\.Bd -literal/ { on = 1; next } /^\.Ed/ && on { exit } on' man/willneed.3 |
	sed 's/\\-/-/g; s/\\e/\\/g; s/\\&//g' >"$tmp/manual.c"
looked "$(wc -l <"$tmp/manual.c")" 20 "lines of the program in willneed(3)"
# shellcheck disable=SC2086  # flags are many words
check "the program in willneed(3) compiles" \
	"$(${CC:-cc} -Wall -Wextra -Werror -o "$tmp/manual" "$tmp/manual.c" $flags 2>&1)"
check "the program in willneed(3) runs" \
	"$(LD_LIBRARY_PATH=$libdir "$tmp/manual" "$tmp/data" >"$tmp/log" 2>&1 || cat "$tmp/log")"

check "make uninstall" "$(in_tree uninstall)"
check "make uninstall leaves no file behind" "$(find "$root" ! -type d)"
finish

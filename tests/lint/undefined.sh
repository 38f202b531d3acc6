#!/bin/sh
# SPDX-License-Identifier: MIT
# What the two shared objects take from others, and how they are linked.

. "${WN_SRCDIR:?}/tests/lint/lint.sh"

undefined()
{
	nm -D --undefined-only "$1" | awk '{ print $2 }' | sed 's/@.*//' | sort -u
}

# A relocation against an IFUNC runs its resolver, in a libc that may not be relocated
# itself yet: the process dies before main().
chosen_late='^_*(mem|str|stp|wcs|wmem|time$|gettimeofday$)'
forbidden='^_*((m|c|re|aligned_|v|pv)alloc|posix_memalign|free|.*printf.*|puts|fputs|fwrite|fopen.*|(secure_)?getenv|setenv|exit|_exit|abort|assert.*)$'
# Two names that liburing.a brings, for its io_uring_get_probe(), which nobody calls.
unused='^(calloc|free)$'

objects=$WN_BUILDDIR/.libs/libengine.a
own=$(nm --undefined-only "$objects" | awk 'NF == 2 { print $2 }' | sort -u)
looked "$(echo "$own" | grep -c .)" 10 "names undefined in single objects of the engine"
check "the engine itself calls none of what is forbidden" \
	"$(echo "$own" | grep -E "$forbidden")"

for object in "$WN_LIBRARY" "$WN_PRELOAD"; do
	name=${object##*/}
	looked "$(undefined "$object" | wc -l)" 1 "undefined symbols of $name"
	check "$name needs no function that libc chooses at load time" \
		"$(undefined "$object" | grep -E "$chosen_late")"
	check "$name needs no allocator, no stdio, no environment, no way to die" \
		"$(undefined "$object" | grep -E "$forbidden" | grep -Ev "$unused")"

	needed=$(readelf -dW "$object" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
	looked "$(echo "$needed" | grep -c .)" 1 "needed libraries of $name"
	check "$name needs libc and libwillneed only" \
		"$(echo "$needed" | grep -Ev '^(libc\.so\.6|ld-linux-.*)$')"
	flags=$(readelf -dW "$object" | grep -E '\((FLAGS|FLAGS_1)\)')
	check "$name is bound at start and stays loaded" \
		"$(for flag in NOW NODELETE; do
			case $flags in *$flag*) ;; *) echo "no flag $flag" ;; esac
		done)"
	check "$name has no text relocation and no executable stack" \
		"$(readelf -dW "$object" | grep TEXTREL
		readelf -lW "$object" | grep 'GNU_STACK.*RWE')"
done
finish

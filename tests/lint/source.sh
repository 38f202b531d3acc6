#!/bin/sh
# SPDX-License-Identifier: MIT
# Rules for the text of the sources: length, forbidden calls, forbidden words.

. "${WN_SRCDIR:?}/tests/lint/lint.sh"

# -- Length
looked "$(sources lib tools | wc -l)" 20 "sources of lib and tools"
# What _FORTIFY_SOURCE puts in the place of read() and others would be what is defined here.
check "files of front/ include its header first" "$(for file in lib/front/*.c; do
	grep -m 1 '^#include' "$file" | grep -qE '"front/(front|read)\.h"' || echo "$file"
done)"
check "no file of lib or tools is longer than 400 lines" \
	"$(sources lib tools | while read -r file; do
		lines=$(wc -l <"$file")
		[ "$lines" -le 400 ] || echo "$file has $lines"
	done)"

# -- One list says what is built
files=$(find lib include tools tests man -type f \( -name '*.[ch]' -o -name '*.def' \
	-o -name '*.map' -o -name '*.sh' -o -name '*.py' -o -name '*.awk' -o -name '*.in' \) |
	sort)
looked "$(echo "$files" | wc -l)" 50 "files that Makefile.am must name"
check "Makefile.am names every file" \
	"$(for file in $files; do
		# A test program is named without its suffix.
		grep -qE "(^|[ 	])${file%.c}(\.c)?([ 	]|\$)" Makefile.am || echo "$file"
	done)"

# -- The environment is read once, at birth, in one place
check "getenv is called in lib/runtime.c only" \
	"$(sources lib | xargs grep -nE '\<(secure_)?getenv[ 	]*\(' |
		grep -v '^lib/runtime\.c:')"

# -- Words
files=$(find lib include tools tests man .ci bootstrap configure.ac Makefile.am \
	m4/willneed.m4 README.md HACKING.md NEWS -type f ! -path '*/.libs/*' \
	! -path '*/.deps/*' ! -name '*.log' ! -name '*.trs' -exec grep -lI . {} + | sort)
looked "$(echo "$files" | wc -l)" 50 "files for forbidden words"
check "nothing is left to do" \
	"$(echo "$files" | xargs grep -nwE "T[O]DO|F[I]XME|X[X]X|H[A]CK")"
check "no path of the machine it was written on" \
	"$(echo "$files" | xargs grep -nE '(^|[^a-zA-Z0-9_./-])/(w[o]rk|r[o]ot)/')"
check "every source names its licence" \
	"$(sources lib include tools tests | xargs grep -L 'SPDX-License-Identifier: MIT')"
check "no line of a source ends in blanks" \
	"$(sources lib include tools tests | xargs grep -nE '[ 	]+$')"
finish

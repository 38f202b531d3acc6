#!/bin/sh
# SPDX-License-Identifier: MIT
# What the copy and mapping families promise: overlap, aborts, errno, faults, signals.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
need_scratch 100
make_file "$scratch/big" 64
big=$scratch/big

compile overlap
wcmp "overlapping copies" "$tmp/overlap"
if [ "$(uname -m)" = x86_64 ]; then
	compile_as overlap.old overlap -DOLD
	wcmp "overlapping copies by the old memcpy" "$tmp/overlap.old"
else
	skip "overlapping copies by the old memcpy" "x86-64 only"
fi
# Unwatched: where the kernel is known to serve copies well it is left alone.
helped "overlapping copies within a cold mapping" WILLNEED_WATCH=off "$tmp/overlap" "$big"

for level in 1 2 3; do
	compile_as fortify fortify -D_FORTIFY_SOURCE=$level -fbuiltin
	for function in memcpy memmove mempcpy read pread pread64 fread fread_unlocked; do
		wcmp "fortify $level: $function overflows" "$tmp/fortify" $function 100
		wcmp "fortify $level: $function fits" "$tmp/fortify" $function 10
	done
done
compile_as fortify fortify -D_FORTIFY_SOURCE=2 -fbuiltin
helped "fortified copies and reads are seen too" "$tmp/fortify" "$big"

compile errors
wcmp "errno, return values" "$tmp/errors" "$big"
helped "errno, while the library works" "$tmp/errors" "$big"

# Copies that fail halfway, and come back by longjmp.
compile sigbus
wcmp "SIGBUS: behind the end of the file" "$tmp/sigbus" shrunk "$scratch/shrunk"
helped "SIGBUS: 4 threads, 20000 times" "$tmp/sigbus" jumps "$scratch/jumps"
cp "$big" "$scratch/moving"
helped "SIGBUS: while the file is cut and punched" "$tmp/sigbus" moving "$scratch/moving"

compile signals
"$tmp/file" chill "$big"
helped "copies in handlers on the smallest signal stack" "$tmp/signals" handler "$big"
"$tmp/file" chill "$big"
helped "copies on the smallest thread stack" "$tmp/signals" thread "$big"
"$tmp/file" chill "$big"
helped "threads cancelled while they copy" "$tmp/signals" cancel "$big"

# A program with a memcpy and an mmap of its own: they are used, and nothing breaks.
compile_as own reader -rdynamic "$here/own.c"
"$tmp/file" chill "$big"
wcmp "a program that exports memcpy and mmap" "$tmp/own" "$big" 8
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# WILLNEED_LOG: who asks why a program was not helped finds the answer there.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
need_scratch 200
make_file "$scratch/big" 64
make_file "$scratch/middle" 8
big=$scratch/big
compile why

# The reasons from their own list: told ID prints its text.
text_of()
{
	sed -n "s/^WN_REASON($1, \"\([^\"]*\)\".*/\1/p" "$WN_SRCDIR/lib/why.def"
}

# told ID [NAME=VALUE...] MODE FILE: the reason stands in the log once, with the file's name
# where it is about a file, and the data are right.
told()
{
	reason=$(text_of "$1")
	[ -n "$reason" ] || complain "$1 is no reason"
	shift
	rm -f "$tmp/log"
	for file in "$@"; do :; done
	with WILLNEED_LOG="$tmp/log" env "$@" >"$tmp/run.out" 2>"$tmp/run.err"
	want "exit status" $? == 0
	[ ! -s "$tmp/run.err" ] || complain "on stderr: $(cat "$tmp/run.err")"
	want "lines with it" "$(grep -c "left alone: $reason" "$tmp/log")" == 1
	[ "${process-}" ] || grep -qF "($file): left alone: $reason" "$tmp/log" ||
		complain "no name in: $(grep "left alone: $reason" "$tmp/log")"
	[ ! -s "$tmp/complaints" ] || sed 's/^/# /' "$tmp/log"
	verdict "told: $reason"
}

cat "$big" "$scratch/middle" >"$tmp/run.out"
told CACHED "$tmp/why" read "$big"
told CACHED "$tmp/why" copy "$big"
told CACHED "$tmp/why" load "$big"
told SMALL WILLNEED_MIN_MAP=128M "$tmp/why" read "$big"
told SMALL WILLNEED_MIN_MAP=128M "$tmp/why" load "$big"
told SMALL_WATCH "$tmp/why" load "$scratch/middle"
chill "$big"
told RANDOM "$tmp/why" read-random "$big"
chill "$big"
told RANDOM "$tmp/why" load-random "$big"
chill "$big"
told WIDE WILLNEED_WIDE=4K "$tmp/why" read "$big"
chill "$big"
told WIDE WILLNEED_WIDE=4K "$tmp/why" copy "$big"
chill "$big"
if "$tmp/why" read-direct "$big" >"$tmp/run.out" 2>&1; then
	told DIRECT "$tmp/why" read-direct "$big"
else
	skip "told: O_DIRECT" "no O_DIRECT here"
fi
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] &&
	cp "$big" "/dev/shm/willneed-why.$$" 2>/dev/null; then
	told UNSUITED "$tmp/why" read "/dev/shm/willneed-why.$$"
	told UNSUITED "$tmp/why" load "/dev/shm/willneed-why.$$"
	rm -f "/dev/shm/willneed-why.$$"
else
	skip "told: a file system of memory" "no /dev/shm"
fi

process=yes
chill "$big"
told OFF WILLNEED=off "$tmp/why" read "$big"
told OBSERVE WILLNEED=observe "$tmp/why" read "$big"
told NULLED WILLNEED_ENGINE=null "$tmp/why" read "$big"
told NOT_NAMED WILLNEED_ONLY=wh,whyy "$tmp/why" read "$big"
told SKIPPED WILLNEED_SKIP=why "$tmp/why" read "$big"
chill "$big"
told NO_HELPER WILLNEED_ENGINE=inline "$tmp/why" read "$big"
told SANDBOX "$tmp/why" gives-up "$big"
if is_root && have setpriv && have prlimit; then
	chmod 755 "$tmp" && chmod 644 "$big"
	chill "$big"
	: >"$tmp/log" && chmod 666 "$tmp/log"
	with WILLNEED_LOG="$tmp/log" prlimit --nproc=1 setpriv --reuid 65534 --clear-groups \
		"$tmp/why" read "$big" >"$tmp/run.out" 2>"$tmp/run.err"
	want "exit status" $? == 0
	want "no thread may be had: lines" "$(grep -c "$(text_of NO_HELPER), errno 11" "$tmp/log")" == 1
	verdict "told: no helper, since RLIMIT_NPROC is reached"
else
	skip "told: no helper, since RLIMIT_NPROC is reached" "not root, or no tools"
fi

# What could not be done with the settings themselves.
with WILLNEED_LOG="$tmp/log2" WILLNEED_WIDNOW=1M WILLNEED_STATS=/nonexistent/file \
	"$tmp/why" read "$big" >"$tmp/run.out" 2>"$tmp/run.err"
same "unknown names are told in the log" \
	"$(grep -c ': there is no such setting: WILLNEED_WIDNOW=1M$' "$tmp/log2")" 1
same "and counters that go nowhere" \
	"$(grep -c ': WILLNEED_STATS cannot be written to, errno 2$' "$tmp/log2")" 1
same "but not on stderr" "$(cat "$tmp/run.err")" ""

# A program with many files does not write as many lines.
i=0
mkdir "$scratch/many"
while [ $i -lt 100 ]; do
	i=$((i + 1))
	ln "$big" "$scratch/many/link.$i"
	head -c 300000 "$big" >"$scratch/many/$i"
done
# shellcheck disable=SC2086  # several names
with WILLNEED_LOG="$tmp/log3" "$tmp/why" read "$scratch"/many/* >"$tmp/run.out" 2>&1
same "many files: so many are told" "$(grep -c "left alone: $(text_of SMALL)$" "$tmp/log3")" 32
same "and that there are more" "$(grep -c "$(text_of SMALL): more than 32 files" "$tmp/log3")" 1
same "a file with many names is one" "$(grep -c "left alone: $(text_of CACHED)" "$tmp/log3")" 1

# Where all has gone well nothing is said to be left alone.
helped_and_logged()
{
	chill "$big" || complain "the file is not cold"
	rm -f "$tmp/log4"
	with WILLNEED_LOG="$tmp/log4" "$tmp/why" copy "$big" >"$tmp/run.out" 2>&1
	hope "lines that say that it is left alone" "$(grep -c 'left alone' "$tmp/log4")" == 0
}
tries helped_and_logged
verdict "what was helped is not said to be left alone"
at_least "what was asked for is told at the end" \
	"$(sed -n 's/.*: at exit: asked for \([0-9]*\) bytes$/\1/p' "$tmp/log4" | tail -n 1)" 1048576

# At the end of a program that closes its stderr before.
"$tmp/file" chill "$big"
with WILLNEED_LOG=1 cat "$big" 2>"$tmp/run.err" >"$tmp/run.out"
same "1 is stderr, also when it has been closed" "$(grep -c ': at exit: ' "$tmp/run.err")" 1
check "and no file is named 1" test ! -e 1
with WILLNEED_LOG=0 WILLNEED_STATS=0 cat "$big" 2>"$tmp/run.err" >"$tmp/run.out"
same "0 is nowhere" "$(cat "$tmp/run.err")" ""
check "and no file is named 0" test ! -e 0

# Scripts: what has read nothing is silent, but the command that is looked at.
with WILLNEED_LOG=stderr sh -c 'true; (true); env true' 2>"$tmp/run.err"
same "programs that read nothing tell nothing" "$(cat "$tmp/run.err")" ""
# shellcheck disable=SC2016  # of the shell that becomes the program
with WILLNEED_LOG=stderr sh -c 'WILLNEED_STATS_PID=$$ exec true' 2>"$tmp/run.err"
same "but the one that is named" "$(grep -c ': at exit: nothing was asked for' "$tmp/run.err")" 1
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# What the library costs a program that does not need it: counts, not times.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
need_scratch 100
make_file "$scratch/big" 32
big=$scratch/big
compile startup

wcmp "threads, descriptors, signals, environment at main" "$tmp/startup" self
wcmp "the same, after small and warm copies" "$tmp/startup" warm "$big"

bare "$tmp/startup" faults /bin/true >"$tmp/bare.out"
"$tmp/startup" faults /bin/true "$WN_PRELOAD" >"$tmp/with.out"
at_most "page faults of /bin/true more than bare" \
	$(($(cat "$tmp/with.out") - $(cat "$tmp/bare.out"))) 20

# Memory: what the program has of its own, idle and at work.
anonymous()
{
	sed -n 's/^anonymous KiB //p' "$1"
}

maps()
{
	sed -n 's/^mappings //p' "$1"
}

"$tmp/startup" memory "$big" >"$tmp/bare.out"
with "$tmp/startup" memory >"$tmp/idle.out"
"$tmp/startup" memory >"$tmp/none.out"
at_work()
{
	"$tmp/file" chill "$big"
	# Each thread whose faults are watched by perf has a ring besides.
	with WILLNEED_STATS="$tmp/stats" WILLNEED_WATCH=scan "$tmp/startup" memory "$big" \
		>"$tmp/with.out"
	hope "bytes asked for" "$(counter asked_bytes)" ">=" 1048576
}
tries at_work
verdict "it is at work"
at_most "idle: anonymous memory, KiB" \
	$(($(anonymous "$tmp/idle.out") - $(anonymous "$tmp/none.out"))) 64
at_most "at work: anonymous memory, KiB" \
	$(($(anonymous "$tmp/with.out") - $(anonymous "$tmp/bare.out"))) 512
objects=$(($(maps "$tmp/idle.out") - $(maps "$tmp/none.out")))
at_most "idle: mappings, of one shared object" $objects 6
at_most "at work: mappings, more than idle" \
	$(($(maps "$tmp/with.out") - $(maps "$tmp/bare.out") - objects)) 4

if ! have strace || ! strace -o "$tmp/s" true 2>"$tmp/strace.log"; then
	skip "system calls" "strace does not work here"
	finish
fi

# traced FILE COMMAND...: its system calls, one a line, from the program's own start on.
traced()
{
	list=$1
	shift
	strace -f -qq -o "$list" -E LD_PRELOAD="${preload-}" "$@" >"$tmp/s.out" 2>&1
}

preload='' traced "$tmp/bare.calls" /bin/true
preload=$WN_PRELOAD traced "$tmp/with.calls" /bin/true
more=$(($(wc -l <"$tmp/with.calls") - $(wc -l <"$tmp/bare.calls")))
# One object is opened, read, examined, mapped, protected and closed, and nothing is searched.
at_most "system calls of /bin/true more than bare" "$more" 9
same "threads and processes that /bin/true starts" \
	"$(grep -cE 'clone|fork' "$tmp/with.calls")" 0
same "files that are opened, but for the object" \
	"$(grep openat "$tmp/with.calls" | grep -v ENOENT | grep -vc willneed)" \
	"$(grep openat "$tmp/bare.calls" | grep -vc ENOENT)"
same "what /bin/true opens of ours" "$(grep openat "$tmp/with.calls" | grep -v ENOENT |
	sed -n 's/.*\(libwillneed[^"]*\)".*/\1/p' | tr '\n' ' ')" \
	"libwillneed-preload.so "

# A program that opens many files is charged nothing more, one that reads a large one three
# calls a look: which file, what has the thread read, and where is it.  There is one for each
# MiB, and fewer once 16 MiB were warm.  Nobody writes to these folders meanwhile.
looks=$((3 * 34))
for what in "tar cf $tmp/t.tar -C $WN_SRCDIR lib include tools" "cat $big" "cksum $big" \
	"cp $big $scratch/copy" "ls -lR $WN_SRCDIR/lib"; do
	# shellcheck disable=SC2086
	preload='' traced "$tmp/bare.calls" $what
	# shellcheck disable=SC2086
	preload=$WN_PRELOAD traced "$tmp/with.calls" $what
	at_most "system calls of ${what%% *} more than bare, but for /bin/true's" \
		$(($(wc -l <"$tmp/with.calls") - $(wc -l <"$tmp/bare.calls"))) \
		$((more + 2 + looks))
	for list in bare with; do
		sed -nE 's/^[0-9]+ +((read|write|pread64|lseek|copy_file_range|getdents64)\()/\1/p' \
			"$tmp/$list.calls" | grep -vE 'ELF|lseek\([0-9]+, 0, SEEK_CUR\)' | sed 's/0x[0-9a-f]*/ADDRESS/g' \
			>"$tmp/$list.reads"
	done
	check "reads and writes of ${what%% *} are the same" \
		cmp "$tmp/bare.reads" "$tmp/with.reads"
done

# Warm copies out of a mapping: after the first looks, the kernel is not asked again.
"$tmp/startup" warm "$big" >"$tmp/check.out"
preload='' traced "$tmp/bare.calls" "$tmp/startup" passes "$big"
preload=$WN_PRELOAD WILLNEED_WATCH=off traced "$tmp/with.calls" "$tmp/startup" passes "$big"
at_most "system calls of 100 warm passes, without getrusage" \
	$(($(grep -vc getrusage "$tmp/with.calls") - $(grep -vc getrusage "$tmp/bare.calls"))) \
	$((more + 10))

preload=$WN_PRELOAD
strace -f -qq -o "$tmp/with.calls" -E LD_PRELOAD="$WN_PRELOAD" -E WILLNEED=off \
	"$tmp/startup" passes "$big" >"$tmp/s.out" 2>&1
at_most "the same, WILLNEED=off: all system calls" \
	$(($(wc -l <"$tmp/with.calls") - $(wc -l <"$tmp/bare.calls"))) $more
finish

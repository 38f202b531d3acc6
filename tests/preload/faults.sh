#!/bin/sh
# SPDX-License-Identifier: MIT
# Plain loads from a cold mapping, which only their page faults show.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
mib=256
size=$((mib * 1048576))
need_scratch $((mib * 2 + 300))
loop_fs ext4 $((mib + 80)) 128 512 || skip_all "no loop device with limits of its own: $why"
work=$tmp/workload
$CC -std=gnu17 -D_GNU_SOURCE -O2 -o "$work" "$WN_SRCDIR"/tests/workloads/*.c -pthread \
	>"$tmp/cc.log" 2>&1 || {
	echo "Bail out! tests/workloads does not compile"
	exit 1
}
compile faults
compile forbid
big=$mnt/big
make_file "$big" $mib

value()
{
	sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$tmp/run.out"
}

# load NAME ENVIRONMENT WORKLOAD...: cold, bare and preloaded; the data are the same.
load()
{
	name=$1
	environment=$2
	shift 2
	chill "$big" || complain "the file is not cold"
	bare "$work" load "$@" "$big" >"$tmp/run.out" || complain "bare: exit status $?"
	sum=$(value checksum)
	bare_read=$(value read_bytes)
	bare_faults=$(value majflt)
	chill "$big" || complain "the file is not cold"
	rm -f "$tmp/stats"
	# shellcheck disable=SC2086
	with WILLNEED_STATS="$tmp/stats" $environment "$work" load "$@" "$big" \
		>"$tmp/run.out" 2>"$tmp/run.err" || complain "exit status $?"
	[ ! -s "$tmp/run.err" ] || complain "on stderr: $(cat "$tmp/run.err")"
	[ "$(value checksum)" = "$sum" ] || complain "checksum $(value checksum), not $sum"
}

# How far behind a busy machine leaves the helper is not for a test to judge: a quarter of
# the bare faults is far from what is reached (README.md), and from no help at all.
helped_load()
{
	tries helped_load_once "$@"
	verdict "$name"
}

helped_load_once()
{
	load "$@"
	hope "bytes asked for ahead" "$(counter walk_bytes)" ">=" $((size * 8 / 10))
	want "bytes read" "$(value read_bytes)" "<=" $((size + size / 50))
	[ "$bare_faults" -lt 200 ] ||
		hope "major faults" "$(value majflt)" "<=" $((bare_faults / 4))
}

# ahead_of BYTES NAME ENVIRONMENT WORKLOAD...: so much at least is asked for ahead.
ahead_of()
{
	tries ahead_of_once "$@"
}

ahead_of_once()
{
	least=$1
	shift
	load "$@"
	hope "bytes asked for ahead" "$(counter walk_bytes)" ">=" "$least"
}

# quiet_load: no byte more than bare, but for what little the kernel itself varies by.
quiet_load()
{
	load "$@"
	want "bytes read" "$(value read_bytes)" "<=" $((bare_read + bare_read / 50))
	verdict "$name"
}

# Is perf to be had here at all?
chill "$big"
with WILLNEED_STATS="$tmp/stats" "$work" load --order backward "$big" >"$tmp/run.out"
if [ "$(counter watched_faults)" = 0 ]; then
	skip "walks" "perf_event_open does not work here"
else
	helped_load "backward" "" --order backward
	helped_load "backward, advised sequential" "" --order backward --advice sequential
	# The kernel reads in huge pages there, until seeds are ripe; the rest is led.
	ahead_of $((size / 4)) "backward, advised hugepage" "" --order backward --advice hugepage
	# Only where the reader is in the block already.
	want "bytes asked for by advice" "$(counter advise_bytes)" "<=" $((size / 16))
	want "major faults" "$(value majflt)" "<=" "$bare_faults"
	want "bytes read" "$(value read_bytes)" "<=" $((size + size / 50))
	verdict "$name"
	helped_load "backward, shared mapping" "" --order backward --map shared
	helped_load "backward, descriptor closed" "" --order backward --close-fd 1
	helped_load "backward, 4 threads with a range each" "" --order backward --threads 4
	helped_load "backward, by advice" WILLNEED_WAY=advise --order backward
	helped_load "backward, by address" WILLNEED_WAY=address --order backward

	helped_load "backward, advised random, proven" WILLNEED_RANDOM=prove --order backward \
		--advice random
	load "random pages, advised random" WILLNEED_RANDOM=prove --order random --piece 4K \
		--pieces 4000 --advice random
	want "bytes asked for ahead" "$(counter walk_bytes)" == 0
	want "bytes read" "$(value read_bytes)" "<=" "$bare_read"
	verdict "$name"

	# Records: a page of every MiB, and 64 KiB of every 512 KiB, which is an eighth.  At a
	# fault the kernel reads 128 KiB.
	ahead_of $((mib * 4096 / 4)) "a page per MiB" "" --piece 4K --stride 1M
	want "bytes read" "$(value read_bytes)" "<=" "$bare_read"
	want "bytes asked for ahead" "$(counter walk_bytes)" "<=" $((mib * 4096))
	verdict "$name"
	ahead_of $((size / 32)) "64 KiB of every 512 KiB" "" --piece 64K --stride 512K
	want "bytes read" "$(value read_bytes)" "<=" "$bare_read"
	want "bytes asked for ahead" "$(counter walk_bytes)" "<=" $((size / 8))
	verdict "$name"

	# It has one major fault, and is over soon: how much of it is led depends on the time.
	ahead_of 1048576 "forward" "" --order forward
	want "bytes read" "$(value read_bytes)" "<=" $((size + size / 50))
	verdict "$name"

	ahead_of $((size / 2)) "backward, a window of 1 MiB" WILLNEED_WINDOW=1M --order backward
	want "bytes read" "$(value read_bytes)" "<=" $((size + size / 50))
	verdict "$name"

	load "backward, ten pieces of 256 KiB" "" --order backward --piece 256K --pieces 10
	want "bytes read" "$(value read_bytes)" "<=" $((2 * 10 * 262144))
	verdict "$name"

	# Tensors: as a whole, once some of them were read; and not much more than is read.
	tensors="--piece 4M --order shuffled --split queue --threads 4"
	whole_once()
	{
		# shellcheck disable=SC2086
		load "shuffled pieces" "" $tensors
		want "bytes read" "$(value read_bytes)" "<=" $((size + size / 50))
		# It is over soon: how much is left to be fetched depends on the time.
		hope "files fetched as a whole" "$(counter wholes)" == 1
		hope "bytes fetched" "$(counter whole_bytes)" ">=" $((size / 512))
	}
	tries whole_once
	verdict "$name"
	# shellcheck disable=SC2086
	load "shuffled pieces, each by itself" WILLNEED_WHOLE=off $tensors
	want "files fetched as a whole" "$(counter wholes)" == 0
	verdict "$name"
	# shellcheck disable=SC2086
	load "shuffled pieces, a third of them" "" $tensors --pieces 5
	want "bytes read" "$(value read_bytes)" "<=" $((2 * 20 * 4194304))
	verdict "$name"
	# shellcheck disable=SC2086
	load "shuffled pieces, little to be read ahead" WILLNEED_BUDGET=8M $tensors
	want "bytes not used" "$(counter unused_bytes)" "<=" 8388608
	want "bytes read" "$(value read_bytes)" "<=" $((size + size / 50))
	verdict "$name"

	# Threads that come and go; the helper finds and forgets them.
	chill "$big"
	helped "64 threads that come and go" "$tmp/faults" threads "$big"
	# Watching that was of no use has not ended, and is soon of use.
	later_once()
	{
		chill "$big" || complain "the file is not cold"
		rm -f "$tmp/stats"
		with WILLNEED_STATS="$tmp/stats" "$tmp/faults" later "$big" >"$tmp/run.out" ||
			complain "exit status $?"
		# A page each at first: 1000 loads, 16384 pages.
		hope "faults that were looked at before" "$(counter watched_faults)" "<=" 8000
		hope "major faults of the walk" "$(cat "$tmp/run.out")" "<=" \
			$((mib * 256 / 4 / 4))
	}
	tries later_once
	verdict "a walk after a second of random pages"
	# Signals of the program's own, also the one that the helper is woken by.
	chill "$big"
	helped "signals to the process are not taken" "$tmp/faults" signals "$big"
	chill "$big"
	helped "descriptors and children are as without" "$tmp/faults" children "$big"
	chill "$big"
	helped "a file that is truncated while it is read" "$tmp/faults" truncate "$big"
	make_file "$big" $mib
fi

# Of a file of root's the kernel tells nobody whether it is cached; its faults still do.
name="backward, as nobody, a file of root's"
if is_root && have setpriv; then
	chmod 711 "$tmp"
	mkdir -p "$tmp/open"
	chmod 777 "$tmp/open"
	cp "$WN_PRELOAD" "$WN_LIBRARY" "$tmp/open"
	nobody_once()
	{
		chill "$big" || complain "the file is not cold"
		(
			WN_PRELOAD=$tmp/open/${WN_PRELOAD##*/}
			with setpriv --reuid=65534 --regid=65534 --clear-groups env \
				WILLNEED_STATS="$tmp/open/stats" "$work" load --order backward \
				"$big" >"$tmp/run.out" 2>"$tmp/run.err"
		) || complain "exit status $?"
		mv "$tmp/open/stats" "$tmp/stats"
		[ ! -s "$tmp/run.err" ] || complain "on stderr: $(cat "$tmp/run.err")"
		want "bytes read" "$(value read_bytes)" "<=" $((size + size / 50))
		[ "$(counter watched_faults)" = 0 ] ||
			hope "bytes asked for ahead" "$(counter walk_bytes)" ">=" $((size * 8 / 10))
	}
	tries nobody_once
	verdict "$name"
else
	skip "$name" "not root, or no setpriv"
fi

quiet_load "random pages" "" --order random --piece 4K --pieces 4000
quiet_load "random pages, 8 threads" "" --order random --piece 4K --pieces 500 --threads 8
quiet_load "a page per MiB, backward" "" --piece 4K --stride 1M --order backward
quiet_load "backward, advised random" "" --order backward --advice random --length 16M
want "bytes asked for" "$(counter asked_bytes)" == 0
verdict "advice to read nothing ahead is obeyed"

for off in WILLNEED_WATCH=off WILLNEED=off WILLNEED=observe WILLNEED_MIN_WATCH=1G; do
	load "$off" $off --order backward --length 32M
	want "bytes asked for" "$(counter asked_bytes)" == 0
	want "helpers" "$(counter helper_starts)" == 0
	verdict "$name"
done

# A warm file is left alone: no thread, no look.
cat "$big" >/dev/null
rm -f "$tmp/stats"
with WILLNEED_STATS="$tmp/stats" "$work" load --order backward "$big" >"$tmp/run.out"
same "helpers for a file that is cached" "$(counter helper_starts)" 0

# Each sense by itself, and the one that is left where perf is refused.
for sense in scan pagemap; do
	chill "$big"
	with WILLNEED_STATS="$tmp/stats" WILLNEED_WATCH=$sense "$work" load --order backward \
		--length 64M "$big" >"$tmp/run.out"
	if [ "$(counter watch_looks)" = 0 ]; then
		skip "by $sense" "the page table cannot be looked at here"
		continue
	fi
	helped_load "$sense: backward" WILLNEED_WATCH=$sense --order backward
	helped_load "$sense: backward, advised sequential" WILLNEED_WATCH=$sense \
		--order backward --advice sequential
	# Where only samples are taken, readers that begin in the middle are found late.
	[ $sense = pagemap ] ||
		helped_load "$sense: backward, 4 threads with a range each" \
			WILLNEED_WATCH=$sense --order backward --threads 4
	quiet_load "$sense: random pages" WILLNEED_WATCH=$sense --order random --piece 4K \
		--pieces 4000
	quiet_load "$sense: a page per MiB" WILLNEED_WATCH=$sense --piece 4K --stride 1M
	for program in threads signals children truncate; do
		chill "$big"
		helped "$sense: $program" WILLNEED_WATCH="$sense" "$tmp/faults" "$program" "$big"
		[ "$program" != truncate ] || make_file "$big" $mib
	done
done
refused_once()
{
	chill "$big"
	rm -f "$tmp/stats"
	with WILLNEED_STATS="$tmp/stats" "$tmp/forbid" EPERM perf_event_open "$work" load \
		--order backward "$big" >"$tmp/run.out" 2>"$tmp/run.err"
	hope "looks into the page table" "$(counter watch_looks)" ">=" 1
	hope "bytes asked for ahead" "$(counter walk_bytes)" ">=" $((size / 2))
	[ ! -s "$tmp/run.err" ] || complain "on stderr: $(cat "$tmp/run.err")"
}
tries refused_once
verdict "perf is refused"

# Any refusal is the end of watching, and of nothing else.
for call in perf_event_open epoll_create1 ioctl; do
	failed=0
	for errno in EPERM ENOSYS EACCES EINVAL ENOMEM; do
		chill "$big"
		rm -f "$tmp/stats"
		with WILLNEED_STATS="$tmp/stats" "$tmp/forbid" $errno $call "$work" load \
			--order backward --length 64M "$big" >"$tmp/run.out" 2>"$tmp/run.err" ||
			complain "$call $errno: exit status $?"
		[ ! -s "$tmp/run.err" ] || complain "$call $errno: $(cat "$tmp/run.err")"
		failed=$((failed + $(counter facility_failures)))
	done
	# A program may be over before the helper has come to try.
	want "$call: facilities that failed" $failed ">=" 1
done
verdict "refused calls"
loop_gone
finish

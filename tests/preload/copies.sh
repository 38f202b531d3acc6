#!/bin/sh
# SPDX-License-Identifier: MIT
# Copies out of a cold mapping: the data, the major faults, the bytes read, the counters.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
mib=256
size=$((mib * 1048576))
need_scratch $((mib * 3 + 300))
work=$tmp/workload
$CC -std=gnu17 -D_GNU_SOURCE -O2 -o "$work" "$WN_SRCDIR"/tests/workloads/*.c -pthread \
	>"$tmp/cc.log" 2>&1 || {
	echo "Bail out! tests/workloads does not compile"
	exit 1
}

# glibc copies the documented way, last pieces first, whatever this processor's caches are.
tunables=glibc.cpu.x86_rep_movsb_threshold=0x40000000

value()
{
	sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$tmp/run.out"
}

# place NAME PATH: what follows is about this file.
place()
{
	where=$1
	big=$2
	[ -e "$big" ] || make_file "$big" $mib
	"$work" pread --verify 1 "$big" >"$tmp/run.out"
	sum=$(value checksum)
}

# attempt ENVIRONMENT WORKLOAD...: one run from cold.
attempt()
{
	environment=$1
	shift
	chill "$big" || complain "the file is not cold"
	rm -f "$tmp/stats"
	# shellcheck disable=SC2086
	with GLIBC_TUNABLES=$tunables WILLNEED_STATS="$tmp/stats" $environment \
		"$work" "$@" --verify 1 "$big" >"$tmp/run.out" 2>"$tmp/run.err" ||
		complain "exit status $?"
	[ ! -s "$tmp/run.err" ] || complain "on stderr: $(cat "$tmp/run.err")"
}

# run DESCRIPTION FAULTS ENVIRONMENT WORKLOAD...: FAULTS is the limit, - for none.
run()
{
	name="$where: $1"
	shift
	tries run_once "$@"
}

run_once()
{
	faults=$1
	shift
	attempt "$@"
	[ "$faults" = - ] || hope "major faults" "$(value majflt)" "<=" "$faults"
}

# whole ...: the same, and it reads all of the file once.
whole()
{
	run "$@"
	[ "$(value checksum)" = "$sum" ] || complain "checksum $(value checksum), not $sum"
	want "bytes read" "$(value read_bytes)" "<=" $((size + 1048576))
	want "bytes read" "$(value read_bytes)" ">=" $((size - 1048576))
}

# helped_whole ...: the same, and what $least says of it had been asked for.  Where the
# kernel's own window is wide, it may do the most by itself.
helped_whole()
{
	whole "$@"
	want "bytes asked for" "$(counter asked_bytes)" ">=" "$least"
	want "facilities that failed" "$(counter facility_failures)" "<=" "${failures:-0}"
	verdict "$name"
}

main_patterns()
{
	helped_whole "8 MiB pieces" 4 "" copy
	helped_whole "8 MiB pieces, not aliased" 4 "" copy --aliased 0
	helped_whole "one copy of everything" 4 "" copy --whole 1
	helped_whole "8 threads" 32 "" copy --threads 8
	helped_whole "32 threads" 128 "" copy --threads 32 --piece 4M
}

# backward PIECE: what lies below is asked for before the reader comes to it.
backward()
{
	run "$1 pieces, backward" $((size / 1048576 / 4)) "" copy --piece "$1" --order backward
	[ "$(value checksum)" = "$sum" ] || complain "checksum $(value checksum), not $sum"
	want "bytes read" "$(value read_bytes)" "<=" $((size + size / 50))
	want "bytes asked for ahead" "$(counter walk_bytes)" ">=" $((size / 2))
	verdict "$name"
	run "$1 pieces, backward, five of them" - "" copy --piece "$1" --order backward --pieces 5
	want "bytes read" "$(value read_bytes)" "<=" $((2 * $(value bytes) + 1048576))
	verdict "$name"
}

more_patterns()
{
	helped_whole "1 MiB pieces" 4 "" copy --piece 1M
	helped_whole "100 KiB pieces" 32 "" copy --piece 102400
	helped_whole "shared mapping" 4 "" copy --map shared
	helped_whole "descriptor closed" 4 "" copy --close-fd 1
	helped_whole "advised sequential" 4 "" copy --advice sequential
	helped_whole "engine inline" 4 WILLNEED_ENGINE=inline copy
	helped_whole "io uring" 4 WILLNEED_IO=uring copy
	helped_whole "io syscall" 4 WILLNEED_IO=syscall copy
	helped_whole "window of 1 MiB" 4 WILLNEED_WINDOW=1M copy
	helped_whole "budget of 4 MiB, 8 threads" 32 WILLNEED_BUDGET=4M copy --threads 8
}

ways()
{
	for way in ride advise address; do
		whole "way $way" 4 WILLNEED_WAY=$way copy
		case $way in
		address) want "descriptors" "$(counter ride_bytes)$(counter advise_bytes)" == 0 ;;
		*) want "bytes by it" "$(counter ${way}_bytes)" ">=" $((least > size / 2 ? size / 2 : 0)) ;;
		esac
		verdict "$name"
	done
}

# Watched, or not, but nothing is asked for.
idle_modes()
{
	for mode in WILLNEED=off WILLNEED=observe WILLNEED_ENGINE=null; do
		whole "$mode" - $mode copy
		want "asked by a helper" "$(counter ride_bytes)$(counter advise_bytes)" == 0
		[ $mode = WILLNEED_ENGINE=null ] ||
			want "asked, helpers" "$(counter asked_bytes)$(counter helper_starts)" \
				== 0
		[ $mode = WILLNEED=off ] || want "cold copies" "$(counter copies_cold)" ">=" 1
		verdict "$name"
	done
}

# Of a mapping that is advised RANDOM, what is asked for and nothing else.
exact()
{
	whole "random advice, 64 MiB pieces" 4 "" copy --advice random --piece 64M
	want "bytes read" "$(value read_bytes)" "<=" $((size + size / 500))
	verdict "$name"

	run "random advice, 100 pieces of 256 KiB" - "" copy --advice random --order random \
		--piece 256K --pieces 100
	want "bytes read" "$(value read_bytes)" "<=" $((100 * 262144 * 1002 / 1000))
	verdict "$name"

	run "random advice, one piece of 1 MiB" 4 "" copy --advice random --order random \
		--piece 1M --pieces 1
	want "bytes read" "$(value read_bytes)" "<=" $((1048576 + 2048))
	verdict "$name"
}

warm()
{
	name="$where: warm"
	cat "$big" >/dev/null
	with WILLNEED_STATS="$tmp/stats" "$work" copy --passes 4 --verify 1 "$big" >"$tmp/run.out"
	want "bytes asked for" "$(counter asked_bytes)" == 0
	want "bytes read" "$(value read_bytes)" == 0
	want "helpers" "$(counter helper_starts)" == 0
	verdict "$name"
}

attempt_as_nobody()
{
	chill "$big" || complain "the file is not cold"
	(
		# shellcheck disable=SC2030
		WN_PRELOAD=$tmp/open/${WN_PRELOAD##*/}
		with setpriv --reuid=65534 --regid=65534 --clear-groups env \
			GLIBC_TUNABLES="$tunables" WILLNEED_STATS="$tmp/open/stats" \
			"$@" "$work" copy --verify 1 "$big" >"$tmp/run.out" 2>"$tmp/run.err"
	) || complain "exit status $?"
	mv "$tmp/open/stats" "$tmp/stats"
	hope "major faults" "$(value majflt)" "<=" 4
}

# as_nobody DESCRIPTION COMMAND...: the same by somebody who may only read the file, whom
# mincore() tells nothing, through a command such as a sandbox.
as_nobody()
{
	name="$where: as nobody, a file of root's$1"
	shift
	if ! is_root || ! have setpriv; then
		skip "$name" "not root, or no setpriv"
		return
	fi
	chmod 711 "$tmp"
	mkdir -p "$tmp/open"
	chmod 777 "$tmp/open"
	# shellcheck disable=SC2031  # that is meant
	cp "$WN_PRELOAD" "$WN_LIBRARY" "$tmp/open"
	tries attempt_as_nobody "$@"
	[ ! -s "$tmp/run.err" ] || complain "on stderr: $(cat "$tmp/run.err")"
	[ "$(value checksum)" = "$sum" ] || complain "checksum $(value checksum), not $sum"
	want "bytes asked for" "$(counter asked_bytes)" ">=" $((size * 9 / 10))
	verdict "$name"
}

# With too little memory for what could be read ahead: hardly anything is read twice that
# would not be so bare, and the program is not killed.
little_memory()
{
	name="$where: in a cgroup of 64 MiB"
	if ! is_root; then
		skip "$name" "not root"
		return
	fi
	for group in /sys/fs/cgroup/memory /sys/fs/cgroup; do
		group=$group/willneed-test.$$
		mkdir "$group" 2>"$tmp/mkdir.log" || continue
		for file in memory.limit_in_bytes memory.max; do
			[ -e "$group/$file" ] && echo 67108864 >"$group/$file" && break 2
		done
		rmdir "$group"
		group=
	done
	if [ -z "$group" ] || [ ! -d "$group" ]; then
		skip "$name" "no memory cgroup can be made"
		return
	fi
	for threads in 1 4; do
		limited="echo \$\$ >$group/cgroup.procs && exec $work copy --threads $threads
			--piece 4M --verify 1 $big"
		limited=$(echo "$limited" | tr '\n' ' ')
		chill "$big" || complain "the file is not cold"
		bare sh -c "$limited" >"$tmp/run.out"
		expected=$(value read_bytes)
		chill "$big" || complain "the file is not cold"
		rm -f "$tmp/stats"
		with WILLNEED_STATS="$tmp/stats" sh -c "$limited" >"$tmp/run.out" ||
			complain "$threads threads: exit status $?"
		[ "$(value checksum)" = "$sum" ] || complain "checksum $(value checksum), not $sum"
		want "$threads threads: bytes read" "$(value read_bytes)" "<=" \
			$((expected + expected / 2))
		want "$threads threads: bytes asked for" "$(counter asked_bytes)" ">=" $((size / 2))
	done
	verdict "$name"
	rmdir "$group"
}

place "disk" "$scratch/big"
least=1048576
main_patterns
exact

if loop_fs ext4 $((mib + 80)) 128 512; then
	place "ext4, 128" "$mnt/big"
	least=$((size * 9 / 10))
	main_patterns
	# Streams go up; copies that go down are led as a walk.
	backward 64K
	backward 1M
	backward 8M
	more_patterns
	ways
	idle_modes
	exact
	warm
	little_memory
	as_nobody ""
	compile forbid
	as_nobody ", without perf, io_uring, mincore" "$tmp/forbid" EPERM \
		perf_event_open,io_uring_setup,mincore,cachestat
	loop_limits 8192 1280
	where="ext4, 8192"
	least=0
	unset WILLNEED_WIDE
	main_patterns
	backward 8M
	exact
	WILLNEED_WIDE=1T
	export WILLNEED_WIDE
	loop_gone
else
	skip "ext4 with its own limits" "$why"
	place "disk" "$scratch/big"
	more_patterns
	ways
	idle_modes
	warm
fi

if loop_fs xfs $((mib + 160)) 128 512; then
	place "xfs, 128" "$mnt/big"
	least=$((size * 9 / 10))
	main_patterns
	ways
	exact
	loop_gone
else
	skip "xfs with its own limits" "$why"
fi

# No large folios, limits that no block device tells: nothing to ride.
failures=1
least=1048576
if loop_fs btrfs $((mib + 160)) 128 512; then
	place "btrfs" "$mnt/big"
	main_patterns
	loop_gone
else
	skip "btrfs" "$why"
fi
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# Reads through descriptors: the data, what the device is asked for, what programs do.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
mib=128
size=$((mib * 1048576))
need_scratch $((mib + 200))
loop_fs ext4 $((mib + 120)) 128 512 || skip_all "no loop device with limits of its own: $why"
work=$tmp/workload
$CC -std=gnu17 -D_GNU_SOURCE -O2 -o "$work" "$WN_SRCDIR"/tests/workloads/*.c -pthread \
	>"$tmp/cc.log" 2>&1 || {
	echo "Bail out! tests/workloads does not compile"
	exit 1
}
compile reads
big=$mnt/big
file=$mnt/file
make_file "$big" $mib
make_file "$file" 32

# -- What the device is asked for ------------------------------------------------------

value()
{
	sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$tmp/run.out"
}

# device FIELD: reads that the loop device has completed (1), or their sectors (3).
device()
{
	awk -v n="$1" '{ print $n }' "/sys/block/${loop##*/}/stat"
}

# measure COMMAND...: from cold; sets sum, reads, bytes.
measure()
{
	chill "$big" || complain "the file is not cold"
	reads=$(device 1)
	bytes=$(device 3)
	"$@" >"$tmp/run.out" 2>"$tmp/run.err" || complain "exit status $?"
	[ ! -s "$tmp/run.err" ] || complain "on stderr: $(cat "$tmp/run.err")"
	reads=$(($(device 1) - reads))
	bytes=$((($(device 3) - bytes) * 512))
	sum=$(value checksum)
}

# compare NAME WORKLOAD...: bare and preloaded; sets bare_reads and bare_bytes too.
compare()
{
	name=$1
	shift
	measure bare "$work" "$@" --verify 1 "$big"
	bare_sum=$sum
	bare_reads=$reads
	bare_bytes=$bytes
	again "$@"
}

again()
{
	rm -f "$tmp/stats"
	measure with WILLNEED_STATS="$tmp/stats" "$work" "$@" --verify 1 "$big"
	[ "$sum" = "$bare_sum" ] || complain "checksum $sum, not $bare_sum"
}

# helped_reads NAME WORKLOAD...: few device reads instead of many, and no more bytes.
helped_reads()
{
	compare "$@"
	shift
	tries helped_again "$@"
	echo "# $name: $reads device reads, bare $bare_reads"
	want "bytes read" $bytes "<=" $((size + size / 100))
	verdict "$name"
}

helped_again()
{
	# compare() has made the first one.
	[ "$try" -eq 1 ] || again "$@"
	hope "device reads" "$reads" "<=" $((bare_reads / 5))
}

# quiet_reads NAME WORKLOAD...: what nobody can foresee costs nothing.
quiet_reads()
{
	compare "$@"
	want "bytes read" $bytes "<=" $((bare_bytes + bare_bytes / 50))
	verdict "$name"
}

# early NAME BYTES WORKLOAD...: it ends after so many; at most as many again are read.
early()
{
	consumed=$2
	name=$1
	shift 2
	compare "$name" "$@"
	limit=$((2 * consumed))
	[ $limit -ge $bare_bytes ] || limit=$bare_bytes
	# What the file system reads for itself.
	want "bytes read" $bytes "<=" $((limit + 65536))
	verdict "$name"
}

# As large as its requests may be, so that there is something to be gained.
loop_limits 128 4096
helped_reads "forward, pread 16 KiB" pread --piece 16K
whole=$bare_sum
helped_reads "forward, read 64 KiB" read --piece 64K
helped_reads "forward, fread 1000 bytes" fread --piece 1000
helped_reads "forward, fread 64 KiB" fread --piece 64K
helped_reads "backward, pread 8 KiB" pread --piece 8K --order backward
helped_reads "backward, lseek and read 16 KiB" seekread --piece 16K --order backward
helped_reads "forward, 4 threads with a range each, one descriptor" pread --piece 16K --threads 4
loop_limits 128 512
quiet_reads "random 4 KiB" pread --piece 4K --order random --pieces 4000
quiet_reads "random 4 KiB, 4 threads" pread --piece 4K --order random --pieces 1000 --threads 4
quiet_reads "random 4 KiB, advised random" pread --piece 4K --order random --pieces 4000 \
	--advice random
quiet_reads "a page per MiB" pread --piece 4K --stride 1M
quiet_reads "backward, advised random" pread --piece 16K --order backward --advice random
want "bytes asked for" "$(counter asked_bytes)" == 0
verdict "advice to read nothing ahead is obeyed"
early "backward, twenty pieces" $((20 * 65536)) pread --piece 64K --pieces 20 --order backward
early "backward, three pieces" $((3 * 65536)) pread --piece 64K --pieces 3 --order backward
early "forward, twenty pieces" $((20 * 65536)) pread --piece 64K --pieces 20
early "forward, two hundred pieces" $((200 * 16384)) pread --piece 16K --pieces 200

for off in WILLNEED=off WILLNEED=observe WILLNEED_READS=off WILLNEED_SKIP=workload; do
	chill "$big"
	rm -f "$tmp/stats"
	with WILLNEED_STATS="$tmp/stats" $off "$work" pread --piece 64K --order backward \
		--length 16M "$big" >"$tmp/run.out" || complain "$off: exit status $?"
	want "$off: bytes asked for" "$(counter asked_bytes)" == 0
	[ $off = WILLNEED=observe ] ||
		want "$off: reads found to be cold" "$(counter reads_cold)" == 0
done
verdict "nothing is asked for when that is not wanted"

cat "$big" >/dev/null
for order in forward backward random; do
	rm -f "$tmp/stats"
	with WILLNEED_STATS="$tmp/stats" "$work" pread --piece 64K --order $order "$big" \
		>"$tmp/run.out" || complain "exit status $?"
	want "$order: bytes asked for" "$(counter asked_bytes)" == 0
	want "$order: reads found to be cold" "$(counter reads_cold)" == 0
	want "$order: helpers" "$(counter helper_starts)" == 0
done
verdict "a file that is cached is left alone"

# -- The same data, whatever happens ---------------------------------------------------

# both DESCRIPTION KIND [MORE]: as without the library, and while it is at work.
both()
{
	wcmp "$1" "$tmp/reads" "$2" "$file" ${3+"$3"}
	helped "$1, helped" "$tmp/reads" "$2" "$file" ${3+"$3"}
}

both "every call, up and down" calls
wcmp "eight places by turns" "$tmp/reads" interleaved "$file"
both "four threads, one descriptor" threads
wcmp "duplicated descriptors" "$tmp/reads" duplicates "$file"
both "numbers that belong to other files" replaced
both "fork" forked
both "vfork" borrowed
both "threads that are cancelled" cancels
both "interrupted calls, and reads in a handler" interrupts
both "no new privileges" confined
wcmp "exec" "$tmp/reads" executed "$file"
wcmp "strict mode of seccomp" "$tmp/reads" strict "$file"
wcmp "O_DIRECT" "$tmp/reads" direct "$file"
wcmp "pipes, sockets, devices, folders, files of /proc" "$tmp/reads" others "$file"
wcmp "nothing is seen of it before cold reads" "$tmp/reads" unseen "$file"
for limits in "128 512" "8192 1280"; do
	# shellcheck disable=SC2086
	loop_limits $limits
	wcmp "every call, limits $limits" "$tmp/reads" calls "$file"
done
loop_limits 128 512

# rewritten DESCRIPTION KIND: the file is another one afterwards.
rewritten()
{
	helped "$1" "$tmp/reads" "$2" "$file"
	make_file "$file" 32
}

rewritten "a file that is written while it is read" written
rewritten "a file that is punched while it is read" punched
rewritten "a file that is cut while it is read" cut
helped "closed when close() returns" "$tmp/reads" leased "$file"
helped "a lease on a descriptor that is led" "$tmp/reads" lease "$file"
helped "closed when close() returns, after long reads" "$tmp/reads" long "$file"
helped "with O_NOATIME the time of the last access stays" "$tmp/reads" accessed "$file"
helped "after a fork no thread is seen that the program does not know" "$tmp/reads" counted "$file"
helped "closed when dup2(), dup3(), close_range(), closefrom(), fclose() return" "$tmp/reads" otherwise \
	"$file"
helped "advice ends with its descriptor" "$tmp/reads" forgotten "$file"
at_least "bytes asked for, in all four rounds" "$(counter asked_bytes)" $((50 * 1048576))
helped "an unlinked file" "$tmp/reads" unlinked "$file" "$mnt"
make_file "$file" 32

# Somebody who may only read it, whom cachestat() tells nothing.
name="as nobody, a file of root's"
if have setpriv; then
	chmod 711 "$tmp"
	mkdir -p "$tmp/open"
	chmod 777 "$tmp/open"
	cp "$WN_PRELOAD" "$WN_LIBRARY" "$tmp/open"
	nobody_reads()
	{
		chill "$big" || complain "the file is not cold"
		rm -f "$tmp/open/stats"
		(
			WN_PRELOAD=$tmp/open/${WN_PRELOAD##*/}
			with setpriv --reuid=65534 --regid=65534 --clear-groups env \
				WILLNEED_STATS="$tmp/open/stats" "$work" pread --piece 16K \
				--verify 1 --order "$order" "$big" >"$tmp/run.out" 2>"$tmp/run.err"
		) || complain "exit status $?"
		mv "$tmp/open/stats" "$tmp/stats"
		[ ! -s "$tmp/run.err" ] || complain "on stderr: $(cat "$tmp/run.err")"
		[ "$(value checksum)" = "$whole" ] || complain "checksum $(value checksum)"
		hope "$order: bytes asked for" "$(counter asked_bytes)" ">=" $((size / 2))
	}
	for order in forward backward; do
		tries nobody_reads
	done
	verdict "$name"
else
	skip "$name" "no setpriv"
fi

i=0
late=0
while [ $i -lt 10 ]; do
	"$tmp/file" chill "$file"
	with "$tmp/reads" umounted "$file" "$mnt" >"$tmp/run.out" 2>&1 || {
		complain "round $i: $(cat "$tmp/run.out")"
		break
	}
	[ "$(cat "$tmp/run.out")" = 0 ] || late=$((late + 1))
	mount "$loop" "$mnt" || complain "round $i: cannot mount again"
	i=$((i + 1))
done
want "rounds in which it was still open" $late "<=" 3
verdict "close, umount"
loop_gone
finish

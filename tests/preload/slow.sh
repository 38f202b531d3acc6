#!/bin/sh
# SPDX-License-Identifier: MIT
# A file system whose server takes its time: how often the program itself waits for it.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
mib=16
is_root || skip_all "not root"
[ -c /dev/fuse ] || skip_all "no /dev/fuse"
have fusermount3 || skip_all "no fusermount3"
fuse=$(pkg-config --cflags --libs fuse3 2>/dev/null) || skip_all "no libfuse3"
need_scratch $((2 * mib))
# shellcheck disable=SC2086  # several words
compile slowfs $fuse
work=$WN_BUILDDIR/willneed-workload
mkdir "$scratch/served" "$tmp/slow"
make_file "$scratch/served/f" $mib
# It may well outlive a failure: it ends when it is unmounted.
"$tmp/slowfs" "$scratch/served" 3000 "$tmp/slow" >"$tmp/slowfs.log" 2>&1 &
mounts="$tmp/slow $mounts"
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	[ ! -e "$tmp/slow/counts" ] || break
	sleep 0.1
done
[ -e "$tmp/slow/counts" ] || skip_all "not mounted: $(head -n 1 "$tmp/slowfs.log")"
big=$tmp/slow/f

# asked COMMAND...: from cold; sets sum, all, own: reads that the server saw, and those that
# the program's own thread made.
asked()
{
	"$tmp/file" chill "$big" || complain "the file is not cold"
	cat "$tmp/slow/counts" >"$tmp/before"
	"$@" >"$tmp/run.out" 2>"$tmp/run.err" || complain "exit status $?"
	[ ! -s "$tmp/run.err" ] || complain "on stderr: $(cat "$tmp/run.err")"
	sum=$(sed 's/.*"checksum":"\([0-9a-f]*\)".*/\1/' "$tmp/run.out")
	# In one read: it gives them once.
	cat "$tmp/slow/counts" >"$tmp/counts"
	read -r all own <"$tmp/counts"
}

# led NAME WORKLOAD...: the helper makes most of the reads, and not many more of them.
led()
{
	name=$1
	shift
	asked bare "$work" "$@" --verify 1 "$big"
	bare_sum=$sum
	bare_all=$all
	bare_own=$own
	want "reads that the bare program made" "$bare_own" ">=" 32
	tries led_once "$@"
	echo "# $name: $all reads, $own of them the program's own; bare $bare_all, $bare_own"
	same "$name: the data" "$sum" "$bare_sum"
	want "reads" "$all" "<=" $((bare_all * 5 / 4 + 16))
	verdict "$name"
}

led_once()
{
	asked with "$work" "$@" --verify 1 "$big"
	hope "reads that the program made" "$own" "<=" $((bare_own / 4))
}

led "forward, pread 64 KiB" pread --piece 64K
led "backward, pread 16 KiB" pread --piece 16K --order backward
led "forward, read 4 KiB" read --piece 4K
led "forward, fread 4 KiB" fread --piece 4K
led "copies of 4 MiB" copy --piece 4M
led "copies of all of it" copy --whole 1
WILLNEED_MIN_WATCH=1M
export WILLNEED_MIN_WATCH
led "backward, loads" load --order backward
# What is there need not be waited for, and is not looked at for long.
warm()
{
	asked with "$work" pread --piece 4K "$big"
	rm -f "$tmp/stats"
	with WILLNEED_STATS="$tmp/stats" "$work" pread --piece 4K --passes 20 "$big" >"$tmp/run.out"
	# Unless somebody has had the page cache emptied in between.
	hope "reads taken for cold" "$(counter reads_cold)" == 0
	hope "bytes asked for" "$(counter asked_bytes)" == 0
}
tries warm
verdict "warm: nothing is taken for cold, and nothing asked for"
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# Each way to see page faults: that it helps, also as an ordinary user, and that it goes.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
mib=128
size=$((mib * 1048576))
need_scratch $((mib * 2 + 200))
loop_fs ext4 $((mib + 80)) 128 512 || skip_all "no loop device with limits of its own: $why"
work=$tmp/workload
$CC -std=gnu17 -D_GNU_SOURCE -O2 -o "$work" "$WN_SRCDIR"/tests/workloads/*.c -pthread \
	>"$tmp/cc.log" 2>&1 || {
	echo "Bail out! tests/workloads does not compile"
	exit 1
}
compile senses
big=$mnt/big
make_file "$big" $mib
chmod 711 "$tmp"
mkdir -p "$tmp/open"
chmod 777 "$tmp/open"
cp "$WN_PRELOAD" "$tmp/open"
preload=$tmp/open/${WN_PRELOAD##*/}

value()
{
	sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$tmp/run.out"
}

# walk SENSE COMMAND...: by this sense, and by no other; false where it does not work.
walk()
{
	sense=$1
	shift
	chill "$big" || complain "the file is not cold"
	rm -f "$tmp/stats" "$tmp/open/stats"
	WN_PRELOAD=$preload with "$@" env WILLNEED_STATS="$tmp/open/stats" \
		WILLNEED_WATCH="$sense" "$work" load --order backward "$big" \
		>"$tmp/run.out" 2>"$tmp/run.err" || complain "exit status $?"
	mv "$tmp/open/stats" "$tmp/stats"
	[ "$(counter watched_faults)" != 0 ]
}

nobody_walks()
{
	walk "$sense" setpriv --reuid=65534 --regid=65534 --clear-groups || return
	[ ! -s "$tmp/run.err" ] || complain "on stderr: $(cat "$tmp/run.err")"
	want "bytes read" "$(value read_bytes)" "<=" $((size + size / 50))
	hope "bytes asked for ahead" "$(counter walk_bytes)" ">=" $((size * 6 / 10))
}

for sense in perf scan pagemap; do
	walk "$sense" env || {
		skip "$sense" "it does not work here"
		rm -f "$tmp/complaints"
		continue
	}
	if is_root && have setpriv; then
		tries nobody_walks
		if [ "$(counter watched_faults)" != 0 ]; then
			verdict "$sense: as nobody, a file of root's"
		else
			skip "$sense: as nobody, a file of root's" "it does not work for nobody"
			rm -f "$tmp/complaints"
		fi
	else
		skip "$sense: as nobody, a file of root's" "not root, or no setpriv"
	fi

	chill "$big"
	helped "$sense: nothing is left when it was quiet for long enough" WILLNEED_IDLE=200 \
		WILLNEED_WATCH="$sense" "$tmp/senses" idle "$big"
	want "helpers" "$(counter helper_starts)" "==" 2
	verdict "$sense: it comes again when it is needed"

	chill "$big"
	rm -f "$tmp/stats"
	with WILLNEED_STATS="$tmp/stats" WILLNEED_WATCH="$sense" "$tmp/senses" small "$big" \
		>"$tmp/run.out" 2>&1 || complain "$(cat "$tmp/run.out")"
	want "helpers" "$(counter helper_starts)" "==" 0
	verdict "$sense: ten thousand small mappings start no helper"

	chill "$big"
	bare "$tmp/senses" sigbus "$big" >"$tmp/bare.out" 2>&1 || complain "bare: exit status $?"
	make_file "$big" $mib
	chill "$big"
	rm -f "$tmp/stats"
	with WILLNEED_STATS="$tmp/stats" WILLNEED_WATCH="$sense" "$tmp/senses" sigbus "$big" \
		>"$tmp/run.out" 2>&1 || complain "exit status $?: $(cat "$tmp/run.out")"
	cmp -s "$tmp/run.out" "$tmp/bare.out" || complain "$(cat "$tmp/run.out")"
	want "bytes asked for ahead" "$(counter walk_bytes)" ">=" 1
	verdict "$sense: SIGBUS behind the end of the file is the program's own"
	make_file "$big" $mib
done
loop_gone
finish

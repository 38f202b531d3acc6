#!/bin/sh
# SPDX-License-Identifier: MIT
# The counters keep to what their texts say: what is of another one is no more than that.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
need_scratch 200
work=$tmp/workload
$CC -std=gnu17 -D_GNU_SOURCE -O2 -o "$work" "$WN_SRCDIR"/tests/workloads/*.c -pthread \
	>"$tmp/cc.log" 2>&1 || {
	echo "Bail out! tests/workloads does not compile"
	exit 1
}
make_file "$scratch/big" 64
big=$scratch/big

# counted [NAME=VALUE...] PATTERN [PARAMETER...]: runs it cold; the relations hold.
counted()
{
	chill "$big"
	rm -f "$tmp/stats"
	with WILLNEED_STATS="$tmp/stats" env "$@" "$big" >"$tmp/run.out" 2>&1 ||
		complain "it failed: $(cat "$tmp/run.out")"
	# Which is a part of which, from the texts themselves.
	parts=0
	while read -r part whole; do
		want "$part of $whole" "$(counter "$part")" "<=" "$(counter "$whole")"
		parts=$((parts + 1))
	done <"$tmp/parts"
	want "all ways to ask" $(($(counter inline_bytes) + $(counter ride_bytes) +
		$(counter advise_bytes) + $(counter address_bytes))) == "$(counter asked_bytes)"
}

tr -d '\n\t' <"$WN_SRCDIR/include/willneed-counters.h" | sed 's/WILLNEED_COUNTER(/\n&/g' |
	sed -n 's/^WILLNEED_COUNTER(\([a-z_]*\), *"of \([a-z]*_[a-z]*\|copies\),.*/\1 \2/p' >"$tmp/parts"
at_least "counters that are part of another" "$(wc -l <"$tmp/parts")" 10

# ways LEAST-STREAMS MOST-STREAMS LEAST-WALKS: as many as a reader would count.
ways()
{
	hope "streams" "$(counter streams)" ">=" "$1"
	want "streams" "$(counter streams)" "<=" "$2"
	hope "walks" "$(counter walks)" ">=" "$3"
}

forward()
{
	counted "$work" copy
	ways 1 1 0
}

backward()
{
	counted "$work" copy --order backward --piece 1M
	ways 0 0 1
}

tries forward
verdict "copies forward are one stream"
tries backward
verdict "copies backward are a walk, and no streams"

while read -r arguments; do
	# shellcheck disable=SC2086  # several words
	case $arguments in
	WILLNEED*) counted ${arguments%% *} "$work" ${arguments#* } ;;
	*) counted "$work" $arguments ;;
	esac
	verdict "$arguments"
done <<'END'
copy --whole 1
copy --piece 1M --pieces 9
copy --piece 1M --order random --pieces 40
copy --piece 1M --order shuffled --threads 4 --split queue
copy --piece 4M --passes 2 --threads 2 --split same
copy --piece 256K --stride 1M
copy --advice random --piece 1M
copy --threads 8
WILLNEED_ENGINE=inline copy
WILLNEED_WAY=advise copy
WILLNEED_WAY=address copy
WILLNEED_BUDGET=1M copy
WILLNEED=observe copy
load
load --order backward
load --piece 2M --order shuffled --threads 8 --split queue
load --pieces 3 --piece 4M
pread --piece 64K
pread --piece 64K --order backward
pread --piece 64K --pieces 40
pread --piece 64K --stride 512K
pread --piece 128K --order jitter --threads 4 --split interleave
pread --piece 3M --start 4096
readahead --piece 1M --threads 4 --split same
willneed --piece 1M
END
finish

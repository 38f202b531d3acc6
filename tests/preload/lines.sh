#!/bin/sh
# SPDX-License-Identifier: MIT
# Lines and characters of libc's streams: the same ones, and seen where that costs nothing.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
need_scratch 200
compile file
compile lines
text=$scratch/text
# Lines of many lengths, some longer than any buffer.
awk 'BEGIN {
	for (i = 0; i < 400000; i++) {
		line = "line " i
		for (n = i % 37 + (i % 5000 ? 0 : 2000); n > 0; n--)
			line = line " abc"
		print line
	}
}' >"$text"
at_least "bytes of text" "$(stat -c %s "$text")" 32000000

size=$(stat -c %s "$text")
seen()
{
	chill "$text" || complain "the file is not cold"
	"$tmp/lines" "$1" "$text" >"$tmp/bare.out"
	chill "$text" || complain "the file is not cold"
	rm -f "$tmp/stats"
	with WILLNEED_STATS="$tmp/stats" "$tmp/lines" "$1" "$text" >"$tmp/with.out" 2>&1
	cmp "$tmp/bare.out" "$tmp/with.out" >"$tmp/cmp.out" 2>&1 ||
		complain "bare and preloaded differ: $(cat "$tmp/with.out")"
	hope "bytes asked for" "$(counter asked_bytes)" ">=" $((size / 2))
	want "bytes asked for" "$(counter asked_bytes)" "<=" $((size + 16777216))
}

for kind in getline getdelim __getdelim fgets fgets_unlocked __fgets_chk getc_unlocked; do
	tries seen $kind
	verdict "$kind: the same, and it is read ahead of"
done
wcmp "getc" "$tmp/lines" getc "$text"
wcmp "streams of every kind" "$tmp/lines" odd "$text"

reopened()
{
	cp "$text" "$scratch/other"
	chill "$scratch/other"
	chill "$text"
	"$@" "$tmp/lines" reopen "$text" "$scratch/other"
}
reopened env >"$tmp/bare.out" 2>&1
reopened with WILLNEED_STATS="$tmp/stats" >"$tmp/with.out" 2>&1
same "freopen: the same" "$(cat "$tmp/with.out")" "$(cat "$tmp/bare.out")"

# Programs that everybody has.
for command in "cut -c1-9" "uniq -c" "sed -n /7.abc/p"; do
	chill "$text"
	$command "$text" >"$tmp/bare.out"
	chill "$text"
	rm -f "$tmp/stats"
	# shellcheck disable=SC2086  # several words
	with WILLNEED_STATS="$tmp/stats" $command "$text" >"$tmp/with.out"
	check "$command: the same" cmp "$tmp/bare.out" "$tmp/with.out"
done
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# The program's own advice: asked once, and as much as it said.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
need_scratch 200
make_file "$scratch/big" 64
big=$scratch/big
compile advice

wcmp "eight threads ask for the same: what they read" "$tmp/advice" threads "$big"
chill "$big"
rm -f "$tmp/stats"
check "eight threads, counted" \
	with WILLNEED_STATS="$tmp/stats" "$tmp/advice" threads "$big"
calls=$(counter advice_calls)
answered=$(counter advice_answered)
at_least "all calls are seen" "${calls:-0}" 2736
# 342 ranges are asked for eight times, by threads that do nothing else and race at each of
# them: that is the worst case (db_bench: 1.03 of the unique ranges).  A quarter more may pass.
at_most "few reach the kernel" $((${calls:-0} - ${answered:-0})) 428

check "what was dropped or changed is asked for again, large advice is completed" \
	with "$tmp/advice" again "$big"
rm -f "$tmp/stats"
check "WILLNEED_ADVICE=pass" \
	with WILLNEED_ADVICE=pass WILLNEED_STATS="$tmp/stats" "$tmp/advice" threads "$big"
same "WILLNEED_ADVICE=pass: nothing is answered" "$(counter advice_answered)" 0
if have strace; then
	strace -f -qq -e trace=readahead -o "$tmp/trace" \
		env LD_PRELOAD="$WN_PRELOAD" "$tmp/advice" threads "$big" >"$tmp/check.out" 2>&1
	result $? "under strace" "$tmp/check.out"
	# Until the helper, slow as it is here, has told what the device takes, more pass.
	at_most "readahead() calls in the trace" "$(grep -c 'readahead(' "$tmp/trace")" 440
else
	skip "readahead() calls in the trace" "no strace"
fi
finish

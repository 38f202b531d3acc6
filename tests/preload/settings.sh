#!/bin/sh
# SPDX-License-Identifier: MIT
# The environment: what is wrong is named in one line, and the program runs all the same.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
need_scratch 100
make_file "$scratch/big" 32
big=$scratch/big
compile reader

# bad VARIABLE VALUE ALLOWED: one line, which names all three.
bad()
{
	with "$1=$2" sh -c 'echo ran; exit 5' >"$tmp/run.out" 2>"$tmp/run.err"
	want "exit status" $? == 5
	[ "$(cat "$tmp/run.out")" = ran ] || complain "it printed: $(cat "$tmp/run.out")"
	want "lines on stderr" "$(wc -l <"$tmp/run.err")" == 1
	# A long value is shown in part.
	for part in "$1=$(printf %.40s "$2")" "$3"; do
		case $(cat "$tmp/run.err") in
		*"$part"*) ;;
		*) complain "no '$part' in: $(cat "$tmp/run.err")" ;;
		esac
	done
	verdict "bad: $1=$(printf %.60s "$2")"
}

good()
{
	rm -f "$tmp/stats"
	with "$@" "$tmp/reader" "$big" 8 >"$tmp/run.out" 2>"$tmp/run.err"
	want "exit status" $? == 0
	[ ! -s "$tmp/run.err" ] || complain "on stderr: $(cat "$tmp/run.err")"
	verdict "good: $*"
}

# From the table itself: type, name and what is allowed.
row='^WN_OPTION([A-Z0-9_]*, "[a-z0-9_]*", "\([A-Z0-9_]*\)", \([A-Z]*\), "[^"]*", "\([^"]*\)".*'
sed -n "s/$row/\1 \2 \3/p" "$WN_SRCDIR/lib/options.def" >"$tmp/settings"
at_least "settings in options.def" "$(wc -l <"$tmp/settings")" 10
while read -r variable type allowed; do
	case $type in
	CHOICE)
		bad "$variable" nonsense "$allowed"
		bad "$variable" "" "$allowed"
		bad "$variable" "${allowed%%|*}x" "$allowed"
		good "$variable=${allowed%%|*}"
		good "$variable=${allowed##*|}"
		;;
	SIZE | NUMBER)
		for value in nonsense "" -1 99999999999999999999 1.5 "1 K" 0x10; do
			bad "$variable" "$value" "$allowed"
		done
		good "$variable=${allowed%%-*}"
		good "$variable=${allowed##*-}"
		;;
	TEXT)
		bad "$variable" "/$(printf '%300s' "" | tr ' ' x)" ""
		;;
	esac
done <"$tmp/settings"

# Two at once: two lines.
with WILLNEED=maybe WILLNEED_WAY=none true 2>"$tmp/run.err"
same "two bad values: lines" "$(wc -l <"$tmp/run.err")" 2
with WILLNEED_NONSENSE=1 WILLNEEDED=2 true 2>"$tmp/run.err"
same "other variables are none of ours" "$(cat "$tmp/run.err")" ""
with WILLNEED=maybe sh -c 'exec 2>&-; exec true' 2>"$tmp/run.err"
same "nowhere to complain to" $? 0

# Output goes where it was told, is appended, and cannot harm.
"$tmp/file" chill "$big"
with WILLNEED_STATS=stderr "$tmp/reader" "$big" 8 >"$tmp/run.out" 2>"$tmp/run.err"
grep '^willneed: [a-z_]* [0-9]*$' "$tmp/run.err" >"$tmp/counters"
at_least "counters on stderr: what there was to count" \
	"$(grep -c -e ' copies_cold [1-9]' -e ' asked_bytes [1-9]' "$tmp/counters")" 2
same "counters on stderr: none that is 0" "$(grep ' 0$' "$tmp/counters")" ""
same "counters on stderr: whose they are" \
	"$(grep -c '^willneed: process [0-9]* (reader)$' "$tmp/run.err")" 1
same "counters on stderr: stdout is the program's" "$(grep -c willneed "$tmp/run.out")" 0
with WILLNEED_STATS=stderr sh -c 'true; (true); env true' 2>"$tmp/run.err"
same "programs with nothing to count print nothing" "$(cat "$tmp/run.err")" ""
# shellcheck disable=SC2016  # of the shell that becomes the program
nothing='echo $$; WILLNEED_STATS_PID=$$ exec'
# Programs of coreutils close their stderr at exit, before we come to it.
pid=$(with WILLNEED_STATS=stderr sh -c "$nothing cat /dev/null" 2>"$tmp/run.err")
same "but the one that is named, to a stderr that it has closed" "$(cat "$tmp/run.err")" \
	"willneed: process $pid (cat): nothing to do"
with WILLNEED_STATS="$tmp/twice" sh -c "$nothing true" >"$tmp/run.out"
with WILLNEED_STATS="$tmp/twice" sh -c "$nothing true" >"$tmp/run.out"
same "counters are appended" "$(grep -c 'nothing to do' "$tmp/twice")" 2
same "a file of counters is the user's alone" "$(stat -c %a "$tmp/twice")" 600
"$tmp/file" chill "$big"
with WILLNEED_LOG="$tmp/log" "$tmp/reader" "$big" 8 >"$tmp/run.out" 2>"$tmp/run.err"
at_least "the log tells something" "$(grep -c '^willneed\[[0-9]*\]: ' "$tmp/log")" 1
at_least "the log names the file" "$(grep -cF " ($big): way " "$tmp/log")" 1
same "the log does not tell anything on stderr" "$(cat "$tmp/run.err")" ""
ln -s "$tmp/elsewhere" "$tmp/link"
for path in /nonexistent/file /dev/full "$tmp" "$tmp/link"; do
	"$tmp/file" chill "$big"
	wcmp "output to ${path##*/} changes nothing" WILLNEED_STATS="$path" WILLNEED_LOG="$path" \
		"$tmp/reader" "$big" 8
done
check "a link is not followed" test ! -e "$tmp/elsewhere"

# Programs by name.
for setting in WILLNEED_SKIP=other,reader WILLNEED_ONLY=other,readers WILLNEED=off; do
	"$tmp/file" chill "$big"
	rm -f "$tmp/stats"
	with $setting WILLNEED_STATS="$tmp/stats" "$tmp/reader" "$big" 8 >"$tmp/run.out"
	same "$setting: bytes asked for" "$(counter asked_bytes)" 0
done
for setting in WILLNEED_SKIP=other,readers WILLNEED_ONLY=other,reader; do
	"$tmp/file" chill "$big"
	helped "$setting: it is helped" env $setting "$tmp/reader" "$big" 8
done
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# willneed run: which library it takes, what it tells, what it refuses.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
willneed=$WN_BUILDDIR/willneed
[ -x "$willneed" ] || skip_all "built without the program"

# ran COMMAND...: its output, its errors and its status.
ran()
{
	timeout -k 5 60 "$@" >"$tmp/run.out" 2>"$tmp/run.err" </dev/null
	status=$?
}

# refused DESCRIPTION PART COMMAND...: status 2, one line that has PART, nothing started.
refused()
{
	what=$1
	part=$2
	shift 2
	ran "$@"
	want "exit status" $status == 2
	want "lines on stderr" "$(wc -l <"$tmp/run.err")" == 1
	[ ! -s "$tmp/run.out" ] || complain "it printed: $(cat "$tmp/run.out")"
	case $(cat "$tmp/run.err") in
	*"$part"*) ;;
	*) complain "no '$part' in: $(cat "$tmp/run.err")" ;;
	esac
	verdict "$what"
}

# -- Which library ---------------------------------------------------------------------

# taken: the library that the last ran() with -v told of.
taken()
{
	sed -n 's/^willneed: .* runs with \(.*\)$/\1/p' "$tmp/run.err"
}

ran "$willneed" -v true
same "in a build tree: the one that was built" "$(taken)" "$(realpath "$WN_PRELOAD")"

# Wherever an installed tree lies, the library beside the program is taken.
for lib in lib lib64 "lib/$(uname -m)-linux-gnu"; do
	tree=$tmp/tree-${lib##*/}
	mkdir -p "$tree/bin" "$tree/$lib"
	cp "$willneed" "$tree/bin/"
	cp "$WN_PRELOAD" "$tree/$lib/"
	ran "$tree/bin/willneed" -v true
	beside=$(realpath "$tree/$lib/${WN_PRELOAD##*/}")
	same "in a tree of its own: ../$lib" "$(taken)" "$beside"
	ran sh -c "cd / && PATH=$tree/bin:\$PATH && exec willneed -v true"
	same "in a tree of its own, found by PATH: ../$lib" "$(taken)" "$beside"
done
rm "$beside"
ran "$tree/bin/willneed" -v true
if [ -n "$(taken)" ]; then
	skip "no library: it says so" "one is installed"
else
	refused "no library: it says so" "cannot find" "$tree/bin/willneed" echo started
fi

cp "$WN_PRELOAD" "$tmp/other.so"
ran "$willneed" --library "$tmp/other.so" -v true
same "--library" "$(taken)" "$(realpath "$tmp/other.so")"
ran env WILLNEED_LIBRARY="$tmp/other.so" "$willneed" -v true
same "WILLNEED_LIBRARY" "$(taken)" "$(realpath "$tmp/other.so")"
echo "no library at all" >"$tmp/text"
: >"$tmp/empty"
head -c 3000 "$WN_PRELOAD" >"$tmp/cut"
for file in "$WN_LIBRARY" /bin/true "$tmp/text" "$tmp/empty" "$tmp/cut" "$tmp"; do
	refused "--library ${file##*/}" "not willneed's preload library" \
		"$willneed" --library "$file" echo started
	refused "WILLNEED_LIBRARY=${file##*/}" "not willneed's preload library" \
		env WILLNEED_LIBRARY="$file" "$willneed" echo started
done
for file in "$tmp/absent" ""; do
	refused "--library '${file##*/}'" "cannot read the library" \
		"$willneed" --library "$file" echo started
done
mkdir "$tmp/with space"
cp "$WN_PRELOAD" "$tmp/with space/"
refused "a library that LD_PRELOAD cannot name" "white space" \
	"$willneed" --library "$tmp/with space/${WN_PRELOAD##*/}" echo started

# -- What it tells ---------------------------------------------------------------------

ran "$willneed" true
same "silent unless asked" "$(cat "$tmp/run.out" "$tmp/run.err")" ""
ran env -u WILLNEED_WIDE WILLNEED_IDLE=500 "$willneed" -v --set window=8M --off true
same "-v tells what is set, by whomever" "$(sed 1d "$tmp/run.err" | sort)" \
	"willneed: WILLNEED=off
willneed: WILLNEED_IDLE=500
willneed: WILLNEED_WINDOW=8M"
if $CC -static -o "$tmp/static" -x c - <<-'END' 2>"$tmp/cc.log"; then
	int main(void) { return 7; }
	END
	ran "$willneed" -v "$tmp/static"
	same "-v tells why a program runs without it" "$(cat "$tmp/run.err")" \
		"willneed: $tmp/static runs without the library: it is linked statically"
	same "and it does run" $status 7
	for option in -s "--log stderr" "--set stats=stderr" "--set WILLNEED_LOG=$tmp/log"; do
		# shellcheck disable=SC2086  # several words
		ran "$willneed" $option "$tmp/static"
		same "$option: who waits for output is told why there is none" \
			"$(cat "$tmp/run.err")" \
			"willneed: $tmp/static runs without the library: it is linked statically"
	done
	ran env WILLNEED_STATS="$tmp/unused" "$willneed" "$tmp/static"
	same "but a variable alone makes nobody talk" "$(cat "$tmp/run.err")" ""
	refused "bench: nor can it be measured" "linked statically" \
		"$willneed" bench --file /etc/passwd "$tmp/static"
else
	skip "-v tells why a program runs without it" "no static libc"
fi
cp /bin/true "$tmp/true"
LC_ALL=C sed 's,/ld-linux-x86-64\.so\.2,/ld-musl-x86_64.so.1\x00,; s,/ld-linux-aarch64\.so\.1,/ld-musl-aarch64.so.1\x00,' \
	"$tmp/true" >"$tmp/musl"
chmod 755 "$tmp/musl"
ran "$willneed" -v "$tmp/musl"
at_least "a program of musl runs without it" \
	"$(grep -c 'musl runs without the library: .* C library' "$tmp/run.err")" 1
if is_root && have setpriv; then
	chmod 711 "$tmp"
	# Whom it belongs to does not matter when it cannot even be read.
	for mode in 4755 4711 2755; do
		chmod $mode "$tmp/true"
		ran setpriv --reuid 65534 --regid 65534 --clear-groups "$willneed" -s "$tmp/true"
		same "a program that gains privileges, mode $mode" "$(cat "$tmp/run.err")" \
			"willneed: $tmp/true runs without the library: it gains privileges when run"
	done
	chmod 755 "$tmp/true"
else
	skip "a program that gains privileges" "not root, or no setpriv"
fi
"$willneed" -s true 2>"$tmp/run.err" &
pid=$!
wait $pid
same "-s: a program with nothing to count" "$(cat "$tmp/run.err")" \
	"willneed: process $pid (true): nothing to do"
ran "$willneed" -s timeout 10 true
same "-s: but none that it starts" \
	"$(sed 's/process [0-9]*/process/' "$tmp/run.err")" \
	"willneed: process (timeout): nothing to do"
printf '#!/bin/sh\nexit 0\n' >"$tmp/sixteen-letters--"
chmod 755 "$tmp/sixteen-letters--"
while read -r setting program why; do
	ran env "$setting" "$willneed" -v "$program"
	same "-v tells that it is left alone: $setting $program" \
		"$(sed -n '1s/.*, which leaves it alone: //p' "$tmp/run.err")" "$why"
done <<-END
	WILLNEED_SKIP=cat,true true WILLNEED_SKIP names it
	WILLNEED_SKIP=cat true
	WILLNEED_SKIP=sixteen-letters $tmp/sixteen-letters-- WILLNEED_SKIP names it
	WILLNEED_SKIP=sh $tmp/sixteen-letters--
	WILLNEED_ONLY=cat true WILLNEED_ONLY does not name it
	WILLNEED_ONLY=cat,true true
	WILLNEED=off true WILLNEED is off
	WILLNEED=observe true
END

# -- What it refuses -------------------------------------------------------------------

echo kept >"$tmp/target"
ln -s "$tmp/target" "$tmp/link"
long=$tmp/$(printf '%300s' '' | tr ' ' x)
for file in /nonexistent/file "$tmp" "$tmp/link" "" "$long"; do
	shown=$(printf %.40s "${file#"$tmp/"}")
	refused "--log '$shown'" "log cannot be" "$willneed" --log "$file" echo started
	refused "--set log='$shown'" "log cannot be" "$willneed" --set "log=$file" echo started
	refused "--set stats='$shown'" "stats cannot be" \
		"$willneed" --set "stats=$file" echo started
done
same "a file behind a link is left alone" "$(cat "$tmp/target")" kept
if is_root && have setpriv; then
	chmod 711 "$tmp"
	mkdir -m 755 "$tmp/closed"
	refused "--log where one may not write" "Permission denied" \
		setpriv --reuid 65534 --clear-groups "$willneed" --log "$tmp/closed/log" echo started
else
	skip "--log where one may not write" "not root, or no setpriv"
fi
ran "$willneed" --log stderr --set stats=stderr sh -c 'exit 3'
same "stderr is fine" $status 3
ran sh -c "cd '$tmp' &&
	exec '$willneed' --log here --set stats=there sh -c 'cd /; exec true'"
same "a file that is named relatively" "$(ls "$tmp/here" "$tmp/there")" "$tmp/here
$tmp/there"
at_least "is found when the command changes directory" "$(grep -c true "$tmp/there")" 1

refused "--set without a value" "NAME=VALUE" "$willneed" --set window echo started
refused "--set of nothing that there is" "no setting" "$willneed" --set windows=1M echo started
refused "--set without a suffix that there is" "in bytes or with K, M, G or T" \
	"$willneed" --set window=64MB echo started
ran "$willneed" -v --set WILLNEED_WINDOW=1M true
at_least "--set with the variable's name" "$(grep -c WILLNEED_WINDOW=1M "$tmp/run.err")" 1
# As usual, in two lines: what is wrong, and where to look.
for options in --nonsense -x -sx "bench --nonsense" "bench -x" "bench --size"; do
	# shellcheck disable=SC2086  # several words
	ran "$willneed" $options
	want "exit status" $status == 2
	want "lines on stderr" "$(wc -l <"$tmp/run.err")" == 2
	[ ! -s "$tmp/run.out" ] || complain "it printed: $(cat "$tmp/run.out")"
	case $options in
	bench*) verb=" bench" ;;
	*) verb= ;;
	esac
	grep -q "Try .willneed$verb --help" "$tmp/run.err" || complain "$(cat "$tmp/run.err")"
	verdict "wrong options: $options"
done
# The same in the environment, by which the library would be told in silence.
for verb in run "bench --file"; do
	# shellcheck disable=SC2086  # two words
	set -- "$willneed" $verb "$0" echo started
	refused "$verb: a variable with a slip" "is WILLNEED_WINDOW meant" env WILLNEED_WIDNOW=1M "$@"
	refused "$verb: a variable that is no setting" "no setting WILLNEED_NONSENSE" \
		env WILLNEED_NONSENSE=1 "$@"
	refused "$verb: a bad value" "WILLNEED_WAY cannot be 'x'" env WILLNEED_WAY=x "$@"
	for variable in WILLNEED_LOG WILLNEED_STATS; do
		refused "$verb: $variable that cannot be written to" \
			"$variable cannot be written to '/nonexistent/file'" \
			env $variable=/nonexistent/file "$@"
	done
done
ran env WILLNEEDED=1 WILLNEED_LIBRARY="$WN_PRELOAD" "$willneed" --set stats=1 --set log=0 \
	cat /dev/null
same "variables that are none of ours" $status 0
check "stats=1 and log=0 are no files" test ! -e 1 -a ! -e 0
at_least "stats=1 is stderr" "$(grep -c '^willneed: process' "$tmp/run.err")" 1

refused "no command" "no command" "$willneed"
while read -r option value allowed; do
	refused "bench: $option $value" "$allowed" "$willneed" bench "$option" "$value"
done <<'EOF'
--size 1 allowed is 64M and more
--size many allowed is 64M and more
--runs 0 allowed is 1 to 101
--read-ahead-kb x allowed is 0 to
--read-ahead-kb 1,2,3,4,5,6,7,8,9 allowed is a list of 8
--max-sectors-kb 0 allowed is 1 to
--throttle x allowed is READS
--memory 2000% allowed is bytes
--loop zfs allowed is ext4
--dir /nonexistent No such file
--dir /etc/passwd is not a directory
EOF
refused "bench: a file, and no command" "name one behind it" "$willneed" bench --file /etc/passwd

# What --set accepts is what the library accepts.
row='^WN_OPTION([A-Z0-9_]*, "\([a-z0-9_]*\)", "\([A-Z0-9_]*\)", \([A-Z]*\), .*'
sed -n "s/$row/\1 \2 \3/p" "$WN_SRCDIR/lib/options.def" | grep -v ' TEXT$' >"$tmp/settings"
at_least "settings in options.def" "$(wc -l <"$tmp/settings")" 7
while read -r name variable _; do
	for value in "" 0 1 -1 +1 010 0x10 2K 2k 64KB 10 9 1T 1024G 2T 99999999999999999999 \
		" 5000" "5000 " 1e4 on off auto ON null nonsense 'on|off' '|'; do
		with "$variable=$value" true >"$tmp/run.out" 2>"$tmp/library.err" </dev/null
		ran "$willneed" --set "$name=$value" true
		if [ -s "$tmp/library.err" ]; then expected=2; else expected=0; fi
		[ $status -eq $expected ] ||
			complain "'$value': status $status, the library: $(cat "$tmp/library.err")"
	done
	verdict "--set $name accepts what the library does"
done <"$tmp/settings"

# -- Verbs -----------------------------------------------------------------------------

for verb in runn rnu ru bench1 benc bnech vench; do
	refused "misspelt: $verb" "is the verb" "$willneed" "$verb" --only W1
	ran "$willneed" -- "$verb"
	same "misspelt: -- $verb is a command" $status 127
	ran "$willneed" run "$verb"
	same "misspelt: run $verb is a command" $status 127
done
mkdir "$tmp/bin"
printf '#!/bin/sh\necho "benc $*"\n' >"$tmp/bin/benc"
chmod 755 "$tmp/bin/benc"
ran env PATH="$tmp/bin:$PATH" "$willneed" benc --only W1
same "a command of that name is run" "$(cat "$tmp/run.out")" "benc --only W1"
for name in nonsense rerun x ./benc; do
	ran "$willneed" "$name"
	same "no command, and like no verb: $name" $status 127
	same "no command, and like no verb: $name: lines" "$(wc -l <"$tmp/run.err")" 1
done

for verb in run "bench --file /etc/passwd"; do
	# shellcheck disable=SC2086  # several words
	ran "$willneed" $verb /nonexistent/command
	same "$verb: a command that there is not" $status 127
	# shellcheck disable=SC2086
	ran "$willneed" $verb /etc/passwd
	same "$verb: a command that is none" $status 126
	# shellcheck disable=SC2086
	ran "$willneed" $verb ""
	same "$verb: a command without a name" "$status $(cat "$tmp/run.err")" \
		"127 willneed: the name of the command is empty"
done

# -- bench with a command of the user's ------------------------------------------------

for base in "$tmp" /var/tmp; do
	[ "$(stat -f -c %T "$base")" != tmpfs ] || continue
	scratch=$(mktemp -d "$base/willneed-scratch.XXXXXX") && break
done
if [ -n "${scratch-}" ]; then
	head -c 4194304 /dev/urandom >"$scratch/data"
	for how in "" --ignore-output; do
		# shellcheck disable=SC2086  # no word, or one
		ran "$willneed" bench --runs 1 --file "$scratch/data" $how cksum "$scratch/data"
		same "bench $how: the same output" $status 0
	done
	ran "$willneed" bench --runs 1 --file "$scratch/data" \
		sh -c "cat '$scratch/data'; date +%N"
	same "bench: another output every time" $status 1
	at_least "bench: another output every time: it says so" \
		"$(cat "$tmp/run.out" "$tmp/run.err" | grep -c 'output differs')" 1
	ran "$willneed" bench --runs 1 --file "$scratch/data" --ignore-output \
		sh -c "cat '$scratch/data'; date +%N"
	same "bench --ignore-output: another output every time" $status 0
else
	skip "bench with a command" "no folder on a disk"
fi
finish

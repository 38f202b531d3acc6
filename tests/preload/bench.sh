#!/bin/sh
# SPDX-License-Identifier: MIT
# willneed bench: the places it makes are what they are called, and are gone afterwards.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
willneed=$WN_BUILDDIR/willneed
[ -x "$willneed" ] || skip_all "built without the program"
need_scratch 1536
disk=$scratch

# noted COMMAND...: its number is noted, since groups are called by it; others may be
# measuring on this machine too.
noted()
{
	# shellcheck disable=SC2016  # of the shell that becomes the command
	timeout -k 10 120 sh -c 'echo $$ >>"$0" && exec "$@"' "$tmp/numbers" "$@"
}

# bench OPTION...: in scratch, one run of each; its table, its errors and its status.
bench()
{
	noted "$willneed" bench --dir "$scratch" --size 64M --runs 1 "$@" \
		>"$tmp/table" 2>"$tmp/bench.err" </dev/null
	status=$?
}

# shown PATTERN: how many lines of the table have it.
shown()
{
	grep -cE -e "$1" "$tmp/table"
}

# cell VARIANT HEADING: of the one case in the table.
cell()
{
	awk -v variant="$1" -v heading="$2" '
		/^case / {
			at = index($0, heading) + length(heading) - 1
		}
		substr($0, 18, length(variant)) == variant {
			text = substr($0, 1, at)
			sub(/.* /, "", text)
			print text
			exit
		}' "$tmp/table"
}

# -- The lists -------------------------------------------------------------------------

"$willneed" bench --list >"$tmp/all"
sed -n 's/^  //p' "$tmp/all" >"$tmp/list"
same "all groups are told in words" "$(grep -vcE '^(  |[A-Z][0-9]+: [a-z0-9])' "$tmp/all")" 0
same "none twice" "$(sed -n 's/^\([A-Z0-9]*\): .*/\1/p' "$tmp/all" | sort | uniq -d)" ""
at_least "cases are listed" "$(wc -l <"$tmp/list")" 80
same "no two have the same name" "$(cut -d ' ' -f 1 "$tmp/list" | sort | uniq -d)" ""
"$WN_BUILDDIR/willneed-workload" --help >"$tmp/patterns"
same "all have a pattern that there is" "$(awk '{ print $2 }' "$tmp/list" | sort -u |
	while read -r pattern; do
		grep -q "^  $pattern " "$tmp/patterns" || echo "$pattern"
	done)" ""
# Each pattern does what it is told, and all data is what plain reads give.
make_file "$scratch/data" 16
"$WN_BUILDDIR/willneed-workload" pread --verify 1 "$scratch/data" >"$tmp/plain"
sum=$(sed 's/.*"checksum":"\([0-9a-f]*\)".*/\1/' "$tmp/plain")
for pattern in copy read fread seekread dontcache readahead willneed \
	"scout --threads 2 --split same" "pread --order jitter" "read --order backward" \
	"pread --threads 4 --split interleave" "pread --order shuffled"; do
	# shellcheck disable=SC2086  # several words
	"$WN_BUILDDIR/willneed-workload" $pattern --verify 1 --piece 64K "$scratch/data" \
		>"$tmp/other"
	grep -q "\"checksum\":\"$sum\"" "$tmp/other" || complain "$pattern: $(cat "$tmp/other")"
done
verdict "patterns read what is in the file"
"$WN_BUILDDIR/willneed-workload" pread --piece 1M --run 3M --skip 1M "$scratch/data" >"$tmp/other"
same "runs and gaps" "$(sed 's/.*"bytes":\([0-9]*\).*/\1/' "$tmp/other")" 12582912
"$WN_BUILDDIR/willneed-workload" pread --piece 1M --start -3M --lookups 7 "$scratch/data" \
	>"$tmp/other"
same "the end of the file, then lookups" \
	"$(sed 's/.*"bytes":\([0-9]*\).*/\1/' "$tmp/other")" $((3145728 + 7 * 4096))
"$WN_BUILDDIR/willneed-workload" tail --threads 3 --split same --piece 64K --ahead 1M \
	"$scratch/data" >"$tmp/other"
same "a log is read by two" "$(sed 's/.*"bytes":\([0-9]*\).*/\1/' "$tmp/other")" \
	$((2 * 16777216))
same "and leaves no file" "$(ls "$scratch")" data
rm "$scratch/data"

# -- What it refuses -------------------------------------------------------------------

for options in "--loop fat" "--max-sectors-kb 0" "--max-sectors-kb 1M" "--throttle fast" \
	"--throttle 100:fast" "--memory 0" "--memory 0%" "--memory much" \
	"--loop xfs --file /etc/passwd true"; do
	# shellcheck disable=SC2086  # several words
	bench $options
	[ $status -eq 2 ] || complain "$options: status $status"
	[ "$(wc -l <"$tmp/bench.err")" -eq 1 ] || complain "$options: $(cat "$tmp/bench.err")"
done
verdict "wrong options get one line"

# -- What it measures ------------------------------------------------------------------

# measures CASE: it does, unless somebody else sets the disk's read-ahead size meanwhile.
measures()
{
	bench --only "$1"
	hope "exit status ($(tail -n 1 "$tmp/bench.err"))" "$status" == 0
	[ "$status" -eq 0 ]
}

uncached_and_plain()
{
	measures W5-4K || return
	want "plain: MiB cached" "$(cell limit "cache MiB")" ">=" 60
	hope "uncached: MiB cached" "$(cell willneed "cache MiB")" "<=" 32
}
tries uncached_and_plain
verdict "an uncached read, and a plain one"
bench --runs 2 --only W5-4K,M9-read-4K --json
same "it says beforehand how much there is to do" \
	"$(grep -c '^willneed: 2 cases, 2 times each: 10 runs' "$tmp/bench.err")" 1
if have python3; then
	check "and JSON is JSON all the same" python3 -m json.tool "$tmp/table"
else
	skip "and JSON is JSON all the same" "no python3"
fi
tries measures N9-pread
verdict "sixty files"
at_least "sixty files: the last 4 MiB of each are read" "$(cell bare "read MiB")" 239
same "and none of them is left" "$(ls "$scratch")" ""
# awaits FILE PATTERN: until the file has it, for ten seconds at most.
awaits()
{
	for _ in $(seq 100); do
		! grep -qs -e "$2" "$1" || return 0
		sleep 0.1
	done
	complain "no '$2' in $1: $(cat "$1")"
}

# Both would make, use and remove the same file.
noted "$willneed" bench --dir "$scratch" --size 64M --runs 100 --only M9-load \
	>"$tmp/first.out" 2>"$tmp/first.err" </dev/null &
first=$!
awaits "$tmp/first.err" "1/1"
pid=$(tail -n 1 "$tmp/numbers")
bench --only M9-load &
second=$!
awaits "$tmp/bench.err" "waiting for the end of another bench (process $pid)"
[ ! -s "$tmp/table" ] || complain "it did not wait"
kill -s TERM "$pid"
wait $first
want "exit status of the first" $? == 143
wait $second
awaits "$tmp/table" "1 case, 0 failed"
[ -z "$(ls "$scratch")" ] || complain "left: $(ls "$scratch")"
verdict "two in one folder: the second waits"
if ! is_root; then
	for what in "loop devices" "limits of a device" "cgroups" "as nobody"; do
		skip "$what" "not root"
	done
	finish
fi

# -- A loop device ---------------------------------------------------------------------

# our_loops: of a bench that worked in scratch.
our_loops()
{
	losetup -a | grep -F "$disk/willneed-loop"
}

# left: what may not be there after a bench of ours has ended.
left()
{
	ls "$disk"
	our_loops
	grep -F "$disk/willneed-mount" /proc/mounts
	while read -r number; do
		find /sys/fs/cgroup -name "willneed-bench-$number" 2>/dev/null
	done <"$tmp/numbers"
}

bench --only W2-512
if [ "$(shown skipped)" -eq 1 ]; then
	skip "a loop device" "$(grep skipped "$tmp/table")"
else
	same "on a loop device" $status 0
	same "it has the file system and the limits of the case" \
		"$(shown 'read_ahead_kb 128, xfs on a loop device, max_sectors_kb 512')" 1
	at_least "its own reads are counted: bare" "$(cell bare "dev reads")" 380
	at_most "its own reads are counted: limit" "$(cell limit "dev reads")" 140
	same "nothing is left" "$(left)" ""
	for signal in INT TERM KILL; do
		"$willneed" bench --dir "$scratch" --size 64M --runs 100 --only W2-512 \
			>"$tmp/table" 2>"$tmp/bench.err" </dev/null &
		pid=$!
		echo $pid >>"$tmp/numbers"
		# Until the first run: there is a mount, in the namespace of that process.
		for _ in $(seq 100); do
			grep -q willneed-mount "/proc/$pid/mounts" && break
			sleep 0.1
		done
		mounted=$(grep -c willneed-mount "/proc/$pid/mounts")
		sleep 1
		kill -s "$signal" "$pid"
		wait $pid
		# The workload that was killed with it takes a moment, and so does the kernel.
		for _ in $(seq 50); do
			[ -n "$(our_loops)" ] || break
			sleep 0.1
		done
		[ "$mounted" = 1 ] || complain "there was no mount before SIG$signal"
		# Who is killed cannot remove the folder, which is empty then.
		[ $signal != KILL ] || rmdir "$scratch"/willneed-mount.* 2>/dev/null
		[ -z "$(left)" ] || complain "left: $(left)"
		verdict "nothing is left after SIG$signal"
	done
fi

# btrfs shows neither its device nor where its read-ahead size is set.
for fs in ext4 btrfs; do
	bench --loop $fs --read-ahead-kb 64 --only M9-read-4K
	if grep -qE 'mkfs|cannot mount|no loop' "$tmp/table" "$tmp/bench.err"; then
		skip "--loop $fs" "$(grep -hE 'mkfs|cannot mount|no loop' "$tmp/table" "$tmp/bench.err")"
		continue
	fi
	[ $status -eq 0 ] || complain "status $status: $(cat "$tmp/table" "$tmp/bench.err")"
	[ "$(shown "read_ahead_kb 64, $fs on a loop device")" -eq 1 ] || complain "another place"
	# 32 MiB in requests of 64 KiB each.
	want "device reads" "$(cell bare "dev reads")" ">=" 500
	want "device reads" "$(cell bare "dev reads")" "<=" 600
	verdict "--loop $fs"
done

# -- Limits ----------------------------------------------------------------------------

# knobs: of the loop device.
knobs()
{
	cat "$queue/max_sectors_kb" "$queue/read_ahead_kb" | tr '\n' ' '
}

# measuring OPTION...: a bench of a file on the loop device, in the background, which has
# begun with its first run; its number is in pid.
measuring()
{
	rm -f "$tmp/begun"
	"$willneed" bench --dir "$scratch" --runs 1 "$@" --file "$mnt/data" \
		sh -c "echo >'$tmp/begun'; while [ ! -e '$tmp/go' ]; do sleep 0.1; done
			cat '$mnt/data'" >"$tmp/first.out" 2>"$tmp/first.err" </dev/null &
	pid=$!
	echo $pid >>"$tmp/numbers"
	for _ in $(seq 100); do
		[ ! -e "$tmp/begun" ] || break
		sleep 0.1
	done
	[ -e "$tmp/begun" ] || complain "it has not begun: $(cat "$tmp/first.err")"
}

# Whatever ends it, and whoever else measures on the device or sets it.
sets_back()
{
	rm -f "$tmp/go"
	for signal in INT:2 TERM:15 HUP:1 QUIT:3; do
		number=${signal#*:}
		signal=${signal%:*}
		measuring --max-sectors-kb 128 --read-ahead-kb 64
		[ "$(knobs)" = "128 64 " ] || complain "it measures at $(knobs)"
		kill -s "$signal" "$pid"
		wait "$pid"
		want "SIG$signal: exit status" $? == $((128 + number))
		[ "$(knobs)" = "512 256 " ] || complain "SIG$signal leaves $(knobs)"
	done
	"$willneed" bench --dir "$scratch" --runs 1 --max-sectors-kb 128 --read-ahead-kb 64 \
		--file "$mnt/data" false >"$tmp/first.out" 2>&1
	want "exit status of a run that fails" $? == 1
	[ "$(knobs)" = "512 256 " ] || complain "a run that fails leaves $(knobs)"
	verdict "limits are set back after signals and failures"

	rm -f "$tmp/found"
	measuring --max-sectors-kb 128 --read-ahead-kb 64
	noted "$willneed" bench --dir "$scratch" --runs 1 --read-ahead-kb 96 \
		--file "$mnt/data" sh -c "cat $queue/read_ahead_kb >>'$tmp/found'; cat '$mnt/data'" \
		>"$tmp/second.out" 2>"$tmp/second.err" </dev/null &
	second=$!
	awaits "$tmp/second.err" "waiting for the end of another bench (process $pid)"
	[ ! -e "$tmp/found" ] || complain "it has begun, at $(cat "$tmp/found")"
	echo >"$tmp/go"
	wait $pid
	want "exit status of the first" $? == 0
	wait $second
	want "exit status of the second" $? == 0
	[ "$(sort -u "$tmp/found")" = 96 ] || complain "the second measured at $(cat "$tmp/found")"
	[ "$(knobs)" = "512 256 " ] || complain "they leave $(knobs)"
	verdict "two at a time: the second waits, and both set back what was there"

	rm -f "$tmp/go" "$tmp/second.err"
	measuring --max-sectors-kb 128 --read-ahead-kb 64
	noted "$willneed" bench --dir "$scratch" --runs 1 --read-ahead-kb 96 \
		--file "$mnt/data" cat "$mnt/data" >"$tmp/second.out" 2>"$tmp/second.err" &
	second=$!
	awaits "$tmp/second.err" waiting
	kill -s TERM "$(tail -n 1 "$tmp/numbers")"
	wait $second
	want "exit status of one that waits" $? == 143
	echo 32 >"$queue/read_ahead_kb"
	echo >"$tmp/go"
	wait $pid
	[ "$(knobs)" = "512 32 " ] || complain "it leaves $(knobs)"
	want "lines about it" "$(grep -c 'read_ahead_kb is left at 32' "$tmp/first.err")" == 1
	loop_limits 256 512
	verdict "what somebody else has set meanwhile is left alone, and told"
}

# What a program finds while it is measured; each line twice, bare and preloaded.
found()
{
	sort -u "$tmp/found" 2>/dev/null
}

if loop_fs ext4 200 256 512; then
	scratch=$mnt
	make_file "$mnt/data" 16
	bench --only M9-read-4K --read-ahead-kb 128
	same "reads of the device are judged" \
		"$(shown '(ok|over) +device_reads .* up to read_ahead_kb 128')" 1
	while :; do
		dd if="$mnt/data" of=/dev/null bs=1M iflag=direct 2>/dev/null || break
	done &
	other=$!
	bench --only M9-read-4K --read-ahead-kb 128
	kill $other
	wait $other 2>/dev/null
	same "but not when others read from it too" \
		"$(shown ' -  +device_reads .*others have read')" 1
	queue=/sys/block/${loop##*/}/queue
	rm -f "$tmp/found"
	bench --max-sectors-kb 128 --read-ahead-kb 64 --file "$mnt/data" \
		sh -c "cat $queue/max_sectors_kb $queue/read_ahead_kb | tr '\n' ' ' >>$tmp/found
			echo >>$tmp/found; cat '$mnt/data'"
	same "limits of the device: status" $status 0
	same "limits of the device are set" "$(found)" "128 64 "
	same "and set back" "$(cat "$queue/max_sectors_kb" "$queue/read_ahead_kb" |
		tr '\n' ' ')" "512 256 "
	sets_back
	# The one that resets the other.
	rm -f "$tmp/found"
	bench --max-sectors-kb 128 --file "$mnt/data" \
		sh -c "cat $queue/read_ahead_kb >>$tmp/found; cat '$mnt/data'"
	same "max_sectors_kb leaves read_ahead_kb as it was" "$(found)" 256
	same "and afterwards" "$(cat "$queue/read_ahead_kb")" 256

	# group CONTROLLER FILE: what the group of a program says, which is there only while
	# it runs.
	cat >"$tmp/group" <<-'END'
		#!/bin/sh
		at=$(sed -n "s/^[0-9]*:\([a-z,]*,\)*$1\(,[a-z,]*\)*://p" /proc/self/cgroup)
		mount=$(awk -v c="$1" '$3 == "cgroup" && $4 ~ "(^|,)" c "(,|$)" { print $2; exit }' \
			/proc/self/mounts)
		case $at in
		*/willneed-bench-*) cat "$mount$at/$2" >>"$3" ;;
		*) echo "not in a group" >>"$3" ;;
		esac
		cat "$4"
	END
	chmod 755 "$tmp/group"
	number=$(cat "/sys/block/${loop##*/}/dev")
	if grep -qE '^[0-9]+:([a-z,]*,)?blkio' /proc/self/cgroup; then
		rm -f "$tmp/found"
		bench --throttle 300:50M --file "$mnt/data" \
			"$tmp/group" blkio blkio.throttle.read_iops_device "$tmp/found" "$mnt/data"
		same "so many reads a second: status" $status 0
		same "so many reads a second" "$(found)" "$number 300"
		rm -f "$tmp/found"
		bench --throttle 0:50M --file "$mnt/data" \
			"$tmp/group" blkio blkio.throttle.read_bps_device "$tmp/found" "$mnt/data"
		same "so many bytes a second" "$(found)" "$number 52428800"
	else
		skip "so many reads a second" "no blkio controller of version 1"
	fi
	if grep -qE '^[0-9]+:([a-z,]*,)?memory' /proc/self/cgroup; then
		rm -f "$tmp/found"
		bench --memory 50% --file "$mnt/data" \
			"$tmp/group" memory memory.limit_in_bytes "$tmp/found" "$mnt/data"
		same "so much memory: status" $status 0
		at_most "half of the file's size" "$(found)" 8388608
	else
		skip "so much memory" "no memory controller of version 1"
	fi
	rm -f "$mnt/data"
	scratch=$disk
	loop_gone
	same "no group is left" "$(left)" ""
else
	skip "limits of a device" "$why"
fi

# -- As nobody -------------------------------------------------------------------------

if have setpriv && chmod 711 "$tmp" && chmod 777 "$scratch" &&
	setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$willneed"; then
	bench_as_nobody()
	{
		TMPDIR=$scratch timeout -k 10 120 setpriv --reuid 65534 --regid 65534 \
			--clear-groups "$willneed" bench --dir "$scratch" --size 64M --runs 1 \
			"$@" >"$tmp/table" 2>"$tmp/bench.err" </dev/null
		status=$?
	}
	bench_as_nobody --only W2-512,M3-pread-8K,N3-pread,M9-read-128K
	same "as nobody: what needs root is skipped" "$(shown '^(W2|M3|N3).* skipped: ')" 3
	same "as nobody: the rest is measured" "$(shown '^M9-read-128K +bare')" 1
	same "as nobody: that is no failure" $status 0
	[ $status -eq 0 ] || sed 's/^/# /' "$tmp/table" "$tmp/bench.err"
	bench_as_nobody --only M9-read-128K --throttle 100
	same "as nobody: what was asked for is a failure" $status 1
else
	skip "as nobody" "no setpriv, or the program lies where nobody may not look"
fi
finish

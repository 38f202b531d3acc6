#!/bin/sh
# SPDX-License-Identifier: MIT
# RWF_DONTCACHE: fast, little stays cached, nobody else's pages go; all else as it was.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
need_scratch 1000

little_cached()
{
	with "$tmp/uncached" "$@" >"$tmp/run.out" 2>&1 && return
	# Only how much is cached, or read twice, is a matter of time.
	if grep -q 'right(' "$tmp/run.out" || [ ! -s "$tmp/run.out" ]; then
		complain "$(cat "$tmp/run.out")"
	else
		cat "$tmp/run.out" >"$tmp/hopes"
	fi
}

make_file "$scratch/big" 96
big=$scratch/big
compile uncached

cp "$big" "$scratch/changing"
cp "$big" "$scratch/growing"
make_file "$scratch/short" 48
if "$tmp/uncached" stream "$big" >"$tmp/probe.out" 2>&1; then
	wcmp "flags, offsets, descriptors" "$tmp/uncached" matrix "$big"
	rm -f "$tmp/stats"
	check "a stream leaves little behind" \
		with WILLNEED_STATS="$tmp/stats" "$tmp/uncached" stream "$big"
	at_least "it is dropped by the library" "$(counter dropped_bytes)" 500000000
	for mode in kept mapped shared threads turns; do
		check "uncached reads: $mode" with "$tmp/uncached" $mode "$big"
	done
	# Where the kernel reads two windows of 8 MiB ahead of each reader that is left to it.
	if loop_fs ext4 300 8192 1280; then
		make_file "$mnt/big" 192
		# A reader that a busy machine keeps from its processor holds up what is dropped.
		for mode in quarters eighths joined; do
			tries little_cached $mode "$mnt/big"
			verdict "uncached reads, wide: $mode"
		done
		chill "$mnt/big"
		rm -f "$tmp/stats"
		check "uncached reads, wide: header" \
			with WILLNEED_STATS="$tmp/stats" "$tmp/uncached" header "$mnt/big"
		at_most "a jump is no second reader: bytes asked by the thread" \
			"$(counter inline_bytes)" $((32 * 1048576))
		loop_gone
	else
		skip "uncached reads, wide" "$why"
	fi
	check "uncached reads: written" with "$tmp/uncached" written "$scratch/changing"
	check "uncached writes" with "$tmp/uncached" write "$scratch/changing"
	check "uncached reads: cut" with "$tmp/uncached" cut "$scratch/changing"
	rm -f "$tmp/stats"
	check "WILLNEED_DROP_BEHIND=off" with WILLNEED_DROP_BEHIND=off \
		WILLNEED_STATS="$tmp/stats" "$tmp/uncached" stream "$big"
	same "WILLNEED_DROP_BEHIND=off: nothing is dropped" "$(counter dropped_bytes)" 0
	rm -f "$tmp/stats"
	check "WILLNEED_DROP_BEHIND=stream: once" with WILLNEED_DROP_BEHIND=stream \
		WILLNEED_STATS="$tmp/stats" "$tmp/uncached" once "$big"
	at_least "WILLNEED_DROP_BEHIND=stream: it is dropped" "$(counter dropped_bytes)" 80000000
	at_most "WILLNEED_DROP_BEHIND=stream: little is left" "$(resident "$big")" 4096
	for mode in again follow; do
		check "WILLNEED_DROP_BEHIND=stream: $mode" \
			with WILLNEED_DROP_BEHIND=stream "$tmp/uncached" $mode "$big"
	done
	check "WILLNEED_DROP_BEHIND=stream: tail" \
		with WILLNEED_DROP_BEHIND=stream "$tmp/uncached" tail "$scratch/growing"
	# Short files, and what was cached before.
	rm -f "$tmp/stats"
	check "WILLNEED_DROP_BEHIND=stream: a short file" with WILLNEED_DROP_BEHIND=stream \
		WILLNEED_STATS="$tmp/stats" "$tmp/uncached" once "$scratch/short"
	same "WILLNEED_DROP_BEHIND=stream: nothing of a short file is dropped" \
		"$(counter dropped_bytes)" 0
	rm -f "$tmp/stats"
	check "WILLNEED_DROP_BEHIND=stream: a file in the page cache" \
		with WILLNEED_DROP_BEHIND=stream WILLNEED_STATS="$tmp/stats" \
		"$tmp/uncached" warm "$big"
	same "WILLNEED_DROP_BEHIND=stream: it stays there" "$(counter dropped_bytes)" 0
	rm -f "$tmp/stats"
	check "WILLNEED_DROP_BEHIND=dontcache: ordinary reads" \
		with WILLNEED_STATS="$tmp/stats" "$tmp/uncached" once "$big"
	same "WILLNEED_DROP_BEHIND=dontcache: they drop nothing" "$(counter dropped_bytes)" 0
	# Whose pages they are cannot be known: the kernel drops them, led by the helper.
	if is_root && have setpriv; then
		chmod 755 "$scratch" "$tmp"
		rm -f "$tmp/stats"
		touch "$tmp/stats" && chmod 666 "$tmp/stats"
		chill "$big"
		dd if="$big" of=/dev/null bs=1M count=4 skip=40 status=none
		before=$(resident "$big")
		check "a file of somebody else" with WILLNEED_STATS="$tmp/stats" \
			setpriv --reuid 65534 --clear-groups "$tmp/uncached" others "$big"
		same "a file of somebody else: nothing is dropped by the library" \
			"$(counter dropped_bytes)" 0
		at_least "a file of somebody else: it is led" "$(counter led_bytes)" 30000000
		at_least "a file of somebody else: what was cached stays" \
			"$(resident "$big")" "$before"
		at_most "a file of somebody else: little else is left" \
			"$(resident "$big")" $((before + 16 * 256))
	else
		skip "a file of somebody else" "not root, or no setpriv"
	fi
else
	skip "uncached reads" "$(head -n 1 "$tmp/probe.out")"
fi

# The pages of an overlay are another file's, and the flag is not supported.
layers=$scratch/overlay
mkdir -p "$layers/low" "$layers/up" "$layers/work" "$layers/all"
ln "$big" "$layers/low/big"
if is_root && mount -t overlay -o \
	"lowerdir=$layers/low,upperdir=$layers/up,workdir=$layers/work" none "$layers/all" \
	2>"$tmp/mount.log"; then
	mounts="$layers/all $mounts"
	chill "$big"
	dd if="$big" of=/dev/null bs=1M count=8 skip=40 status=none
	before=$(resident "$big")
	rm -f "$tmp/stats"
	check "overlay: data" with WILLNEED_STATS="$tmp/stats" "$tmp/uncached" parted \
		"$layers/all/big"
	at_least "overlay: it is dropped" "$(counter dropped_bytes)" 50000000
	at_most "overlay: little else is left" "$(resident "$big")" $((before + 16 * 512))
	at_least "overlay: what was cached stays" "$(resident "$big")" "$before"
	check "overlay: a write" with "$tmp/uncached" write "$layers/all/big"
	# What is written leaves the page cache when it is on the disk.
	upper=$layers/up/big
	for mode in rewrite create; do
		rm -f "$tmp/stats"
		check "overlay: uncached writes: $mode" \
			with WILLNEED_STATS="$tmp/stats" "$tmp/uncached" $mode "$layers/all/big"
		at_most "overlay: little of it is left: $mode" "$(resident "$upper")" $((12 * 256))
		[ $mode = create ] || at_least "overlay: what was cached stays: $mode" \
			"$(resident "$upper")" 256
		at_least "overlay: it is dropped: $mode" "$(counter drop_calls)" 40
		check "overlay: the data: $mode" with "$tmp/uncached" threads "$layers/all/big"
	done
else
	skip "overlay: data" "not root, or no overlay: $(cat "$tmp/mount.log" 2>/dev/null)"
fi

# Where the flag is not supported, the call works all the same.
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ]; then
	shm=$(mktemp -d /dev/shm/willneed.XXXXXX)
	cp "$big" "$shm/big"
	check "tmpfs: data instead of EOPNOTSUPP" with "$tmp/uncached" threads "$shm/big"
	check "tmpfs: a write" with "$tmp/uncached" write "$shm/big"
	rm -rf "$shm"
else
	skip "tmpfs: data instead of EOPNOTSUPP" "no /dev/shm"
fi
finish

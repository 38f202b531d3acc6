# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# For the scripts beside it: TAP with the plan at the end; programs compiled from the
# sources here; files that are cold; loop devices; and everything taken down again, also
# after a failure.  The script itself is never preloaded: only what with() runs is.

LC_ALL=C
# Wherever the scratch folder is: a test of what the library may disturb proves nothing while
# it leaves everything to a wide window of the kernel.
WILLNEED_WIDE=1T
export LC_ALL WILLNEED_WIDE
set -u
# What make and others have left open would spoil the counting.
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
count=0
here=${WN_SRCDIR:?this script is run by make check}/tests/preload
tmp=${WN_TMPDIR:?}
CC=${CC:-cc}
mounts=
loops=

take_down()
{
	cd /
	for m in $mounts; do
		umount "$m" 2>/dev/null || umount -l "$m" 2>/dev/null
	done
	for l in $loops; do
		losetup -d "$l" 2>/dev/null
	done
	[ -z "${scratch-}" ] || rm -rf "$scratch"
}
trap take_down EXIT
trap 'exit 99' HUP INT TERM

# -- Results ---------------------------------------------------------------------------

result()
{
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		# A program under test may print what looks like TAP.
		[ ! -s "${3-/dev/null}" ] || head -n 20 "$3" | cat -v | sed 's/^/#   /'
	fi
}

skip()
{
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

# check DESCRIPTION COMMAND...: fine when the command succeeds.
check()
{
	what=$1
	shift
	"$@" >"$tmp/check.out" 2>&1
	result $? "$what" "$tmp/check.out"
}

# at_most DESCRIPTION VALUE LIMIT: whole numbers or decimals.
at_most()
{
	echo "$2, limit $3" >"$tmp/check.out"
	awk -v a="$2" -v b="$3" 'BEGIN { exit !(a != "" && a + 0 <= b + 0) }'
	result $? "$1" "$tmp/check.out"
}

at_least()
{
	echo "$2, at least $3 expected" >"$tmp/check.out"
	awk -v a="$2" -v b="$3" 'BEGIN { exit !(a != "" && a + 0 >= b + 0) }'
	result $? "$1" "$tmp/check.out"
}

# complain TEXT: what is wrong with the thing that verdict() then judges.
complain()
{
	echo "$*" >>"$tmp/complaints"
}

# want WHAT VALUE RELATION LIMIT: complains unless the numbers are in that relation.
relation='BEGIN {
	if (a !~ /^[0-9.]+$/) exit 1
	exit !(r == "<=" ? a <= b : r == ">=" ? a >= b : a == b) }'
want()
{
	awk -v a="$2" -v b="$4" -v r="$3" "$relation" </dev/null ||
		complain "$1: '$2' should be $3 $4"
}

# hope ...: as want(), for what takes a helper that keeps up: see tries().
hope()
{
	awk -v a="$2" -v b="$4" -v r="$3" "$relation" </dev/null ||
		echo "$1: '$2' should be $3 $4" >>"$tmp/hopes"
}

# tries COMMAND...: the command, up to five times, until no hope() of it is disappointed.
# A busy machine can keep the helper from its processor; not five times.  What must never
# happen is want()ed instead: no second time makes up for it.
tries()
{
	for try in 1 2 3 4 5; do
		rm -f "$tmp/hopes"
		"$@"
		[ -s "$tmp/hopes" ] || return 0
		[ ! -s "$tmp/complaints" ] || break
		sed "s/^/# try $try: /" "$tmp/hopes"
	done
	cat "$tmp/hopes" >>"$tmp/complaints"
}

verdict()
{
	touch "$tmp/complaints"
	[ ! -s "$tmp/complaints" ]
	result $? "$1" "$tmp/complaints"
	rm -f "$tmp/complaints"
}

same()
{
	echo "'$2' is not '$3'" >"$tmp/check.out"
	[ "$2" = "$3" ]
	result $? "$1" "$tmp/check.out"
}

finish()
{
	echo "1..$count"
	exit 0
}

skip_all()
{
	echo "1..0 # SKIP $1"
	exit 0
}

have()
{
	command -v "$1" >/dev/null 2>&1
}

is_root()
{
	[ "$(id -u)" -eq 0 ]
}

# -- Programs --------------------------------------------------------------------------

# compile NAME [FLAG...]: tests/preload/NAME.c becomes $tmp/NAME.
compile()
{
	compile_as "$1" "$@"
}

compile_as()
{
	program=$1
	source=$2
	shift 2
	$CC -std=gnu17 -D_GNU_SOURCE -O2 -g -o "$tmp/$program" "$here/$source.c" \
		-fno-builtin -pthread -Wl,--allow-shlib-undefined "$@" >"$tmp/cc.log" 2>&1 || {
		echo "Bail out! $source.c does not compile"
		sed 's/^/# /' "$tmp/cc.log"
		exit 1
	}
}

# with [NAME=VALUE...] COMMAND...: the command, preloaded, under a time limit.
with()
{
	timeout -k 5 "${limit:-60}" env LD_PRELOAD="$WN_PRELOAD" "$@"
}

bare()
{
	timeout -k 5 "${limit:-60}" env "$@"
}

# wcmp DESCRIPTION [NAME=VALUE...] COMMAND...: output, errors and status are as without.
wcmp()
{
	what=$1
	shift
	bare "$@" >"$tmp/bare.out" 2>"$tmp/bare.err" </dev/null
	bare_status=$?
	with "$@" >"$tmp/with.out" 2>"$tmp/with.err" </dev/null
	status=$?
	{
		[ $status -eq $bare_status ] || echo "status $status, bare $bare_status"
		cmp "$tmp/bare.out" "$tmp/with.out" || diff "$tmp/bare.out" "$tmp/with.out"
		diff "$tmp/bare.err" "$tmp/with.err"
	} >"$tmp/check.out" 2>&1
	# What hung both times proves nothing.
	[ $status -ne 124 ] || echo "timed out" >>"$tmp/check.out"
	[ ! -s "$tmp/check.out" ]
	result $? "$what" "$tmp/check.out"
}

# counter NAME: of the process that was the last to print any into $tmp/stats, which
# WILLNEED_STATS named.  0 is not printed; nothing where no library has opened the file.
counter()
{
	[ ! -f "$tmp/stats" ] || awk -v name="$1" '
		/^willneed: process / { value = 0 }
		$2 == name { value = $3 }
		END { print value ? value : 0 }' "$tmp/stats"
}

# helped DESCRIPTION COMMAND...: succeeds, and was helped by the library: a test of what
# the library disturbs proves nothing while it sleeps.
helped()
{
	what=$1
	shift
	tries run_helped "$@"
	verdict "$what"
}

run_helped()
{
	# Cold again, where this is not the first time.
	for argument in "$@"; do
		case ${try-1}$argument in
		[2-5]/*) [ ! -f "$argument" ] || [ -x "$argument" ] || "$tmp/file" chill "$argument" ;;
		esac
	done >"$tmp/check.out"
	rm -f "$tmp/stats"
	with WILLNEED_STATS="$tmp/stats" "$@" >"$tmp/check.out" 2>&1
	status=$?
	[ $status -eq 0 ] || complain "exit status $status: $(cat "$tmp/check.out")"
	hope "bytes asked for" "$(counter asked_bytes)" ">=" 1
}

# -- Cold files ------------------------------------------------------------------------

# need_scratch MIB: sets scratch to a folder on a file system with that much space.
need_scratch()
{
	for base in "$tmp" /var/tmp "$WN_BUILDDIR"; do
		case $(stat -f -c %T "$base" 2>/dev/null) in
		ext2/ext3 | xfs | btrfs | f2fs | overlayfs) ;;
		*) continue ;;
		esac
		free=$(df -Pm "$base" | awk 'END { print $4 }')
		[ "$free" -ge $(($1 + 256)) ] || continue
		scratch=$(mktemp -d "$base/willneed-scratch.XXXXXX") && chmod 755 "$scratch" &&
			return
	done
	skip_all "no folder on a disk file system with $1 MiB free (set TMPDIR)"
}

# make_file PATH MIB: every word in it tells its own place; see host.h.
make_file()
{
	[ -x "$tmp/file" ] || compile file
	"$tmp/file" fill "$1" "$2" || {
		echo "Bail out! cannot make $1"
		exit 1
	}
}

# chill PATH: out of the page cache, verified.
chill()
{
	[ -x "$tmp/file" ] || compile file
	"$tmp/file" chill "$1" >"$tmp/chill.out" 2>&1 || {
		echo "# $(cat "$tmp/chill.out")"
		return 1
	}
}

resident()
{
	"$tmp/file" resident "$1"
}

# loop_fs TYPE MIB [READ_AHEAD_KB [MAX_SECTORS_KB]]: a new file system on a loop device,
# mounted on $mnt; false, and why, where that cannot be had.  Its image stays in the page
# cache, so it is a fast disk, with limits of its own that nobody else sees.
loop_fs()
{
	why=
	if ! is_root; then
		why="not root"
	elif ! have "mkfs.$1"; then
		why="no mkfs.$1"
	elif ! have losetup; then
		why="no losetup"
	fi
	[ -z "$why" ] || return 1
	image=$scratch/$1.$$.img
	rm -f "$image"
	truncate -s "$2M" "$image"
	case $1 in
	ext4) mkfs.ext4 -q -F -E lazy_itable_init=0 "$image" ;;
	xfs) mkfs.xfs -q -f "$image" ;;
	btrfs) mkfs.btrfs -q -f "$image" ;;
	esac >"$tmp/mkfs.log" 2>&1 || {
		why="mkfs.$1 failed: $(tail -n 1 "$tmp/mkfs.log")"
		return 1
	}
	loop=$(losetup --show -f "$image" 2>"$tmp/losetup.log") || {
		why="no loop device: $(cat "$tmp/losetup.log")"
		return 1
	}
	loops="$loop $loops"
	loop_limits "${3:-128}" "${4:-512}"
	mnt=$tmp/mnt.$1
	mkdir -p "$mnt"
	mount "$loop" "$mnt" 2>"$tmp/mount.log" || {
		why="cannot mount: $(cat "$tmp/mount.log")"
		return 1
	}
	mounts="$mnt $mounts"
}

# Setting the second resets the first.
loop_limits()
{
	queue=/sys/block/${loop##*/}/queue
	hardest=$(cat "$queue/max_hw_sectors_kb")
	echo $(($2 < hardest ? $2 : hardest)) >"$queue/max_sectors_kb"
	echo "$1" >"$queue/read_ahead_kb"
}

loop_gone()
{
	umount "$mnt" && losetup -d "$loop"
	mounts=$(echo " $mounts " | sed "s, $mnt , ,")
	loops=$(echo " $loops " | sed "s, $loop , ,")
	rm -f "$image"
}

#!/bin/sh
# SPDX-License-Identifier: MIT
# Descriptors, locks and last closes: the library's are its own, and gone when they should.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
need_scratch 200
make_file "$scratch/big" 96
big=$scratch/big
compile descriptors

cold()
{
	"$tmp/file" chill "$big"
	helped "$1" "$tmp/descriptors" "$2" "$big"
}

cold "descriptor numbers stay as they were" numbers
cold "everything from 3 on is closed, and reused" closefrom
cold "descriptors are replaced by sockets" replaced
cold "the number belongs to another file" other
cold "a record lock is kept" lock
cold "a file lease and flock, from another process" flock
cold "exec: nothing is inherited" exec
cold "exec fails: everything goes on" execfail
cold "an unlinked file" unlinked

# A limit of a thousand million costs nothing, nor does one of a few.
if prlimit -n1073741816:1073741816 true 2>"$tmp/prlimit.log"; then
	wcmp "RLIMIT_NOFILE 2^30" prlimit -n1073741816:1073741816 "$tmp/descriptors" memory "$big"
	"$tmp/file" chill "$big"
	helped "RLIMIT_NOFILE 2^30, cold" prlimit -n1073741816:1073741816 "$tmp/descriptors" \
		plain "$big"
else
	skip "RLIMIT_NOFILE 2^30" "$(head -n 1 "$tmp/prlimit.log")"
fi
"$tmp/file" chill "$big"
helped "RLIMIT_NOFILE 5" sh -c "ulimit -n 5; exec $tmp/descriptors plain $big"
wcmp "inherited descriptors" sh -c 'exec 3</dev/null 7</dev/null; exec ls /proc/self/fd'

# Unmounted as soon as the program has let go.
if loop_fs ext4 96 128 512; then
	make_file "$mnt/f" 48
	i=0
	idle=0
	while [ $i -lt 15 ]; do
		"$tmp/file" chill "$mnt/f"
		with WILLNEED_STATS="$tmp/stats" "$tmp/descriptors" umount "$mnt/f" "$mnt" \
			>"$tmp/run.out" 2>&1 || {
			complain "round $i: $(cat "$tmp/run.out")"
			break
		}
		[ "$(counter asked_bytes)" -ge 1048576 ] || idle=$((idle + 1))
		mount "$loop" "$mnt" || complain "round $i: cannot mount again"
		i=$((i + 1))
	done
	want "rounds in which nothing was asked for" $idle "<=" 5
	verdict "unmap, close, umount"
	loop_gone
else
	skip "unmap, close, umount" "$why"
fi
finish

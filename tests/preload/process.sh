#!/bin/sh
# SPDX-License-Identifier: MIT
# Threads, identities, signals, limits and exits: a helper that nobody notices.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
need_scratch 200
make_file "$scratch/big" 64
big=$scratch/big
compile process
compile exits

# helper KIND DESCRIPTION: it was helped, by a thread.
helper()
{
	"$tmp/file" chill "$big"
	helped "$2" "$tmp/process" "$1" "$big"
}

helper mask "all signals are blocked in the helper; sigtimedwait sees each"
helper ordinary "a helper of a real-time thread is an ordinary one"
helper idle "an idle helper ends"
helper busyexit "the first thread ends before the others"
helper raw_exit "each thread ends by a raw call"
if is_root; then
	# Its end cannot write counters; that there was a helper, it checks itself.
	"$tmp/file" chill "$big"
	check "setresuid reaches every thread" with "$tmp/process" setuid "$big"
	helper unshare "unshare(CLONE_NEWUSER) with a helper alive"
	helper stopped "the helper is stopped by a tracer"
	"$tmp/file" chill "$big"
	wcmp "chroot, without /proc" "$tmp/process" chroot "$big"
else
	for what in setresuid unshare "a stopped helper" chroot; do
		skip "$what" "not root"
	done
fi

# Too little of everything: as bare, helped or not.
for space in 20000 40000 150000 400000; do
	"$tmp/file" chill "$big"
	wcmp "RLIMIT_AS $space KiB" sh -c "ulimit -v $space; exec $tmp/process plain $big"
done
"$tmp/file" chill "$big"
wcmp "RLIMIT_STACK 64 KiB" sh -c "ulimit -s 64; exec $tmp/process plain $big"
wcmp "RLIMIT_MEMLOCK 64 KiB, mlockall" sh -c "ulimit -l 64; exec $tmp/process locked $big"
wcmp "mlockall" "$tmp/process" locked "$big"
if have setpriv && is_root; then
	mkdir "$tmp/open"
	chmod 711 "$tmp"
	cp "$tmp/process" "$WN_PRELOAD" "$WN_LIBRARY" "$tmp/open"
	"$tmp/file" chill "$big"
	kept=$WN_PRELOAD
	WN_PRELOAD=$tmp/open/${WN_PRELOAD##*/}
	wcmp "RLIMIT_NPROC 1" setpriv --reuid=12321 --clear-groups \
		sh -c "ulimit -p 1; exec $tmp/open/process plain $big"
	WN_PRELOAD=$kept
else
	skip "RLIMIT_NPROC 1" "not root, or no setpriv"
fi

# Every way out, while the helper is at work.
for way in return exit _exit quick_exit abort kill segv thread main_thread group exec dlclose; do
	bare "$tmp/exits" $way "$big" >/dev/null 2>&1
	expected=$?
	i=0
	while [ $i -lt 12 ]; do
		[ $((i % 4)) -ne 0 ] || "$tmp/file" chill "$big"
		limit=10 with "$tmp/exits" $way "$big" >"$tmp/run.out" 2>&1
		status=$?
		[ $status -eq $expected ] ||
			complain "round $i: status $status, not $expected: $(cat "$tmp/run.out")"
		i=$((i + 1))
	done
	verdict "exit while busy: $way, status $expected"
done
rm -f core core.*
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# Sandboxes: what forbids the library's system calls, before or after it began, kills no
# program and changes none of its results.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
need_scratch 200
make_file "$scratch/big" 48
big=$scratch/big
compile sandbox
compile forbid
compile reader

# The program gives up its rights while a helper is alive.
for kind in strict filter syscall tsync nnp; do
	"$tmp/file" chill "$big"
	wcmp "$kind, after cold reads" "$tmp/sandbox" $kind "$big"
done
"$tmp/file" chill "$big"
helped "no_new_privs, after cold reads" "$tmp/sandbox" nnp "$big"

# Somebody else has taken them away before: each kind of call, with every usual error.
all=io_uring_setup,perf_event_open,fadvise64,madvise,preadv2,mincore,cachestat
all=$all,close_range,pidfd_getfd,sched_setaffinity,sched_setscheduler,prctl
for error in EPERM ENOSYS EACCES EINVAL ENOMEM EAGAIN; do
	"$tmp/file" chill "$big"
	wcmp "all optional calls: $error" "$tmp/forbid" $error "$all" "$tmp/reader" "$big" 8
done
for call in $(echo "$all,readahead" | tr ',' ' '); do
	"$tmp/file" chill "$big"
	wcmp "$call: EPERM" "$tmp/forbid" EPERM "$call" "$tmp/reader" "$big" 8
done
for engine in helper inline; do
	"$tmp/file" chill "$big"
	wcmp "all optional calls: EPERM, engine $engine" WILLNEED_ENGINE=$engine WILLNEED_IO=uring \
		"$tmp/forbid" EPERM "$all" "$tmp/reader" "$big" 8
done
for way in ride advise address; do
	"$tmp/file" chill "$big"
	wcmp "all optional calls: EPERM, way $way" WILLNEED_WAY=$way \
		"$tmp/forbid" EPERM "$all" "$tmp/reader" "$big" 8
done

# No thread can be had: the program's own thread asks.
"$tmp/file" chill "$big"
helped "no threads: EPERM" "$tmp/forbid" EPERM thread "$tmp/sandbox" plain "$big"
same "no threads: EPERM: helpers" "$(counter helper_starts)" 0
"$tmp/file" chill "$big"
helped "no threads: EAGAIN" "$tmp/forbid" EAGAIN thread "$tmp/sandbox" plain "$big"
# And one that is left, even so, is served.
"$tmp/file" chill "$big"
helped "no io_uring, perf, fadvise" "$tmp/forbid" ENOSYS \
	io_uring_setup,perf_event_open,fadvise64 "$tmp/reader" "$big" 8
"$tmp/file" chill "$big"
helped "no preadv2" "$tmp/forbid" EOPNOTSUPP preadv2 "$tmp/reader" "$big" 8

# Nothing is left by which the file could be opened again.
"$tmp/file" chill "$big"
wcmp "openat fails in the helper only" "$tmp/sandbox" noproc "$big"

# Another program's rights: the library sleeps, and believes nobody.
if is_root && have setpriv; then
	mkdir "$tmp/open"
	chmod 711 "$tmp"
	cp "$tmp/sandbox" "$WN_PRELOAD" "$WN_LIBRARY" "$tmp/open"
	chmod 4755 "$tmp/open/sandbox"
	chmod 777 "$tmp/open"
	for way in preload linked; do
		case $way in
		preload) place=$tmp/open/${WN_PRELOAD##*/} ;;
		linked)
			# The loader ignores a path in LD_PRELOAD then: link it instead.
			compile_as open/linked sandbox "$tmp/open/${WN_PRELOAD##*/}" \
				-Wl,--no-as-needed -Wl,-rpath,"$tmp/open"
			chmod 4755 "$tmp/open/linked"
			place=
			;;
		esac
		"$tmp/file" chill "$big"
		program=$tmp/open/sandbox
		[ $way = preload ] || program=$tmp/open/linked
		timeout 20 setpriv --reuid=12321 --clear-groups env LD_PRELOAD="$place" \
			WILLNEED_LOG="$tmp/open/log" WILLNEED_STATS="$tmp/open/stats" \
			WILLNEED_IO=nonsense "$program" secure "$big" >"$tmp/check.out" 2>&1
		result $? "set-uid, $way: one thread, and right" "$tmp/check.out"
		same "set-uid, $way: no file is written" \
			"$(find "$tmp/open" -name log -o -name stats)" ""
		same "set-uid, $way: no message" "$(grep willneed "$tmp/check.out")" ""
	done
else
	skip "set-uid programs" "not root, or no setpriv"
fi

if have bwrap; then
	wcmp "bubblewrap" bwrap --ro-bind / / --unshare-user true
else
	skip "bubblewrap" "not installed"
fi

# By strace, where even a real error would not come: the Nth call fails, not the first.
if ! have strace || ! strace -o "$tmp/s" true 2>"$tmp/strace.log"; then
	skip "calls that fail later" "strace does not work here"
else
	for call in madvise fadvise64 preadv2; do
		for when in 2+3 5; do
			"$tmp/file" chill "$big"
			strace -f -qq -o "$tmp/trace" -e trace=$call \
				-e inject=$call:error=EIO:when=$when \
				env LD_PRELOAD="$WN_PRELOAD" "$tmp/sandbox" plain "$big" \
				>"$tmp/check.out" 2>&1
			result $? "$call fails at $when" "$tmp/check.out"
		done
	done
	"$tmp/file" chill "$big"
	strace -f -qq -o "$tmp/trace" -e trace=futex -e inject=futex:error=EINTR:when=1+2 \
		env LD_PRELOAD="$WN_PRELOAD" "$tmp/sandbox" plain "$big" >"$tmp/check.out" 2>&1
	result $? "futex is interrupted" "$tmp/check.out"
fi
finish

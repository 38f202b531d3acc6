#!/bin/sh
# SPDX-License-Identifier: MIT
# Beside other preload libraries, in both orders, and before anybody is ready.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
need_scratch 64
make_file "$scratch/big" 24
big=$scratch/big
compile reader

# both DESCRIPTION LIBRARY COMMAND...: the same output in both orders as with it alone.
both()
{
	what=$1
	other=$2
	shift 2
	timeout 60 env LD_PRELOAD="$other" "$@" >"$tmp/bare.out" 2>&1
	expected=$?
	for order in "$WN_PRELOAD:$other" "$other:$WN_PRELOAD"; do
		"$tmp/file" chill "$big"
		timeout 60 env LD_PRELOAD="$order" "$@" >"$tmp/with.out" 2>&1
		status=$?
		[ $status -eq $expected ] || complain "$order: status $status, not $expected"
		cmp "$tmp/bare.out" "$tmp/with.out" >/dev/null 2>&1 ||
			complain "$order: $(head -n 5 "$tmp/with.out")"
	done
	verdict "$what"
}

with_library()
{
	both "$1: true" "$2" true
	both "$1: sh, cat" "$2" sh -c "cat $big | cksum; (exit 5)"
	both "$1: cold copies" "$2" "$tmp/reader" "$big" 8
}

# A constructor, and a malloc(), that run before ours.
compile_as early.so early -shared -fPIC
compile_as malloc.so malloc -shared -fPIC
with_library "early constructor" "$tmp/early.so"
with_library "malloc that maps" "$tmp/malloc.so"

for name in libjemalloc.so.2 libtcmalloc_minimal.so.4 libtcmalloc.so.4 libmimalloc.so.2 \
	libeatmydata.so libfakeroot/libfakeroot-sysv.so faketime/libfaketime.so.1 \
	nocache.so libheaptrack_preload.so; do
	path=
	for folder in /usr/lib/*-linux-gnu /usr/lib /usr/lib/*-linux-gnu/*; do
		[ -z "$path" ] && [ -e "$folder/$name" ] && path=$folder/$name
	done
	if [ -n "$path" ]; then
		with_library "${name##*/}" "$path"
	else
		skip "${name##*/}" "not installed"
	fi
done

# Often enough to see a race at start-up.
other=$tmp/malloc.so
i=0
while [ $i -lt 100 ]; do
	timeout 5 env LD_PRELOAD="$WN_PRELOAD:$other" /bin/true || complain "run $i: status $?"
	i=$((i + 1))
done
verdict "100 starts"

# An auditor, and the library named twice.
compile_as audit.so audit -shared -fPIC
wcmp "LD_AUDIT" LD_AUDIT="$tmp/audit.so" "$tmp/reader" "$big" 8
check "preloaded twice" env LD_PRELOAD="$WN_PRELOAD $WN_PRELOAD" "$tmp/reader" "$big" 8

if have fakeroot; then
	wcmp "fakeroot" fakeroot sh -c "id -u; touch $scratch/f; stat -c %u $scratch/f"
else
	skip "fakeroot" "not installed"
fi

# A sanitizer wants to come first; the launcher of the build stands aside for it.
launcher=$WN_BUILDDIR/willneed
if [ ! -x "$launcher" ]; then
	skip "a program built with ASan" "this build has no willneed"
elif ! compile_as asan reader -fsanitize=address 2>/dev/null; then
	skip "a program built with ASan" "the compiler has none"
else
	bare "$tmp/asan" "$big" 8 >"$tmp/bare.out" 2>&1
	expected=$?
	timeout 60 "$launcher" "$tmp/asan" "$big" 8 >"$tmp/with.out" 2>&1
	status=$?
	[ $status -eq $expected ] || complain "status $status, not $expected"
	cmp "$tmp/bare.out" "$tmp/with.out" >>"$tmp/complaints" 2>&1
	grep -i asan "$tmp/with.out" >>"$tmp/complaints"
	verdict "a program built with ASan"
fi
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# fork, vfork, posix_spawn, clone: children that copy, and parents that go on.

# shellcheck source=tests/preload/preload.sh
# shellcheck disable=SC2016  # programs for other shells stand in single quotes
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
need_scratch 200
make_file "$scratch/big" 64
big=$scratch/big
compile children

for kind in fork busy clone vfork spawn nested inherit; do
	"$tmp/file" chill "$big"
	helped "$kind" "$tmp/children" $kind "$big"
done
wcmp "a shell that forks" sh -c 'i=0; while [ $i -lt 200 ]; do i=$((i + 1)); (exit $i); done; echo $?'
finish

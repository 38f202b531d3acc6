#!/bin/sh
# SPDX-License-Identifier: MIT
# Mappings: made, moved, replaced and removed in every way, with the content checked.

# shellcheck source=tests/preload/preload.sh
. "${WN_SRCDIR:?}/tests/preload/preload.sh"
need_scratch 200
compile fuzz
compile maps
for name in a b c; do
	make_file "$scratch/$name" 12
done
make_file "$scratch/big" 64
big=$scratch/big

for seed in 1 2 3; do
	for name in a b c; do
		"$tmp/file" chill "$scratch/$name"
	done
	helped "fuzz, seed $seed" "$tmp/fuzz" $seed 3000 "$scratch/a" "$scratch/b" "$scratch/c"
done
wcmp "fuzz, the same as bare" "$tmp/fuzz" 4 2000 "$scratch/a" "$scratch/b" "$scratch/c"

"$tmp/file" chill "$big"
helped "private pages that were written stay" "$tmp/maps" private "$big"
"$tmp/file" chill "$big"
helped "the address is used again, unseen" "$tmp/maps" unseen "$big"
wcmp "a mapping much larger than its file" "$tmp/maps" larger "$scratch/small"
wcmp "more mappings than any table has room for" "$tmp/maps" many "$scratch/a"
"$tmp/file" chill "$big"
# Whether any of them finds the file cold and the table free is up to the machine.
# shellcheck disable=SC2317  # it is called by check
by_threads()
{
	for _ in 1 2 3 4 5; do
		"$tmp/file" chill "$big"
		rm -f "$tmp/stats"
		with WILLNEED_STATS="$tmp/stats" "$tmp/maps" threads "$big" || return 1
		[ "$(counter asked_bytes)" -gt 0 ] && return
	done
	echo "the library asked for nothing, five times"
	return 1
}

check "mapped and unmapped by 4 threads" by_threads
wcmp "a memfd can be sealed" "$tmp/maps" seal
wcmp "what is no file on a disk" "$tmp/maps" others
for kind in seal others; do
	rm -f "$tmp/stats"
	with WILLNEED_STATS="$tmp/stats" "$tmp/maps" $kind >/dev/null 2>&1
	same "$kind: bytes asked for" "$(counter asked_bytes)" 0
done

if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ -w /dev/shm ]; then
	shm=$(mktemp /dev/shm/willneed-test.XXXXXX)
	make_file "$shm" 16
	compile reader
	with WILLNEED_STATS="$tmp/stats" "$tmp/reader" "$shm" 4 >/dev/null 2>"$tmp/check.out"
	result $? "tmpfs" "$tmp/check.out"
	same "tmpfs: bytes asked for" "$(counter asked_bytes)" 0
	rm -f "$shm"
else
	skip "tmpfs" "no /dev/shm that can be written"
fi

# A file of the lower layer, then copied up by a writer, while it is mapped.
layers=$scratch/layers
mkdir -p "$layers/low" "$layers/up" "$layers/work" "$layers/all"
make_file "$layers/low/f" 32
if ! is_root; then
	skip "overlayfs" "not root"
elif ! mount -t overlay overlay -o \
	"lowerdir=$layers/low,upperdir=$layers/up,workdir=$layers/work" "$layers/all" \
	2>"$tmp/mount.log"; then
	skip "overlayfs" "cannot be mounted: $(head -n 1 "$tmp/mount.log")"
else
	mounts="$layers/all $mounts"
	"$tmp/file" chill "$layers/low/f"
	helped "overlayfs" "$tmp/maps" plain "$layers/all/f"
	"$tmp/file" chill "$layers/low/f"
	helped "overlayfs: copied up while it is mapped" "$tmp/maps" copyup "$layers/all/f"
fi
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# Thread-local storage: little of it, and reached without calling the loader, whose
# __tls_get_addr may allocate.  And few segments: each costs page faults at start-up.

. "${WN_SRCDIR:?}/tests/lint/lint.sh"

total=0
for object in "$WN_LIBRARY" "$WN_PRELOAD"; do
	name=${object##*/}
	segments=$(readelf -lW "$object" | grep -c '^  LOAD ')
	looked "$segments" 1 "segments of $name"
	check "$name has at most 3 segments" "$([ "$segments" -le 3 ] || echo "$segments")"

	size=$(readelf -lW "$object" | awk '$1 == "TLS" { print $6 }')
	total=$((total + ${size:-0}))

	relocations=$(readelf -rW "$object" | grep -c 'R_[A-Z0-9]*_')
	looked "$relocations" 1 "relocations of $name"
	check "$name reaches its thread-local storage by the initial-exec model" \
		"$(readelf -rW "$object" | grep -E 'DTPMOD|DTPOFF|TLSDESC'
		nm -D --undefined-only "$object" | grep '__tls_get_addr')"
done
check "at most 64 bytes of thread-local storage in both together" \
	"$([ "$total" -le 64 ] || echo "$total bytes")"
finish

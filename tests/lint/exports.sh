#!/bin/sh
# SPDX-License-Identifier: MIT
# What the two shared objects offer is exactly what their lists say.

. "${WN_SRCDIR:?}/tests/lint/lint.sh"
tmp=${WN_TMPDIR:?}

nm -D --defined-only "$WN_LIBRARY" | awk '$2 != "A" { print $3 }' | sort >"$tmp/library"
nm -D --defined-only "$WN_PRELOAD" | awk '$2 != "A" { print $3 }' | sort >"$tmp/preload"
nm -D --undefined-only "$WN_PRELOAD" | awk '{ print $2 }' | sed 's/@.*//' |
	grep '^wn_' | sort >"$tmp/private"
public_functions | sort >"$tmp/public"
wrappers | sort >"$tmp/wrappers"

looked "$(wc -l <"$tmp/library")" 10 "exports of the library"
looked "$(wc -l <"$tmp/preload")" 10 "exports of the preload object"
looked "$(wc -l <"$tmp/public")" 10 "functions of willneed.h"
looked "$(wc -l <"$tmp/wrappers")" 10 "lines of wrappers.def"

sed 's/@.*//' "$tmp/library" >"$tmp/names"
check "every function of willneed.h is exported" \
	"$(comm -23 "$tmp/public" "$tmp/names")"
# What is private may be exported for one reason only: the preload object calls it.
check "the library exports nothing else but what the preload object needs" \
	"$(comm -13 "$tmp/public" "$tmp/names" | comm -23 - "$tmp/private")"
check "every export of the library has a version" \
	"$(grep -v '@@WILLNEED' "$tmp/library")"
check "private exports stand in a version node of their own" \
	"$(grep '^wn_' "$tmp/library" | grep -v '@@WILLNEED_PRIVATE')"

check "every wrapper is exported" "$(comm -23 "$tmp/wrappers" "$tmp/preload")"
check "the preload object exports wrappers only" \
	"$(comm -13 "$tmp/wrappers" "$tmp/preload")"
# The loader skips a definition whose version differs from the one a program asks for.
check "the preload object has no symbol versions" "$(grep '@' "$tmp/preload")"
finish

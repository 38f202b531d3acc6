#!/bin/sh
# SPDX-License-Identifier: MIT
# What the two shared objects offer is exactly what their lists say.

. "${WN_SRCDIR:?}/tests/lint/lint.sh"
tmp=${WN_TMPDIR:?}

nm -D --defined-only "$WN_LIBRARY" | awk '$2 != "A" { print $3 }' | sort >"$tmp/library"
nm -D --defined-only "$WN_PRELOAD" | awk '$2 != "A" { print $3 }' | sort >"$tmp/preload"
public_functions | sort >"$tmp/public"
wrappers | sort >"$tmp/wrappers"

looked "$(wc -l <"$tmp/library")" 10 "exports of the library"
looked "$(wc -l <"$tmp/preload")" 10 "exports of the preload object"
looked "$(wc -l <"$tmp/public")" 10 "functions of willneed.h"
looked "$(wc -l <"$tmp/wrappers")" 10 "lines of wrappers.def"

sed 's/@.*//' "$tmp/library" >"$tmp/names"
check "every function of willneed.h is exported" \
	"$(comm -23 "$tmp/public" "$tmp/names")"
check "the library exports nothing else" "$(comm -13 "$tmp/public" "$tmp/names")"
check "every export of the library has a version" \
	"$(grep -v '@@WILLNEED_0' "$tmp/library")"

check "every wrapper is exported" "$(comm -23 "$tmp/wrappers" "$tmp/preload")"
# The public functions, so that a program which is linked to the library and preloaded has
# one engine at work.
sort "$tmp/wrappers" "$tmp/public" >"$tmp/offered"
check "the preload object exports the wrappers and the public functions only" \
	"$(comm -3 "$tmp/offered" "$tmp/preload")"
# The loader skips a definition whose version differs from the one a program asks for.
check "the preload object has no symbol versions" "$(grep '@' "$tmp/preload")"
finish

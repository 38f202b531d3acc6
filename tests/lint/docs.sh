#!/bin/sh
# SPDX-License-Identifier: MIT
# What the headers and tables declare is what the manual and the program tell.

. "${WN_SRCDIR:?}/tests/lint/lint.sh"

page7=$WN_BUILDDIR/man/libwillneed.7
[ -f "$page7" ] || page7=man/libwillneed.7

# missing FILE: those of the words on standard input that FILE does not have.
missing()
{
	sed 's/\\-/-/g; s/\\&//g' "$1" >"$WN_TMPDIR/plain"
	while read -r word; do
		grep -qw -- "$word" "$WN_TMPDIR/plain" || echo "$word is not in $1"
	done
}

looked "$(public_functions | wc -l)" 10 "public functions"
check "every public function has a page" \
	"$(public_functions | while read -r name; do
		[ -s "man/$name.3" ] || echo "no man/$name.3"
	done)"
check "every public function is named in willneed(3)" \
	"$(public_functions | missing man/willneed.3)"
check "every page in section 3 is about a public function" \
	"$(for page in man/willneed_*.3; do
		name=${page#man/}
		public_functions | grep -qx "${name%.3}" || echo "$page"
	done)"

looked "$(settings | wc -l)" 10 "settings"
looked "$(grep -c 'WN_OPTION(' lib/options.def)" "$(settings | wc -l)" "WN_OPTION lines"
check "every setting is in libwillneed(7)" "$(settings | missing "$page7")"
if [ -x "$WN_BUILDDIR/willneed" ]; then
	"$WN_BUILDDIR/willneed" --help-options >"$WN_TMPDIR/options" 2>&1
	check "every setting is in willneed --help-options" \
		"$(settings | missing "$WN_TMPDIR/options")"
	"$WN_BUILDDIR/willneed" bench --help | grep -oE -- '--[a-z-]{3,}' | sort -u \
		>"$WN_TMPDIR/bench"
	looked "$(wc -l <"$WN_TMPDIR/bench")" 15 "options of willneed bench"
	check "every option of willneed bench is in willneed(1)" \
		"$(sed 's/^-//' "$WN_TMPDIR/bench" | while read -r option; do
			grep -qE -- "(Fl|[,|]) $option( |\$)" man/willneed.1 || echo "$option"
		done)"
else
	skip "every setting is in willneed --help-options" "built without the program"
fi

version=$(sed -n 's/^AC_INIT(\[willneed\], \[\(.*\)\])$/\1/p' configure.ac)
check "NEWS begins with the version of configure.ac" \
	"$([ "$(head -n 1 NEWS)" = "willneed $version" ] || head -n 1 NEWS)"

# The words that the log prints, as far as they are in the source as text.
grep -hoE 'wn_(text_add|log|tell)[a-z_]*\(.*|, " [a-z :]*"|tell\(w, u, .*' lib/engine_log.c lib/verdict.c \
	lib/watch/watch.c lib/helper.c lib/fetch.c lib/runtime.c | grep -oE '"[^"]*"' |
	grep -oE '[a-z_]{3,}' | sort -u >"$WN_TMPDIR/words"
looked "$(wc -l <"$WN_TMPDIR/words")" 15 "words of the log"
check "the words of the log are in libwillneed(7)" "$(missing "$page7" <"$WN_TMPDIR/words")"
sed -n 's/^WN_REASON([A-Z_]*, "\([^"]*\)".*/\1/p' lib/why.def >"$WN_TMPDIR/reasons"
looked "$(wc -l <"$WN_TMPDIR/reasons")" 15 "reasons"
check "every reason is in libwillneed(7)" "$(while read -r reason; do
	grep -qxF ".It Ql $reason" "$page7" || echo "$reason"
done <"$WN_TMPDIR/reasons")"

looked "$(counters | wc -l)" 10 "counters"
check "every counter is in libwillneed(7)" "$(counters | missing "$page7")"
finish

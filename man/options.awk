# SPDX-License-Identifier: MIT
#
# Writes the generated parts of libwillneed(7): settings, counters and reasons are declared
# once, in C, and the manual must not be a second list of them.
#
#	awk -f options.awk options.def willneed-counters.h why.def libwillneed.7.in
#
# The last file is the page: @OPTIONS@, @COUNTERS@ and @REASONS@, each alone on a line, are replaced
# by the items of a tagged list, everything else is copied.  The files before it are C and
# may come in any order.  POSIX awk only: mawk, gawk and busybox must agree on the output.
# Whatever is not understood ends the run with status 1, so that no page is made from it.

function fail(message)
{
	print "options.awk: " message | "cat 1>&2"
	close("cat 1>&2")
	failed = 1
	exit 1
}

# --- C: calls of the three macros, with their arguments in arg[1..nargs] ---

# A character at a time, because strings may hold commas, parentheses and "/*".
function scan(line,	i, c, pair)
{
	for (i = 1; i <= length(line); i++) {
		c = substr(line, i, 1)
		pair = substr(line, i, 2)
		if (in_comment) {
			if (pair == "*/") {
				in_comment = 0
				i++
			}
		} else if (in_string && c == "\\") {
			if (pair !~ /^\\["\\]$/)
				fail(where() ": only \\\" and \\\\ are understood in strings")
			take(substr(line, ++i, 1))
		} else if (c == "\"") {
			in_string = !in_string
		} else if (in_string) {
			take(c)
		} else if (pair == "/*") {
			in_comment = 1
			i++
		} else if (pair == "//") {
			break
		} else {
			scan_code(c)
		}
	}
	if (in_string)
		fail(where() ": a string does not end on its line")
}

function scan_code(c)
{
	if (macro == "") {
		scan_name(c)
	} else if (c == ",") {
		nargs++
	} else if (c == ")") {
		finish_call()
		macro = ""
	} else if (c == "(") {
		fail(where() ": parentheses inside " macro "() are not understood")
	} else if (c != " " && c != "\t") {
		take(c)
	}
}

function scan_name(c)
{
	if (c ~ /[A-Za-z0-9_]/) {
		name = name c
		return
	}
	if (c == "(" && name ~ /^(WN_OPTION|WN_REASON|WILLNEED_COUNTER)$/) {
		macro = name
		nargs = 1
		split("", arg)
	}
	name = ""
}

function take(c)
{
	if (macro != "")
		arg[nargs] = arg[nargs] c
}

function where()
{
	return FILENAME ":" FNR
}

function finish_call()
{
	if (macro == "WN_OPTION") {
		if (nargs != 8)
			fail(where() ": WN_OPTION() needs 8 arguments, not " nargs)
		noptions++
		options = options option_item()
	} else if (macro == "WN_REASON") {
		if (nargs != 3)
			fail(where() ": WN_REASON() needs 3 arguments, not " nargs)
		nreasons++
		reasons = reasons ".It Ql " quote(arg[2]) "\n" prose(arg[3])
	} else {
		if (nargs != 2)
			fail(where() ": WILLNEED_COUNTER() needs 2 arguments, not " nargs)
		ncounters++
		counters = counters ".It Va " quote(arg[1]) "\n" prose(arg[2])
	}
}

# --- mdoc ---

# What roff would take for its own.
function quote(text,	out, i, c)
{
	for (i = 1; i <= length(text); i++) {
		c = substr(text, i, 1)
		out = out (c == "\\" ? "\\e" : c == "\"" ? "\\(dq" : c)
	}
	return out
}

# Fills lines, and begins each sentence on a new one, as mdoc asks.
function prose(text,	words, n, i, word, line, out)
{
	n = split(text, words, " ")
	for (i = 1; i <= n; i++) {
		word = quote(words[i])
		if (line != "" && length(line) + 1 + length(word) > 76) {
			out = out line "\n"
			line = ""
		}
		if (line != "")
			line = line " " word
		else
			line = (word ~ /^[.']/ ? "\\&" : "") word
		if (word ~ /[.?!][)]?$/ || i == n) {
			out = out line "\n"
			line = ""
		}
	}
	return out
}

function option_item(	tag, values, range)
{
	if (arg[7] != "ANY" && arg[7] != "START")
		fail(where() ": " arg[1] " can be set at " arg[7] ", not START or ANY")
	tag = ".It Ev " quote(arg[3]) " Ns = Ns "
	if (arg[4] == "CHOICE") {
		if (arg[6] !~ /^[a-z0-9_]+([|][a-z0-9_]+)+$/)
			fail(where() ": " arg[1] " allows " arg[6] ", not words between bars")
		values = arg[6]
		gsub(/[|]/, " | ", values)
		tag = tag "Cm " values
		values = "one of these words"
	} else if (arg[4] == "SIZE" || arg[4] == "NUMBER") {
		if (split(arg[6], range, "-") != 2)
			fail(where() ": " arg[1] " allows " arg[6] ", not MIN-MAX")
		tag = tag "Ar " (arg[4] == "SIZE" ? "size" : "number")
		values = (arg[4] == "SIZE" ? "a size" : "a number") " from " \
			 range[1] " to " range[2]
	} else if (arg[4] == "TEXT") {
		tag = tag "Ar text"
		values = arg[6]
	} else {
		fail(where() ": " arg[1] " has the unknown type " arg[4])
	}
	return tag "\n" prose(arg[8]) ".Bl -column -compact \"Setting:\" \"value\"\n" \
	       row("Setting:", ".Cm " arg[2]) row("Value:", quote(values)) \
	       row("Default:", arg[5] == "" ? "unset" : ".Cm " quote(arg[5])) \
	       row("Change:", arg[7] == "ANY" ? "at any time" : "only in the environment") \
	       ".El\n"
}

# A cell that begins with a dot is a macro, called on the row's own line.
function row(title, cell)
{
	return ".It " title " Ta " (cell ~ /^[.]/ ? substr(cell, 2) : cell) "\n"
}

# --- the page ---

FILENAME != ARGV[ARGC - 1] {
	if (in_comment || macro != "" || $0 !~ /^[ \t]*#/)
		scan($0 " ")
	next
}

# A lint that looked at nothing must not pass, and neither must half a call.
FNR == 1 {
	if (macro != "" || in_comment)
		fail("the file before " FILENAME " ends inside a call or comment")
	if (noptions == 0 || ncounters == 0 || nreasons == 0)
		fail("no options, no counters or no reasons were found")
}

$0 == "@OPTIONS@" {
	printf "%s", options
	seen_options++
	next
}

$0 == "@COUNTERS@" {
	printf "%s", counters
	seen_counters++
	next
}

$0 == "@REASONS@" {
	printf "%s", reasons
	seen_reasons++
	next
}

{ print }

END {
	if (!failed && (seen_options != 1 || seen_counters != 1 || seen_reasons != 1))
		fail("the page must hold @OPTIONS@, @COUNTERS@ and @REASONS@ once each")
}

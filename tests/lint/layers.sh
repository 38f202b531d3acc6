#!/bin/sh
# SPDX-License-Identifier: MIT
# Data flows one way: a room includes what stands on its own line or on one above.

. "${WN_SRCDIR:?}/tests/lint/lint.sh"

# The house, from the cellar up.  A folder is named with a slash, a file without its
# suffix; the public headers and config.h may be included from everywhere.
rooms='
base/
flow options stats log
ring track/ watch/ pieces marks
stream walk walk_read stride whole
policy cover filesystems devices why verdict
engine engine_log find ride seed advise uring
runtime loop serve fetch faults helper copy watch api request repeat drop letgo ahead lead written exact reads lease due
front/
'

found=$(cd lib && find . -name '*.[ch]' -exec grep -H '^[ 	]*#[ 	]*include[ 	]*"' {} + |
	sed 's,^\./,,; s/:[^"]*"/ /; s/".*//' |
	awk -v rooms="$rooms" '
	# The line of the table that a file stands on; 0 if it is in none.
	function level(file,	dir, key) {
		dir = file
		if (sub(/\/.*/, "/", dir))
			key = dir
		else {
			key = file
			sub(/\.[a-z]+$/, "", key)
		}
		return key in rank ? rank[key] : 0
	}
	BEGIN {
		lines = split(rooms, line, "\n")
		for (i = 1; i <= lines; i++) {
			n = split(line[i], word, " ")
			for (j = 1; j <= n; j++)
				rank[word[j]] = i
		}
	}
	{
		seen++
		from = $1
		to = $2
		if (to ~ /^(config|willneed|willneed-counters)\.h$/)
			next
		# A neighbour may be named without its folder, as the compiler allows.
		if (to !~ /\// && from ~ /\// && !level(to)) {
			dir = from
			sub(/\/[^\/]*$/, "/", dir)
			to = dir to
		}
		sub(/^\.\.\//, "", to)
		if (!level(from))
			print from " is in no line of the table in layers.sh"
		else if (!level(to))
			print to ", included by " from ", is in no line of the table"
		else if (level(to) > level(from))
			print from " includes " to ", which is above it"
	}
	END { print "seen " seen + 0 }')

looked "${found##*seen }" 20 "includes"
check "no room includes one that is above it" "$(echo "$found" | sed '/^seen /d')"
finish

# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# For the scripts beside it: TAP, with the plan at the end.  A lint calls check for each
# thing it looked at, and finish; one that looked at fewer than it must has failed, since
# a search in the wrong place finds nothing wrong.

LC_ALL=C
export LC_ALL
set -u
count=0
cd "${WN_SRCDIR:?this script is run by make check}" || exit 99

# check DESCRIPTION FINDINGS: fine when FINDINGS is empty.
check()
{
	count=$((count + 1))
	if [ -z "$2" ]; then
		echo "ok $count - $1"
		return
	fi
	echo "not ok $count - $1"
	printf '%s\n' "$2" | sed 's/^/#   /'
}

skip()
{
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

# looked NUMBER MINIMUM WHAT: did we look at anything?
looked()
{
	finding=
	[ "$1" -ge "$2" ] || finding="saw $1 $3, expected $2 at least"
	check "looked at $1 $3" "$finding"
}

finish()
{
	echo "1..$count"
	exit 0
}

# The names of the public functions, from the header that declares them.
public_functions()
{
	sed -n 's/^[a-z].*[ *]\(willneed_[a-z0-9_]*\)(.*/\1/p' include/willneed.h
}

counters()
{
	sed -n 's/^WILLNEED_COUNTER(\([a-z0-9_]*\),.*/\1/p' include/willneed-counters.h
}

# The environment names of the settings.
settings()
{
	sed -n 's/^WN_OPTION([A-Z0-9_]*, "[a-z0-9_]*", "\([A-Z0-9_]*\)",.*/\1/p' \
		lib/options.def
}

# The names that the preload library takes over.
wrappers()
{
	sed -n 's/^WN_\(NEXT\|ALIAS\)(\([a-zA-Z0-9_]*\))$/\2/p' lib/front/wrappers.def
}

# C sources of the given folders.
sources()
{
	find "$@" -name '*.[ch]' | sort
}

#!/bin/sh
# SPDX-License-Identifier: MIT
# The public header compiles alone, in every language it promises, without a warning.

. "${WN_SRCDIR:?}/tests/lint/lint.sh"

# try COMPILER LANGUAGE STANDARD
try()
{
	what="willneed.h is $3 for $1"
	if ! command -v "${1%% *}" >/dev/null; then
		skip "$what" "no ${1%% *} here"
		return
	fi
	seen=$((seen + 1))
	# shellcheck disable=SC2086  # CC may be a command with its arguments
	check "$what" "$(echo '#include <willneed.h>' |
		$1 -x "$2" "-std=$3" -pedantic -Wall -Wextra -Werror -Iinclude \
			-fsyntax-only - 2>&1 || echo "exit status $?")"
}

seen=0
for compiler in "${CC:-cc}" gcc clang; do
	try "$compiler" c c89
	try "$compiler" c c17
done
for compiler in g++ clang++; do
	try "$compiler" c++ c++98
	try "$compiler" c++ c++17
done
looked "$seen" 4 "compilers and standards"
finish

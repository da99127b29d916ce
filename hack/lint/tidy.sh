#!/bin/bash
# Runs clang-tidy on one C file: its analyzer mistakes va_list when it is given several.
#
#   hack/lint/tidy.sh FILE COMPILER-FLAG...
#
# A file takes up to seven seconds. A clean file is not checked again, in any checkout: the cache
# names it by a digest of all its input, with the comments, which can be NOLINT.
set -uo pipefail

file=$1
shift
clean=${XDG_CACHE_HOME:-$HOME/.cache}/nines/tidy
key=$({ clang-tidy --version && cat .clang-tidy && echo "$*" && clang -E -C -w "$@" "$file"; } | sha256sum) || exit
key=${key%% *}
[ ! -e "$clean/$key" ] || exit 0

status=0
out=$(clang-tidy --quiet "$file" -- "$@" 2>&1) || status=$?
# Its counts of warnings outside of the project are removed: parallel runs would mix their lines.
out=$(grep -vE '^[0-9]+ warnings? ' <<<"$out" || true)
if [ -n "$out" ] || [ $status -ne 0 ]; then
	echo "$file: clang-tidy ends with $status"$'\n'"$out"
	exit 1
fi
mkdir -p "$clean" && : >"$clean/$key"
# Those of files that have changed since.
find "$clean" -type f -mtime +60 -delete
exit 0

#!/bin/bash
# Regenerates the files that tests compare with: the golden files of every package whose tests have
# the flag -update, of test/golden, docs/reference/commands.md and tables of other documents. Read the difference before
# committing it.
set -euo pipefail
git grep -lE '"nines\.dev/nines/test/golden"|flag\.Bool\("update"' -- '*_test.go' | xargs -n1 dirname | sort -u | while read -r dir; do
	case $dir in
	cluster/*) hack/go -C cluster test "./${dir#cluster/}" -update </dev/null ;; # a module of its own
	*) hack/go test "./$dir" -update </dev/null ;;
	esac
done

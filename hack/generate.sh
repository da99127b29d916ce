#!/bin/bash
# Writes anew what tests compare with: the golden files of every package whose tests have
# the flag -update, of test/golden, docs/commands.md and tables of other documents. Read the difference before
# committing it.
set -euo pipefail
git grep -lE '"nines\.dev/nines/test/golden"|flag\.Bool\("update"' -- '*_test.go' | xargs -n1 dirname | sort -u | while read -r dir; do
	hack/go test "./$dir" -update </dev/null
done

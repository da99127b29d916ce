#!/bin/bash
# Fuzzes with every Go fuzz target for as many seconds as the first argument says.
set -euo pipefail
seconds=${1:-5}
status=0
while IFS=': ' read -r file _ target; do
	if hack/go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "${seconds}s" -fuzzminimizetime 10x -parallel 2; then
		echo "fuzz: PASS $target"
	else
		echo "fuzz: FAIL $target"
		status=1
	fi
done < <(git grep -oE "^func Fuzz[A-Za-z0-9_]+" -- "*_test.go")
exit $status

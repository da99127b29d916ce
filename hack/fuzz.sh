#!/bin/bash
# Fuzzes with every Go fuzz target, for as many runs as the first argument says.
# Runs, not seconds: up to Go 1.26 a run that the end of the time finds under way may be
# reported as a failure without an input ("context deadline exceeded", go.dev/issue/75804).
set -euo pipefail
runs=${1:-30000}
status=0
while IFS=': ' read -r file _ target; do
	module=. # cluster/ is a module of its own
	case $file in cluster/*) module=cluster file=${file#cluster/} ;; esac
	if hack/go -C "$module" test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "${runs}x" -fuzzminimizetime 10x -parallel 2; then
		echo "fuzz: PASS $target"
	else
		echo "fuzz: FAIL $target"
		status=1
	fi
done < <(git grep -oE "^func Fuzz[A-Za-z0-9_]+" -- "*_test.go")
exit $status

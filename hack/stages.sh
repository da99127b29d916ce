#!/bin/bash
# Runs make targets one after another, all of them even when one fails, and ends with a
# table of how long each took and how many tests passed and failed.
#
#   hack/stages.sh build test-unit
#
# Each stage's output is shown, and kept in build/stages/<stage>.log.
set -uo pipefail

logs=build/stages
mkdir -p "$logs"
rm -f "$logs"/*.log

# count prints "passed failed skipped" of a log: of gotestsum, of cmocka, of node's test
# runner, and of the PASS and FAIL lines of our own scripts.
count() {
	sed 's/\x1b\[[0-9;]*m//g' "$1" | awk '
		/^DONE [0-9]+ tests?/ {
			total = $2; bad = skip = 0
			for (i = 3; i < NF; i++) {
				if ($(i + 1) ~ /^failures?/) bad = $i
				if ($(i + 1) ~ /^skipped/) skip = $i
			}
			passed += total - bad - skip; failed += bad; skipped += skip
		}
		/^\[  (PASSED|FAILED|SKIPPED) +\] .*[0-9]+ test\(s\)/ {
			for (i = 4; i <= NF; i++) if ($i ~ /^test\(s\)/) n = $(i - 1)
			if ($2 == "PASSED") passed += n
			else if ($2 == "FAILED") failed += n
			else skipped += n
		}
		/^(#|ℹ) pass [0-9]+/ { passed += $3 }
		/^(#|ℹ) fail [0-9]+/ { failed += $3 }
		/^(#|ℹ) skipped [0-9]+/ { skipped += $3 }
		/^[a-z]+( [a-z0-9]+)?: PASS / { passed++ }
		/^[a-z]+( [a-z0-9]+)?: FAIL / { failed++ }
		END { print passed + 0, failed + 0, skipped + 0 }'
}

status=0
table=()
row() { table+=("$(printf '%-12s %-6s %7s %8s %8s %8s' "$@")"); }
row stage result seconds passed failed skipped
for stage in "$@"; do
	echo "== make $stage"
	begin=$SECONDS
	result=ok
	if ! make "$stage" </dev/null 2>&1 | tee "$logs/$stage.log"; then
		result=FAILED
		status=1
	fi
	read -r passed failed skipped < <(count "$logs/$stage.log")
	row "$stage" "$result" $((SECONDS - begin)) "$passed" "$failed" "$skipped"
	# Without these nothing after can work.
	case $stage:$result in setup*:FAILED | build:FAILED) break ;; esac
done
echo
printf '%s\n' "${table[@]}"
exit $status

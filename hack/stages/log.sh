# shellcheck shell=bash
# What hack/stages.sh reads from the log of a stage.

# count prints "passed failed again skipped" of a log: of gotestsum, of cmocka, of node's
# test runner, and of the PASS and FAIL lines of our own scripts. "again" is what failed
# and passed when it was run once more (hack/gotest.sh, test/vm).
count() {
	sed 's/\x1b\[[0-9;]*m//g' "$1" | awk '
		/^again: / { second = 1 }
		/^DONE [0-9]+ tests?/ {
			bad = skip = 0
			for (i = 3; i < NF; i++) {
				if ($(i + 1) ~ /^failures?/) bad = $i
				if ($(i + 1) ~ /^skipped/) skip = $i
			}
			if (second) { # of the tests that the line before has counted
				now = bad < first ? first - bad : 0
				passed += now; again += now; failed += bad - first
				second = 0
			} else {
				passed += $2 - bad - skip; failed += bad; skipped += skip
			}
			first = bad
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
		/^[a-z]+( [a-z0-9]+)?: AGAIN / { again++ }
		END { print passed + 0, failed + 0, again + 0, skipped + 0 }'
}

# left_out prints which tests the stages left out, and without what (test/passes). Their logs are named without .log.
left_out() {
	cat "${@/%/.log}" 2>/dev/null | sed 's/\x1b\[[0-9;]*m//g' | grep '^left out without ' | sort -u
}

# failures prints what failed in a log, each with some of its last lines: gotestsum's
# summary (of a panic, its first lines), the lines of failure of cmocka, node and our own
# scripts; of a stage that ended otherwise, the end of its log.
failures() {
	local log=$1 keep=$2
	sed 's/\x1b\[[0-9;]*m//g' "$log" | awk -v keep="$keep" '
		function flush(  i) {
			if (name == "") return
			print "  " name
			for (i = panic || n < keep ? 0 : n - keep; i < n && (!panic || i < keep); i++)
				print "    " lines[i]
			name = ""; n = panic = 0; found = 1
		}
		/^=== FAIL: / { flush(); name = substr($0, 11); next }
		/^[a-z]+( [a-z0-9]+)?: AGAIN / { flush(); name = $0; next }
		/^(DONE [0-9]+ test|=== )/ { flush() }
		name != "" && /^panic: / { panic = 1; n = 0 }
		name != "" { if ($0 ~ /[^ ]/) lines[n++] = $0; next }
		/^\[  FAILED +\] [^ ]+$/ || /^[a-z]+( [a-z0-9]+)?: FAIL / || /^(not ok|✖) [^ ]/ { print "  " $0; found = 1 }
		{ last[NR % 10] = $0 }
		END {
			flush()
			for (i = NR - 9; !found && i <= NR; i++)
				if (i > 0) print "  " last[i % 10]
		}'
}

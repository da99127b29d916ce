#!/bin/bash
# Fuzzes with every Go fuzz target, for as many runs as the first argument says.
# Runs, not seconds: up to Go 1.26 a run that is interrupted at the end of the time may be
# reported as a failure without an input ("context deadline exceeded", go.dev/issue/75804).
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
runs=${1:-10000}
fuzzing=(-fuzztime "${runs}x" -fuzzminimizetime 10x -parallel 2)

# fuzz runs one target. Coverage guides it: go compiles the package and all that it imports once more, with
# counters. Where that would be much of Kubernetes, the tests run as they are, without that guidance.
fuzz() {
	local module=$1 package=$2 target=$3 imported own
	imported=$(hack/go -C "$module" list -deps -test "$package") || return
	if (($(grep -c '^k8s\.io/' <<<"$imported") < 50)); then
		hack/go -C "$module" test "$package" -run '^$' -fuzz "^$target\$" "${fuzzing[@]}"
		return
	fi
	own=$root/build/fuzz/$module/$package
	mkdir -p "$own" &&
		hack/go -C "$module" test -c -vet off -ldflags '-s -w' -o "$own/fuzz.test" "$package" &&
		(cd "$module/$package" && "$own/fuzz.test" -test.run '^$' -test.fuzz "^$target\$" "${fuzzing[@]/#-/-test.}" -test.fuzzcachedir "$own")
}

trap 'exit 130' INT
status=0
while IFS=': ' read -r file _ target; do
	module=. # cluster/ is a module of its own
	case $file in cluster/*) module=cluster file=${file#cluster/} ;; esac
	if fuzz "$module" "./$(dirname "$file")" "$target"; then
		echo "fuzz: PASS $target"
	else
		echo "fuzz: FAIL $target"
		status=1
	fi
done < <(git grep -oE "^func Fuzz[A-Za-z0-9_]+" -- "*_test.go")
exit $status

#!/bin/bash
# Runs Go tests by gotestsum, with what go test is to be told. If a few packages fail, all
# their tests are run once more: a host that takes a core away for milliseconds fails some
# of thousands. What then passes counts as passed, but hack/stages.sh tells of it.
#
#   hack/gotest.sh [flag of gotestsum]... -- [flag of go test]...
set -uo pipefail

most=3 # packages that may fail and be run again
events=$(mktemp)
trap 'rm -f "$events"' EXIT
trap 'exit 130' INT TERM
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	options+=("$1")
	shift
done
shift

# run runs the tests of packages.
run() {
	hack/go tool -modfile=hack/tools/go.mod gotestsum --format pkgname-and-test-fails \
		--jsonfile "$events" "${options[@]}" -- "${flags[@]}" "$@"
}

flags=("$@")
run ./... && exit
# A package that fails has an event of its own, without the name of a test.
mapfile -t failed < <(sed -n '/"Test":/d; s/.*"Action":"fail","Package":"\([^"]*\)".*/\1/p' "$events" | sort -u)
if [ ${#failed[@]} -eq 0 ] || [ ${#failed[@]} -gt $most ]; then
	exit 1
fi
echo "again: ${failed[*]}"
flags+=(-count=1)
run "${failed[@]}"

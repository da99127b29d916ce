#!/bin/bash
# Runs a pass of the Go tests (test/passes) and shows it by gotestsum. If a few tests fail,
# they are run once more, alone: a host that takes a core away for milliseconds fails some
# of thousands. What then passes counts as passed, but hack/stages.sh tells of it.
#
#   hack/gotest.sh [flag of gotestsum]... -- [flag of passes]... pure|root|host|quiet
set -uo pipefail

options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	options+=("$1")
	shift
done
shift
pass=${*: -1}
flags=("${@:1:$#-1}")
passes=build/passes

# show runs a pass, and keeps its events beside its log.
show() {
	"$gotestsum" --format pkgname-and-test-fails \
		--jsonfile "build/tests/$pass$again.events" "${options[@]}" --raw-command -- "$passes" "${flags[@]}" "$@" "$pass"
}

hack/go build -o $passes ./test/passes && mkdir -p build/tests || exit
# Its path: `go tool` exits with 0 if the tool is killed.
gotestsum=$(hack/go tool -modfile=hack/tools/go.mod -n gotestsum) || exit
again=
show && exit
failed=$("$passes" failed "$pass") || exit 1
echo "again: $failed"
again=-again
show again

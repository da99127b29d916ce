#!/bin/bash
# Runs a pass of the Go tests (test/passes) and shows it by gotestsum. If a few tests fail,
# they are run once more, alone: a host that takes a core away for milliseconds makes a
# few of thousands fail. A test that then passes counts as passed, but hack/stages.sh reports it.
# Tests of a guarantee (labtest.Guarantee) have failed for good: passes tells them from the others.
#
#   hack/gotest.sh [flag of gotestsum]... -- [flag of passes]... pure|root|host|quiet|pure root
set -uo pipefail
trap 'exit 130' INT TERM # what Ctrl-C has ended did not fail, and is not run again

options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	options+=("$1")
	shift
done
shift
names=()
while [[ "${*: -1}" =~ ^(pure|root|host|quiet)$ ]]; do
	names=("${*: -1}" "${names[@]}")
	set -- "${@:1:$#-1}"
done
flags=("$@")
name=$(IFS=- && echo "${names[*]}")
passes=build/passes

# show runs a pass, and keeps its events beside its log.
show() {
	"$gotestsum" --format pkgname-and-test-fails \
		--jsonfile "build/tests/$name$again.events" "${options[@]}" --raw-command -- "$passes" "${flags[@]}" "$@" "${names[@]}"
}

hack/go build -o $passes ./test/passes && mkdir -p build/tests || exit
# Its path: `go tool` exits with 0 if the tool is killed.
gotestsum=$(hack/go tool -modfile=hack/tools/go.mod -n gotestsum) || exit
again=
show
status=$?
"$passes" "${flags[@]}" left-out "${names[@]}"
[ $status != 0 ] || exit 0
failed=$("$passes" "${flags[@]}" failed "${names[@]}") || exit 1
echo "again: $failed"
again=-again
show again

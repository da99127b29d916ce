#!/bin/bash
# Runs the tests of the module in cluster/ and shows them by gotestsum. If a few tests fail, they are
# run once more, alone, as hack/gotest.sh does it: a test that then passes counts as passed, but
# hack/stages.sh reports it. Tests of a guarantee (labtest.Guarantee) have failed for good.
set -uo pipefail
trap 'exit 130' INT TERM # what Ctrl-C has ended did not fail, and is not run again

cd "$(dirname "$0")/../cluster" || exit
events=$PWD/../build/tests/cluster # what go test -json says, without the ending
few=4
mkdir -p ../build/tests
# Its path: `go tool` exits with 0 if the tool is killed.
# Of each package. The long form makes a thousand pods, and kills the driver ten times: the kubelet takes a
# minute after each to call the new one.
most=60m
[ -z "${NINES_LONG:-}" ] || most=240m
gotestsum=$(../hack/go tool -modfile=../hack/tools/go.mod -n gotestsum) || exit

# A debugger's data would double the linker's time, and lint-cluster runs vet.
show() {
	"$gotestsum" --format pkgname-and-test-fails --hide-summary=skipped --jsonfile "$events$again.events" \
		--raw-command -- "${before[@]}" ../hack/go test -json -count 1 -vet off -ldflags '-s -w' -timeout "$most" "$@"
}

# chosen prints the packages whose tests run, those that take longest first: all, or those that the file
# NINES_TEST_SELECTED has among others.
chosen() {
	if [ -z "${NINES_TEST_SELECTED:-}" ]; then
		printf '%s\n' ./local ./scheduler ./port ./...
		return
	fi
	sed -n 's,^nines.dev/nines/cluster/,./,p' "../$NINES_TEST_SELECTED" |
		awk '{ print /^\.\/(local|scheduler|port)$/ ? 0 : 1, $0 }' | sort | cut -d' ' -f2
}

# note_passed keeps for test/verified which packages have passed whole, at once, in the long form.
note_passed() {
	[ -n "${NINES_LONG:-}" ] && [ "${NINES_REQUIRE:-}" = all ] || return 0
	local passed
	mapfile -t passed < <(sed -nE 's/^\{"Time":"[^"]*","Action":"pass","Package":"([^"]*)","Elapsed".*/\1/p' "$events.events")
	[ "${#passed[@]}" = 0 ] || (cd .. && build/select passed cluster "${passed[@]}")
}

# failed prints the package of each test that failed, and its name.
failed() {
	sed -nE 's/^\{"Time":"[^"]*","Action":"fail","Package":"([^"]*)","Test":"([^"/]*)".*/\1 \2/p' "$events.events"
}

# guarantees prints the same of each test of a guarantee, by what that logs.
guarantees() {
	sed -nE 's/^\{"Time":"[^"]*","Action":"output","Package":"([^"]*)","Test":"([^"/]*)["/].*tests a guarantee: a failure is not repeated.*/\1 \2/p' "$events.events"
}

# left_out names each test that was skipped without what it needs, for hack/stages.sh.
left_out() {
	sed -nE 's!^\{"Time":"[^"]*","Action":"output","Package":"nines.dev/nines/([^"]*)","Test":"([^"/]*)["/].*\.go:[0-9]+: missing: ([^"]*)\\n".*!left out without \3: \1 \2!p' "$events.events" | sort -u
}

again=
before=()
# Packages are tested side by side, and so are a package's clusters: they wait more than they compute.
mapfile -t packages < <(chosen)
[ "${#packages[@]}" -gt 0 ] || exit 0
show -p 3 -parallel 3 "${packages[@]}"
status=$?
note_passed
[ "${NINES_REQUIRE:-}" = all ] || left_out
[ $status != 0 ] || exit 0
mapfile -t failed < <(failed)
mapfile -t packages < <(failed | cut -d' ' -f1 | sort -u)
# A package can fail without one of its tests: it was not compiled, or has ended.
all=$(grep -cE '^\{"Time":"[^"]*","Action":"fail","Package":"[^"]*","Elapsed"' "$events.events")
mapfile -t tests < <(failed | grep -vxFf <(guarantees))
if [ "${#tests[@]}" = 0 ] || [ "${#failed[@]}" -gt $few ] || [ "$all" != "${#packages[@]}" ]; then
	exit 1
fi
# Those of a guarantee are shown with the second run as they were, so that they count as failed.
mapfile -t never < <(failed | grep -xFf <(guarantees))
for test in "${never[@]}"; do
	grep -E "^\{\"Time\":\"[^\"]*\",\"Action\":\"[a-z]*\",\"Package\":\"${test% *}\",\"Test\":\"${test#* }\"" "$events.events"
done >"$events.never"
# shellcheck disable=SC2016 # the inner bash expands it
before=(bash -c 'cat "$0"; exec "$@"' "$events.never")
mapfile -t packages < <(printf '%s\n' "${tests[@]% *}" | sort -u)
echo "again: ${tests[*]#* }"
again=-again
show -p 1 -run "^($(printf '%s\n' "${tests[@]#* }" | paste -sd '|'))\$" "${packages[@]}" && [ "${#never[@]}" = 0 ]

#!/bin/bash
# Runs every linter, also after one has found something, and fails if any has.
set -uo pipefail

# shellcheck disable=SC2317 # called by check
tool() { hack/go tool -modfile=hack/tools/go.mod "$@"; }

status=0
# check NAME COMMAND... is clean if the command succeeds and prints nothing.
check() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1 </dev/null) && [ -z "$out" ]; then
		echo "lint: PASS $name"
	else
		echo "$out"
		echo "lint: FAIL $name"
		status=1
	fi
}

# tidy looks at each C file in a run of its own: clang-tidy's analyzer mistakes va_list
# when it is given several. What it says of warnings outside of the project is left out.
# shellcheck disable=SC2317
tidy() {
	printf '%s\n' "${c_sources[@]}" | xargs -P "$(nproc)" -I '{}' \
		clang-tidy --quiet '{}' -- -std=gnu17 -D_GNU_SOURCE '-DNINES_FILTER_OBJECT=""' -I engine "${dpdk[@]}" 2> >(grep -vE '^[0-9]+ warnings? ' >&2)
}

# DPDK's headers are not held to our rules.
read -ra dpdk < <(pkg-config --cflags-only-I libdpdk | sed 's/-I/-isystem /g; s/$/ -include rte_config.h/')
mapfile -t go_files < <(git ls-files '*.go')
mapfile -t c_files < <(git ls-files '*.c' '*.h')
# The XDP programs are held to clang's own warnings, in the build.
mapfile -t c_sources < <(git ls-files 'engine/*.c' 'programs/*.c' 'busypoll/poller/*.c' ':!*.bpf.c')
mapfile -t scripts < <(git ls-files '*.sh' hack/go .ci/run)

# What go downloads on the way it tells, which would pass for a finding. mod tidy wants more
# than mod download brings: the modules of its dependencies' tests.
hack/go mod tidy -diff >/dev/null 2>&1
hack/go mod download >/dev/null 2>&1
hack/go mod download -modfile=hack/tools/go.mod >/dev/null 2>&1

check gofmt gofmt -l "${go_files[@]}"
check 'go vet' hack/go vet ./...
check 'go mod tidy' hack/go mod tidy -diff
check staticcheck tool staticcheck ./...
check errcheck tool errcheck -ignoretests -exclude hack/errcheck.txt ./...
check errorlint tool go-errorlint ./...
check clang-format clang-format --dry-run -Werror "${c_files[@]}"
check clang-tidy tidy
check shellcheck shellcheck "${scripts[@]}"
check tsc npm --prefix web run --silent check
exit $status

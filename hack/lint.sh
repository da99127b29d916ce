#!/bin/bash
# Runs every linter, also after one has found something, and fails if any has.
#
#   hack/lint.sh            all but what follows
#   hack/lint.sh cluster    what looks at Go code as a whole, for the module in cluster/
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit
go=$root/hack/go
# Go's linters collect garbage less often: staticcheck ./... with an empty STATICCHECK_CACHE takes
# 58 s of CPU instead of 117.
export GOGC="${GOGC:-400}" GOMEMLIMIT="${GOMEMLIMIT:-4GiB}"

# shellcheck disable=SC2317 # called by check
tool() { "$go" tool -modfile="$root/hack/tools/go.mod" "$@"; }

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

# shellcheck disable=SC2317
tidy() {
	printf '%s\n' "${c_sources[@]}" | xargs -P "$(nproc)" -I '{}' \
		hack/lint/tidy.sh '{}' -std=gnu17 -D_GNU_SOURCE '-DNINES_FILTER_OBJECT=""' -I engine "${dpdk[@]}"
}

# go_module runs the linters that look at a Go module as a whole, the one of the working folder.
# Its arguments are the packages that staticcheck looks at, which reads all that they import, too.
go_module() {
	# go prints what it downloads, which would count as a finding. mod tidy needs more
	# than mod download fetches: the modules of its dependencies' tests.
	"$go" mod tidy -diff >/dev/null 2>&1
	"$go" mod download >/dev/null 2>&1
	"$go" mod download -modfile="$root/hack/tools/go.mod" >/dev/null 2>&1
	check 'go vet' "$go" vet ./...
	check 'go mod tidy' "$go" mod tidy -diff
	check staticcheck tool staticcheck "$@"
	check errcheck tool errcheck -ignoretests -exclude "$root/hack/errcheck.txt" ./...
	check errorlint tool go-errorlint ./...
}

if [ "${1:-}" = cluster ]; then
	cd cluster || exit
	# Two packages only call Kubernetes' programs; for them, staticcheck would read all of
	# Kubernetes for ten minutes.
	mapfile -t packages < <("$go" list ./... | grep -v -e /component$ -e /nines-kube$)
	go_module "${packages[@]}"
	exit $status
fi

# Our rules do not apply to DPDK's headers.
read -ra dpdk < <(pkg-config --cflags-only-I libdpdk | sed 's/-I/-isystem /g; s/$/ -include rte_config.h/')
mapfile -t go_files < <(git ls-files '*.go')
mapfile -t c_files < <(git ls-files '*.c' '*.h')
# The XDP programs are held to clang's own warnings, in the build.
mapfile -t c_sources < <(git ls-files 'engine/*.c' 'programs/*.c' 'busypoll/poller/*.c' ':!*.bpf.c')
mapfile -t scripts < <(git ls-files '*.sh' hack/go .ci/run)

check gofmt gofmt -l "${go_files[@]}"
go_module ./...
check clang-format clang-format --dry-run -Werror "${c_files[@]}"
check clang-tidy tidy
check shellcheck shellcheck "${scripts[@]}"
check tsc npm --prefix web run --silent check
# It says how many commits it has checked, or why none: some clones have no history.
if hack/lint/commits.sh; then
	echo 'lint: PASS commits'
else
	echo 'lint: FAIL commits'
	status=1
fi
exit $status

#!/bin/bash
# Builds the programs of nines cluster and links them into bin/. They are kept outside of the
# checkout, each under a digest of what it is made of, so that every checkout of the same
# sources builds them once:
#
#   $XDG_CACHE_HOME/nines/cluster/containerd-…   containerd, its shim, ctr, the CNI plugins
#                                 multus-…       Multus, for nines cluster up --multus
#                                 nines-kube-…   Kubernetes' own programs in one
#                                 nines-cluster-… the program that makes clusters, and runs in them
#                                 beside-…       other projects' programs on a cluster, for the long tests
#                                 dranet-…       a driver that gives interfaces to pods, for the same
#                                 set-…          one of each, as bin/cluster
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nines/cluster
keep=10 # of each kind: several checkouts may be in use, and none may lose its programs
# Compiling takes minutes and runs at a lower priority, because labs carry packets beside it in make test; but only
# slightly lower, because the cluster's tests wait for it.
go=(nice -n 2 "$root/hack/go")

mkdir -p "$cache" bin
# Two that build take turns.
exec 9>"$cache/lock"
flock 9

# sources lists the Go files of folders, without tests, and the files named.
sources() {
	git -c safe.directory='*' ls-files -co --exclude-standard -- "$@" | grep -v '_test\.go$' | sort -u |
		while read -r file; do [ ! -f "$file" ] || echo "$file"; done
}

# key NAME FILE... is the name with a digest of the files and of the compiler.
key() {
	local name=$1
	shift
	echo "$name-$({
		"${go[@]}" env GOVERSION GOARCH
		sha256sum hack/setup/cluster.sh "$@"
	} | sha256sum | cut -c1-16)"
}

# build KEY FUNCTION calls the function with a new folder, which then is the one of that key.
build() {
	local key=$1 function=$2 next=$cache/.next
	if [ ! -d "$cache/$key" ]; then
		echo "setup: building ${key%-*} into $cache"
		rm -rf "$next"
		mkdir "$next"
		"$function" "$next"
		mv "$next" "$cache/$key"
	fi
	touch "$cache/$key"
}

build_containerd() {
	local module=github.com/containerd/containerd/v2 plugins=github.com/containernetworking/plugins/plugins version
	cd cluster/containerd
	version=$("${go[@]}" list -m -f '{{.Version}}' $module)
	mkdir "$1/cni"
	"${go[@]}" build -ldflags "-s -w -X $module/version.Version=$version" -o "$1/" \
		$module/cmd/{containerd,containerd-shim-runc-v2,ctr}
	"${go[@]}" build -ldflags '-s -w' -o "$1/cni/" $plugins/main/{bridge,loopback,macvlan} $plugins/ipam/{host-local,static}
	cd "$root"
}

build_multus() {
	cd cluster/multus
	mkdir "$1/cni"
	"${go[@]}" build -ldflags '-s -w' -o "$1/cni/" gopkg.in/k8snetworkplumbingwg/multus-cni.v4/cmd/multus
	cd "$root"
}

build_kube() {
	local version minor package flags='-s -w'
	cd cluster
	version=$("${go[@]}" list -m -f '{{.Version}}' k8s.io/kubernetes)
	minor=${version#v1.}
	for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		flags+=" -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=${minor%%.*}"
	done
	"${go[@]}" build -ldflags "$flags" -o "$1/" ./cmd/nines-kube
	cd "$root"
}

build_cluster() {
	cd cluster
	"${go[@]}" build -ldflags '-s -w' -o "$1/" ./cmd/nines-cluster ./cmd/nines-cni
	cd "$root"
}

build_beside() {
	local nfd=sigs.k8s.io/node-feature-discovery version
	cd cluster/beside
	version=$("${go[@]}" list -m -f '{{.Version}}' $nfd)
	"${go[@]}" build -ldflags "-s -w -X $nfd/pkg/version.version=$version" -o "$1/" $nfd/cmd/nfd-master helm.sh/helm/v3/cmd/helm
	install -m 644 "$("${go[@]}" list -m -f '{{.Dir}}' $nfd)/deployment/base/nfd-crds/nfd-api-crds.yaml" "$1/"
	cd "$root"
}

build_dranet() {
	cd cluster/dranet
	"${go[@]}" build -ldflags '-s -w' -o "$1/" sigs.k8s.io/dranet/cmd/dranet
	cd "$root"
}

join() {
	local part
	for part in "${parts[@]}"; do
		cp -al "$cache/$part/." "$1/"
	done
}

modules=(cluster/go.mod cluster/go.sum)
mapfile -t ours < <(sources 'cluster/*.go')
mapfile -t kube < <(printf '%s\n' "${ours[@]}" | grep -v -e ^cluster/local/ -e ^cluster/pod/ -e ^cluster/port/ -e ^cluster/dra/ -e ^cluster/cmd/nines-cluster/)
mapfile -t nines < <(sources go.mod go.sum '*.go' ':!cluster')
# nines-cluster embeds these. Go would compile it without them, but without any XDP program.
shopt -s failglob
objects=(lab/link/*/*.bpf.o measure/trace/bpf/*.bpf.o)
shopt -u failglob
parts=(
	"$(key containerd cluster/containerd/go.mod cluster/containerd/go.sum)"
	"$(key multus cluster/multus/go.mod cluster/multus/go.sum)"
	"$(key nines-kube "${modules[@]}" "${kube[@]}")"
	"$(key nines-cluster "${modules[@]}" "${ours[@]}" "${nines[@]}" "${objects[@]}")"
)
build "${parts[0]}" build_containerd
build "${parts[1]}" build_multus
build "${parts[2]}" build_kube
build "${parts[3]}" build_cluster
if [ -n "${NINES_LONG:-}" ]; then
	parts+=("$(key beside cluster/beside/go.mod cluster/beside/go.sum)")
	build "${parts[-1]}" build_beside
	parts+=("$(key dranet cluster/dranet/go.mod cluster/dranet/go.sum)")
	build "${parts[-1]}" build_dranet
fi
set=set-$(printf '%s\n' "${parts[@]}" | sha256sum | cut -c1-16)
build "$set" join

# Removes those that no checkout has used for the longest time.
for name in containerd multus nines-kube nines-cluster beside dranet set; do
	find "$cache" -maxdepth 1 -name "$name-[0-9a-f]*" -printf '%T@ %p\n' | sort -rn | tail -n "+$((keep + 1))" |
		cut -d' ' -f2- | xargs -r rm -rf
done
ln -sfn "$cache/$set" bin/cluster
ln -sfn cluster/nines-cluster bin/nines-cluster

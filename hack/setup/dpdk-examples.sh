#!/bin/sh
# Builds DPDK's examples l2fwd and l3fwd, which no package of Debian has, from its source package: for
# examples/devices. Nothing else in the project needs them. They are built once, and installed where
# LXC containers see them too:
#
#   ${PREFIX:-/usr/local}/bin/dpdk-l2fwd, dpdk-l3fwd
#
# They are linked to the libraries of libdpdk-dev, so the source is that of its version.
set -eu

folder=${PREFIX:-/usr/local}/bin
version=$(dpkg-query --show --showformat '${source:Version}' libdpdk-dev)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nines/dpdk-examples
mkdir -p "$cache"
# Two that build take turns.
exec 9>"$cache/lock"
flock 9
if [ -x "$folder/dpdk-l2fwd" ] && [ -x "$folder/dpdk-l3fwd" ] && [ "$(cat "$cache/version" 2>/dev/null)" = "$version" ]; then
	echo "setup: dpdk-l2fwd and dpdk-l3fwd are in $folder"
	exit
fi
next=$cache/next
rm -rf "$next"
trap 'rm -rf "$next"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$next/lists/partial"
cd "$next"
# Sources of its own: the host's apt may have none for source packages.
# shellcheck disable=SC2016 # apt expands them
apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' 'Component: main' | sort -u |
	grep -E "/debian(-security)? $(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" |
	sed 's|^|deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] |; s|$| main|' >sources.list
apt() {
	apt-get -qq -o Dir::Etc::sourcelist="$next/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$next/lists" \
		-o Dir::Cache::pkgcache="$next/pkgcache.bin" -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root "$@"
}
echo "setup: fetching the source of DPDK $version (16 MB)"
apt update
apt source --download-only "dpdk=$version"
tar --extract --file dpdk_*.orig.tar.* --strip-components 1 --wildcards '*/examples/l2fwd' '*/examples/l3fwd' '*/examples/common'
# Ports that the kernel has, such as af_packet's, compute no checksums for a program, and l3fwd needs none.
sed -i 's/\.offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM/.offloads = 0/' examples/l3fwd/main.c
for example in l2fwd l3fwd; do
	nice -n 10 make -s -C "examples/$example" shared
	install "examples/$example/build/$example-shared" "$folder/dpdk-$example"
done
echo "$version" >"$cache/version"
echo "setup: dpdk-l2fwd and dpdk-l3fwd are in $folder"

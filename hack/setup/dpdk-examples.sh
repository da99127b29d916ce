#!/bin/sh
# Builds DPDK's examples l2fwd and l3fwd, which no package of Debian has, from its source package: for
# examples/devices. Nothing else in the project needs them. They are built once:
#
#   ${PREFIX:-/usr/local}/bin/dpdk-l2fwd, dpdk-l3fwd
#
# They are linked statically, so that containers and virtual machines run them without DPDK's packages, to the
# libraries of libdpdk-dev: the source is that of its version.
set -eu

folder=${PREFIX:-/usr/local}/bin
version=$(dpkg-query --show --showformat '${source:Version}' libdpdk-dev)
built="$version, static"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nines/dpdk-examples
mkdir -p "$cache"
# Two that build take turns.
exec 9>"$cache/lock"
flock 9
if [ -x "$folder/dpdk-l2fwd" ] && [ -x "$folder/dpdk-l3fwd" ] && [ "$(cat "$cache/version" 2>/dev/null)" = "$built" ]; then
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
# Drivers register themselves in constructors, so the linker needs their whole archives; of the others, what is called.
libraries=$(pkg-config --variable=libdir libdpdk)
drivers='' others=''
for archive in "$libraries"/librte_*.a; do
	case ${archive##*/librte_} in
	bus_pci.a | bus_vdev.a | mempool_ring.a | net_af_packet.a | net_virtio.a) drivers="$drivers $archive" ;;
	*) others="$others $archive" ;;
	esac
done
for example in l2fwd l3fwd; do
	# shellcheck disable=SC2046,SC2086 # one word an option
	nice -n 10 gcc -O3 -DALLOW_EXPERIMENTAL_API $(pkg-config --cflags libdpdk) -Iexamples/common "examples/$example"/*.c \
		-static -Wl,--no-warnings -Wl,--whole-archive $drivers -Wl,--no-whole-archive \
		-Wl,--start-group $others -Wl,--end-group -lbsd -lmd -lnuma -lm -o "$example"
	install "$example" "$folder/dpdk-$example"
done
echo "$built" >"$cache/version"
echo "setup: dpdk-l2fwd and dpdk-l3fwd are in $folder"

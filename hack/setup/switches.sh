#!/bin/sh
# Builds Snabb and VPP, which Debian lacks, for the links of these kinds: the tests with the real
# programs, the claims that need them, and `make bench BENCH=switch`. Nothing else in the project needs
# them. They are kept outside of the checkout, and built once:
#
#   $XDG_CACHE_HOME/nines/switches/snabb-COMMIT/, vpp-COMMIT/
#   $XDG_CACHE_HOME/nines/switches/snabb, vpp, vppctl          link into these
#
#   hack/setup/switches.sh [snabb] [vpp]      both, if none is named
#
# NINES_SNABB_SOURCE and NINES_VPP_SOURCE name other Git repositories that have the commits, such as
# copies on this machine.
set -eu

snabb_source=${NINES_SNABB_SOURCE:-https://github.com/snabbco/snabb}
snabb_commit=f32729274b0a1b0da612bface2eabd8b57eef200 # release 2024.08, which prints 2022.07
vpp_source=${NINES_VPP_SOURCE:-https://github.com/FDio/vpp}
vpp_commit=c3200b88dc46bd380f00a49ca3392a102cc1980b # release 26.06
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nines/switches
next=$cache/.next

# fetched lays the files of a commit into $next. The rest are patterns of files that stay away.
fetched() {
	name=$1 source=$2 commit=$3
	shift 3
	rm -rf "$next"
	echo "setup: fetching $name from $source"
	git init -q "$next"
	git -C "$next" remote add origin "$source"
	git -C "$next" sparse-checkout set --no-cone '/*' "$@"
	git -C "$next" fetch -q --depth 1 --filter=blob:none origin "$commit"
	git -C "$next" checkout -q --detach "$commit"
}

# logged runs one step of a build. Its output is shown only if it fails.
logged() {
	nice -n 10 "$@" >>"$cache/log" 2>&1 || {
		tail -n 20 "$cache/log" >&2
		echo "setup: '$*' failed; the whole log is $cache/log" >&2
		exit 1
	}
}

# Snabb is compiled by gcc and make, and has its own LuaJIT. The captures that its tests replay are most of
# its repository.
build_snabb() {
	fetched Snabb "$snabb_source" "$snabb_commit" '!/src/program/ipfix/tests/'
	echo "setup: building Snabb into $1 (a minute of CPU)"
	logged make -C "$next" -j "$(nproc)"
	mkdir "$1"
	install "$next/src/snabb" "$1/.snabb"
	mv "$1/.snabb" "$1/snabb"
}

# VPP is built with only the plugins that nines uses, for the CPU of this machine: all of it takes hours.
# Its version is a file, as its script would ask git for a tag that one commit does not have.
build_vpp() {
	fetched VPP "$vpp_source" "$vpp_commit" '!/test/' '!/docs/'
	echo "setup: building VPP into $1 (20 minutes of CPU)"
	echo "v26.06-0-g$vpp_commit" >"$next/src/scripts/.version"
	# Its scripts are run by the first python3 in PATH, and Debian's is the one with their library.
	PATH=/usr/bin:$PATH
	logged cmake -S "$next/src" -B "$next/build" -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=release \
		-DCMAKE_INSTALL_PREFIX="$1" -DVPP_PLUGINS=af_packet,memif,ping,vhost -DVPP_DRIVERS=none \
		-DVPP_CRYPTO_ENGINES=none -DVPP_TOOLS=vppctl -DVPP_TESTS=none -DVPP_BUILD_VCL=OFF \
		-DVPP_BUILD_PYTHON_API=OFF -DVPP_BUILD_NATIVE_ONLY=ON -DVPP_USE_LTO=OFF
	logged ninja -C "$next/build" -j "$(nproc)"
	logged env DESTDIR="$next/installed" ninja -C "$next/build" install/strip
	mv "$next/installed$1" "$1"
}

[ $# -gt 0 ] || set -- snabb vpp
for switch in "$@"; do
	case $switch in
	snabb | vpp) ;;
	*)
		echo "setup: there is no switch '$switch': snabb or vpp" >&2
		exit 2
		;;
	esac
done
mkdir -p "$cache"
# Two that build take turns.
exec 9>"$cache/lock"
flock 9
trap 'rm -rf "$next"' EXIT
trap 'exit 1' HUP INT TERM
for switch in "$@"; do
	case $switch in
	snabb) built=$cache/snabb-$snabb_commit programs=snabb ;;
	vpp) built=$cache/vpp-$vpp_commit programs='bin/vpp bin/vppctl' ;;
	esac
	# The last program is there only if all is.
	if [ ! -x "$built/${programs##* }" ]; then
		rm -rf "$built"
		: >"$cache/log"
		"build_$switch" "$built"
	fi
	for program in $programs; do
		ln -sfn "$built/$program" "$cache/${program##*/}"
	done
done
echo "setup: built into $cache: $*; put this folder into PATH"

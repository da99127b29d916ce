#!/bin/bash
# Builds the packages of the last commit into dist/, each in a new Debian of its release (hack/fresh/system.sh), and in
# the oldest also the tarball:
#
#   hack/package/dist.sh [bookworm] [trixie]     default: both
#
# TWICE=1 builds each twice, in other folders, and fails if a byte differs.
# shellcheck disable=SC2154,SC2016 # what system.sh sets, and what the new system expands
set -euo pipefail
# shellcheck source=/dev/null
. "$(dirname "$0")/../fresh/system.sh"
in_new_systems "$@"

build() {
	local tarball=
	[ "$suite" != bookworm ] || tarball=--tarball
	inside "$2 hack/package/deb.sh $1 $tarball"
}

same() {
	build again 'mkdir -p build/another/folder && TMPDIR=$PWD/build/another/folder'
	inside 'for one in dist/*.deb dist/*.tar.xz; do [ ! -e "$one" ] || cmp "$one" "again/${one#dist/}"; done'
}

keep() {
	(cd "$home/nines/dist" && cp -- * /opt/)
}

include=git,make,ca-certificates
[ "$suite" = bookworm ] || include+=,sudo
timed 'bootstrap' bootstrap "$include"
timed 'furnish' furnish
timed 'clone' clone
mkdir -p "$root/dist"
mount --bind "$root/dist" "$rootfs/opt"
enter
timed 'make setup' inside 'make setup && hack/setup/install.sh package'
timed 'package' build dist ''
[ -z "${TWICE:-}" ] || timed 'the same again, elsewhere' same
keep
say "dist/ has $(cd "$home/nines/dist" && echo *)"

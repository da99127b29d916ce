#!/bin/bash
# Builds the Debian package of the last commit, for the release that this runs on:
#
#   hack/package/deb.sh OUT [--tarball]
#
# Its version ends with the release, as in 1.2.0~deb12, so that the package of the next release is newer.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

version=$("$root/hack/package/source.sh" "$work/nines")
tree=$work/nines
SOURCE_DATE_EPOCH=$(stat -c %Y "$tree/hack/version.txt")
export SOURCE_DATE_EPOCH
# shellcheck source=/dev/null
. /etc/os-release
cp -r "$tree/hack/package/debian" "$tree/debian"
cat >"$tree/debian/changelog" <<END
nines ($version~deb$VERSION_ID) $VERSION_CODENAME; urgency=medium

  * Changes are in /usr/share/doc/nines/CHANGELOG.md.

 -- $(sed -n 's/^Maintainer: //p' "$tree/debian/control")  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
# What it needs is installed by make setup, and not all of it as a package: -d.
(cd "$tree" && dpkg-buildpackage -d --build=binary --no-sign >&2)
mv "$work"/*.deb "$work"/*.buildinfo "$out/"
echo "package: $out/nines_$version~deb${VERSION_ID}_amd64.deb"
[ "${2:-}" != --tarball ] || "$root/hack/package/tarball.sh" "$out" "$tree"

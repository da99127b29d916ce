#!/bin/bash
# Builds the tarball of the last commit:
#
#   hack/package/tarball.sh OUT [TREE]
#
# TREE is an export of the commit in which it is built already (hack/package/deb.sh).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=${2:-}
if [ -z "$tree" ]; then
	tree=$work/source
	"$root/hack/package/source.sh" "$tree" >/dev/null
fi

version=$("$tree/hack/version.sh")
name=nines-$version-linux-amd64
SOURCE_DATE_EPOCH=$(stat -c %Y "$tree/hack/version.txt")
export SOURCE_DATE_EPOCH
make -C "$tree" install DESTDIR="$work/$name" PREFIX= >&2
install -m 644 "$root/LICENSE" "$work/$name/"
# The same bytes from the same commit: no times, owners or order of this machine.
tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
	--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime -c "$name" |
	xz -T1 >"$out/$name.tar.xz"
echo "package: $out/$name.tar.xz"

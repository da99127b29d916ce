#!/bin/bash
# Exports the last commit into a new folder, with its version and its time: what is built there is the commit,
# whatever else lies in the checkout, and depends on no path of this machine.
#
#   hack/package/source.sh DIR
#
# Prints the version. What the checkout has of npm's packages is there, too.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$1
git() { command git -C "$root" -c safe.directory='*' "$@"; }

[ -z "$(git status --porcelain)" ] || echo "package: the last commit is packed, without the changes that none has" >&2
version=$("$root/hack/version.sh")
version=${version%.dirty}
rm -rf "$dir"
mkdir -p "$dir"
git archive HEAD | tar -x -C "$dir"
echo "v$version" >"$dir/hack/version.txt"
touch -d "@$(git log -1 --format=%ct)" "$dir/hack/version.txt"
if cmp -s "$root/web/package-lock.json" "$dir/web/package-lock.json" && [ -d "$root/web/node_modules" ]; then
	cp -a "$root/web/node_modules" "$dir/web/"
	touch "$dir/web/node_modules/.package-lock.json"
fi
echo "$version"

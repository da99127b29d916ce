#!/bin/sh
# Prints the version of these sources, in a form that Debian sorts, too:
#
#   1.2.0                    at the tag v1.2.0
#   1.2.0+14.gab12cd34       14 commits after it
#   0.0.0+3210.gab12cd34     before the first tag: the number of commits
#   1.2.0+14.gab12cd34.dirty with changes that no commit has
#   devel                    neither git nor an archive of it says
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
git() { command git -C "$root" -c safe.directory='*' "$@" 2>/dev/null; }

# An archive has its version in a file: git archive writes it there (.gitattributes).
if [ -e "$root/.git" ]; then
	said=$(git describe --tags --match 'v[0-9]*' --dirty) ||
		said=v0.0.0-$(git rev-list --count HEAD)-$(git describe --always --exclude '*' --dirty | sed 's/^/g/') ||
		said=
else
	said=$(cat "$root/hack/version.txt")
fi
case $said in
v[0-9]*) echo "$said" | sed -E 's/^v//; s/-([0-9]+)-g/+\1.g/; s/-dirty$/.dirty/; s/-/~/g' ;;
*) echo devel ;;
esac

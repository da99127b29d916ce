#!/bin/sh
# Installs the packages that packages.txt lists for the groups named on the command
# line, after saying which. Does nothing, quickly, when nothing is missing.
#
#   hack/setup/install.sh build run
#
# As root, or through sudo. Services that come with a package are neither started
# now nor enabled for the next boot.
set -eu

here=$(dirname "$0")
# shellcheck source=/dev/null
suite=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}") || suite=

# wanted prints the packages of the groups, without those whose command is there; one
# that must have a version as PACKAGE>=VERSION.
wanted() {
	for group in "$@"; do
		grep -q "^$group " "$here/packages.txt" || {
			echo "setup: no group '$group' in $here/packages.txt" >&2
			return 2
		}
		while read -r g package condition value; do
			[ "$g" = "$group" ] || continue
			case $condition in
			unless) command -v "$value" >/dev/null || echo "$package" ;;
			atleast) echo "$package>=$value" ;;
			in) [ "$value" != "$suite" ] || echo "$package" ;;
			*) echo "$package" ;;
			esac
		done <"$here/packages.txt"
	done
}

# missing prints those of its arguments that dpkg does not have. Asking dpkg, and
# not apt, keeps a setup with nothing to do well under a second.
missing() {
	# shellcheck disable=SC2046 # one word a package
	installed=$(dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' \
		$(printf '%s\n' "$@" | sed 's/>=.*//') 2>/dev/null |
		sed -n 's/^installed //p') || true
	for package in "$@"; do
		name=${package%>=*}
		version=$(echo "$installed" | sed -n "s/^$name //p" | head -n 1)
		[ -n "$version" ] || { echo "$package"; continue; }
		[ "$name" = "$package" ] || dpkg --compare-versions "$version" ge "${package#*>=}" ||
			echo "$package"
	done
}

packages=$(wanted "$@")
# shellcheck disable=SC2086 # one word a package
packages=$(missing $packages | sort -u)
[ -n "$packages" ] || exit 0

command -v apt-get >/dev/null || {
	echo "setup: this is not a Debian: install what these packages hold by hand: $packages" >&2
	exit 3
}
# shellcheck disable=SC2086
echo "setup: installing for $*:" $packages
if [ "$(id -u)" = 0 ]; then
	# shellcheck disable=SC2086
	exec "$here/apt.sh" $packages
fi
# shellcheck disable=SC2086
exec sudo "$here/apt.sh" $packages

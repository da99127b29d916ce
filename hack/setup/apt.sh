#!/bin/sh
# Installs the packages named on the command line and keeps their services quiet:
# policy-rc.d tells Debian's maintainer scripts not to start any (see
# invoke-rc.d(8)), and what they enabled for the next boot is disabled again. A
# service that the user had enabled before stays as it was.
set -eu
export DEBIAN_FRONTEND=noninteractive

policy=/usr/sbin/policy-rc.d
mark='# made by nines: hack/setup/apt.sh, for the time of one installation'

enabled() {
	if command -v systemctl >/dev/null; then
		systemctl --root=/ list-unit-files --type=service --state=enabled \
			--no-legend --no-pager 2>/dev/null | awk '{print $1}' | sort
	fi
}

# A policy of the administrator's stays; one that a killed setup left does not.
if [ ! -e "$policy" ] || grep -qxF "$mark" "$policy"; then
	trap 'rm -f "$policy"' EXIT
	trap 'exit 1' HUP INT TERM
	printf '#!/bin/sh\n%s\nexit 101\n' "$mark" >"$policy"
	chmod 755 "$policy"
fi

before=$(enabled)
# Package lists that are too old name packages that are gone: update, and then
# install, unless the lists are there and the installation succeeds with them.
apt_install() {
	apt-get install -y -q -o Dpkg::Use-Pty=0 --no-install-recommends "$@"
}
if ! apt-cache show "$@" >/dev/null 2>&1 || ! apt_install "$@"; then
	apt-get update -q
	apt_install "$@"
fi

enabled | while read -r unit; do
	if ! echo "$before" | grep -qxF "$unit"; then
		echo "setup: $unit came with a package: left off"
		systemctl --root=/ disable "$unit"
	fi
done

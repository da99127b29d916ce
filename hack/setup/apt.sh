#!/bin/sh
# Installs the packages named on the command line and keeps their services quiet:
# policy-rc.d tells Debian's maintainer scripts not to start any (see
# invoke-rc.d(8)), and what they enabled for the next boot is disabled again. A
# service that the user had enabled before stays as it was. PACKAGE>=VERSION comes
# from the suite's backports where the suite has only an older one.
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

scratch=$(mktemp -d)
own_policy=
trap 'rm -rf "$scratch" $own_policy' EXIT
trap 'exit 1' HUP INT TERM

# A policy of the administrator stays; one that a killed setup left is replaced.
if [ ! -e "$policy" ] || grep -qxF "$mark" "$policy"; then
	own_policy=$policy
	printf '#!/bin/sh\n%s\nexit 101\n' "$mark" >"$policy"
	chmod 755 "$policy"
fi

before=$(enabled)

apt_install() {
	apt-get install -y -q -o Dpkg::Use-Pty=0 --no-install-recommends "$@"
}

# too_old is true for a PACKAGE>=VERSION of which this suite has only an older version.
too_old() {
	case $1 in *'>='*) ;; *) return 1 ;; esac
	candidate=$(LC_ALL=C apt-cache policy "${1%%>=*}" | sed -n 's/^  Candidate: //p')
	dpkg --compare-versions "$candidate" lt "${1#*>=}"
}

# from_backports installs packages from the backports of this suite, from where apt gets
# the suite itself. That source and its lists are in a folder of their own, so that the
# user's apt never knows about them.
from_backports() {
	# shellcheck source=/dev/null
	suite=$(. /etc/os-release && echo "$VERSION_CODENAME")-backports
	# shellcheck disable=SC2016 # for apt
	site=$(apt-get indextargets --format '$(SITE)' 'Label: Debian' 'Created-By: Packages' | sed -n 1p)
	[ -n "$site" ] || {
		echo "setup: apt's sources name no mirror of Debian, whose $suite is needed for: $*" >&2
		return 3
	}
	echo "setup: from $suite, this once: $*"
	mkdir -p "$scratch/sources" "$scratch/lists/partial"
	find /etc/apt/sources.list.d -maxdepth 1 \( -name '*.list' -o -name '*.sources' \) \
		-exec cp '{}' "$scratch/sources" \;
	echo "deb $site $suite main" >"$scratch/sources/nines-backports.list"
	# The user _apt, which fetches, must be let in.
	chmod -R a+rX "$scratch"
	cat >"$scratch/apt.conf" <<-END
		Dir::Etc::sourceparts "$scratch/sources";
		Dir::State::lists "$scratch/lists";
		Dir::Cache::pkgcache "";
		Dir::Cache::srcpkgcache "";
	END
	APT_CONFIG=$scratch/apt.conf apt-get update -q
	APT_CONFIG=$scratch/apt.conf apt_install -t "$suite" "$@"
}

names=$(printf '%s\n' "$@" | sed 's/>=.*//')
# shellcheck disable=SC2086 # one word a package, here and below
apt-cache show $names >/dev/null 2>&1 || apt-get update -q
ordinary='' newer=''
for package in "$@"; do
	if too_old "$package"; then
		newer="$newer ${package%%>=*}"
	else
		ordinary="$ordinary ${package%%>=*}"
	fi
done
# Package lists that are too old name packages that are gone: update, and try again.
# shellcheck disable=SC2086
[ -z "$ordinary" ] || apt_install $ordinary || { apt-get update -q && apt_install $ordinary; }
# shellcheck disable=SC2086
[ -z "$newer" ] || from_backports $newer

enabled | while read -r unit; do
	if ! echo "$before" | grep -qxF "$unit"; then
		echo "setup: $unit came with a package: left off"
		systemctl --root=/ disable "$unit"
	fi
done

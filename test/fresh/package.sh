#!/bin/bash
# Proves that the packages in dist/ work in a Debian that has nothing else, and leave nothing there: installs each by
# apt, measures an example in a network namespace, runs the commands of the first hour as printed, and purges it. The
# tarball runs from a folder of any name.
#
#   test/fresh/package.sh [bookworm] [trixie]     default: both
#
# Needs what `make dist` has built; make test-dist runs both.
# shellcheck disable=SC2154 # what system.sh sets
set -euo pipefail
# shellcheck source=/dev/null
. "$(dirname "$0")/../../hack/fresh/system.sh"
in_new_systems "$@"

examples=/usr/share/doc/nines/examples
home=/srv/user
results=$home/results

apt_quiet() { DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >/tmp/apt.log 2>&1 || { cat /tmp/apt.log; return 1; }; }

# files lists all that is on the system, but what apt and dpkg note of every package, and logs.
files() {
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /opt -o -path /tmp -o -path "$home" -o -path /var/lib/dpkg \
		-o -path /var/lib/apt -o -path /var/cache/apt -o -path /var/log -o -path /var/cache/ldconfig -o -path /etc/ld.so.cache \) \
		-prune -o -print | sort
	find /run -mindepth 1 -not -path '/run/lock*' | sort
}

dependencies() {
	apt_quiet update
	apt_quiet install -y --no-install-recommends python3-minimal # the first hour's own device is written in it
	apt_quiet satisfy -y "$(dpkg-deb -f "$package" Depends)"
	files >/tmp/before
}

install_package() {
	apt_quiet install -y --no-install-recommends "$package"
	[ "nines version $(dpkg-deb -f "$package" Version | sed 's/~deb.*//')" = "$(nines --version)" ]
	dpkg --verify nines
	test -s /usr/share/man/man1/nines-run.1.gz
}

# measured runs the smallest example by a nines, briefly.
measured() {
	local dir
	dir=$(mktemp -d)
	"$1" run "$2/veth-pair.yaml" --set traffic.duration=200ms --set traffic.warmup=50ms --out "$dir" --quiet
	grep -q '"rx_packets": [1-9]' "$dir/latest/summary.json"
	mkdir -p "$results" && cp -r "$dir/." "$results/" && rm -rf "$dir"
	[ -z "$("$1" ls --format json | tr -d '[]\n ')" ]
}

# first_hour runs what the installed page prints after the installation. Its user is root here, who needs no sudo.
first_hour() {
	local page=$examples/../docs/first-hour.md
	mkdir -p "$home/hour"
	{
		echo 'set -eu; sudo() { "$@"; }'
		awk '/^```sh$/ { prints = 1; next } /^```$/ { prints = 0 } prints' "$page" | grep -v '^sudo apt install '
	} >"$home/hour/commands"
	[ "$(grep -c 'nines ' "$home/hour/commands")" -ge 6 ]
	(cd "$home/hour" && sh commands) >"$home/hour/said" 2>&1 || { cat "$home/hour/said"; return 1; }
	grep -q 'relayed by dut' "$home/hour/said"
	grep -q 'slowest packets' "$home/hour/said"
}

# kept_while_used: without nines nobody could take a lab down. An upgrade leaves it up.
kept_while_used() {
	nines up $examples/veth-pair.yaml >/dev/null
	apt_quiet install -y --no-install-recommends --reinstall "$package"
	nines exec a -- true
	if apt_quiet purge -y nines; then
		say "nines was removed under a lab"
		return 1
	fi
	grep -q "first run: nines down --all" /tmp/apt.log
	nines down >/dev/null
}

purge() {
	apt_quiet purge -y nines
	files >/tmp/after
	diff /tmp/before /tmp/after
	test -e "$results/latest/report.html" # they are their users'
}

# A folder with a space, a link from elsewhere, and a copy of nines alone, which says what to do.
tarball() {
	local folder='/srv/a user/programs' alone
	mkdir -p "$folder"
	tar -C "$folder" --strip-components=1 -xJf /opt/nines-"$version"-linux-amd64.tar.xz
	ln -s "$folder/bin/nines" /usr/local/bin/nines
	hash -r
	measured nines "$folder/share/doc/nines/examples"
	rm /usr/local/bin/nines
	hash -r
	cp "$folder/lib/nines/nines" /tmp/nines
	if alone=$(/tmp/nines up "$folder/share/doc/nines/examples/veth-pair.yaml" 2>&1); then
		say "nines ran without its programs"
		return 1
	fi
	grep -q "copy the whole folder" <<<"$alone"
	rm -r "/srv/a user"
}

# Of several, the newest.
package=$(find "$root/dist" -name "nines_*~deb$([ "$suite" = bookworm ] && echo 12 || echo 13)_amd64.deb" -printf '%T@ %f\n' | sort -n | tail -n 1)
package=/opt/${package#* }
[ "$package" != /opt/ ] || { say "dist/ has no package for it: run make dist"; exit 1; }
version=${package#/opt/nines_}
version=${version%~deb*}

timed 'bootstrap' bootstrap ca-certificates,xz-utils
timed 'furnish' furnish
mount --bind "$root/dist" "$rootfs/opt"
enter
mkdir -p "$home"
export HOME=$home PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
timed 'dependencies' dependencies
timed 'install' install_package
timed 'measure' measured nines $examples
timed 'the first hour' first_hour
timed 'kept while a lab is up' kept_while_used
timed 'purge, and nothing is left' purge
[ ! -e "/opt/nines-$version-linux-amd64.tar.xz" ] || timed 'tarball' tarball

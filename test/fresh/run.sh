#!/bin/bash
# Proves that the project builds and runs on a Debian with nothing but git and make:
#
#   host ── unshare: mounts, processes ── pivot_root build/fresh/<suite>
#                                          ├─ apt, Go, npm: caches in build/cache
#                                          └─ ~/nines: a clone of HEAD
#
# Go's build cache names its entries by a digest of all input, compilers too. So what this machine,
# or the other new system, has compiled from the same files with the same Go is not compiled again.
# Results of tests are not cached.
#
#   test/fresh/run.sh [bookworm] [trixie]     default: both
#
# In Debian 13 it also tests what only that has: distrobuilder and, in the long form, its container managers.
#
# In Debian 12 everything runs as root, in Debian 13 as a user with sudo. Mirrors,
# proxies and certificates are those of the machine it runs on. Needs root, mmdebstrap
# and the network; leaves no mount, process or namespace, and in build/ only caches. The new
# system is in memory where 12 GiB are free; FRESH_KEEP=1 has it on the disk, and keeps one that
# failed, to look around in.
# shellcheck disable=SC2016 # $1 and $(SITE) are for mmdebstrap and apt
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=$root/build/cache/fresh

# The outer call gets namespaces of its own: when the inner one ends, however it does,
# the kernel ends its processes and takes its mounts away.
if [ "${1:-}" != --inside ]; then
	suites=("$@")
	[ ${#suites[@]} -gt 0 ] || suites=(bookworm trixie)
	for suite in "${suites[@]}"; do
		unshare --mount --propagation private --pid --fork --kill-child --mount-proc \
			"$here/run.sh" --inside "$suite"
		rm -rf --one-file-system "$root/build/fresh/$suite"
	done
	exit
fi
suite=$2
rootfs=$root/build/fresh/$suite

say() { echo "fresh $suite: $*"; }

# timed NAME COMMAND... runs a step and says how long it took.
timed() {
	local name=$1 begin=$SECONDS
	shift
	say "$name"
	"$@" </dev/null || { say "FAIL $name after $((SECONDS - begin)) s"; exit 1; }
	say "PASS $name in $((SECONDS - begin)) s"
}

bootstrap() {
	local include=git,make,ca-certificates
	[ "$suite" = bookworm ] || include+=,sudo
	rm -rf --one-file-system "$rootfs"
	mkdir -p "$rootfs" "$cache/$suite/partial"
	# In this script's mount namespace, so it disappears with it: removing its files from a
	# disk took two minutes.
	if [ -z "${FRESH_KEEP:-}" ] && awk '/^MemAvailable:/ { exit $2 < 12 * 1024 * 1024 }' /proc/meminfo; then
		mount -t tmpfs -o mode=755,size=8G tmpfs "$rootfs"
	fi
	# The packages are kept for the next time, as mmdebstrap(1) shows.
	mmdebstrap --quiet --mode=root --variant=minbase --include="$include" \
		--skip=download/empty,essential/unlink,cleanup/apt \
		--setup-hook='mkdir -p "$1/var/cache/apt/archives"' \
		--setup-hook="cp -a '$cache/$suite/.' \"\$1/var/cache/apt/archives/\"" \
		--customize-hook="cp -au \"\$1/var/cache/apt/archives/.\" '$cache/$suite/'" \
		"$suite" "$rootfs" - < <(sources)
}

# site is where apt gets the packages of a label from.
site() {
	apt-get indextargets --format '$(SITE)' "Label: $1" 'Created-By: Packages' | sed -n 1p
}

# sources are Debian's own suites, from the mirror that this machine uses.
sources() {
	local mirror security
	mirror=$(site Debian)
	# Labels are known only once the lists have been fetched.
	[ -n "$mirror" ] || { apt-get update -qq >&2 && mirror=$(site Debian); }
	: "${mirror:?the sources of apt name no mirror of Debian}"
	security=$(site Debian-Security)
	# A mirror has the security updates beside the rest.
	security=${security:-${mirror%/}-security}
	echo "deb $mirror $suite main"
	echo "deb $mirror $suite-updates main"
	echo "deb $security $suite-security main"
}

# furnish gives the new system what a machine on this network has, and a user.
furnish() {
	cp /etc/resolv.conf /etc/hosts "$rootfs/etc/"
	cp /etc/ssl/certs/ca-certificates.crt "$rootfs/etc/ssl/certs/"
	apt-config dump Acquire::http::Proxy Acquire::https::Proxy >"$rootfs/etc/apt/apt.conf.d/90proxy"
	echo 'APT::Keep-Downloaded-Packages "true";' >"$rootfs/etc/apt/apt.conf.d/91keep"
	echo force-unsafe-io >"$rootfs/etc/dpkg/dpkg.cfg.d/91io" # it is not to survive a crash

	mount --bind "$rootfs" "$rootfs"
	mount -t proc proc "$rootfs/proc"
	mount --rbind /sys "$rootfs/sys"
	mount --rbind /dev "$rootfs/dev"
	mount -t tmpfs -o mode=755 tmpfs "$rootfs/run"
	mount --bind "$cache/$suite" "$rootfs/var/cache/apt/archives"

	user=root
	if [ "$suite" != bookworm ]; then
		user=researcher
		chroot "$rootfs" useradd --create-home --shell /bin/bash "$user"
		echo "$user ALL=(ALL) NOPASSWD: ALL" >"$rootfs/etc/sudoers.d/$user"
	fi
	IFS=: read -r _ _ uid gid _ home _ < <(chroot "$rootfs" getent passwd "$user")
	mkdir -p "$cache"/{go,go-build,npm} "$rootfs$home"/{go/pkg/mod,.cache/go-build,.npm}
	mount --bind "$cache/go" "$rootfs$home/go/pkg/mod"
	mount --bind "$cache/go-build" "$rootfs$home/.cache/go-build"
	mount --bind "$cache/npm" "$rootfs$home/.npm"
	compiled=$("$root/hack/go" env GOCACHE)
	[ ! -d "$compiled" ] || mount --bind "$compiled" "$rootfs/srv"
	mount --bind "${TMPDIR:-/tmp}" "$rootfs/media"
	exec {building}>>"$root/build/lock" # which the new system does not see
	git -c safe.directory='*' clone --quiet --no-local "$root" "$rootfs$home/nines"
	chown -R "$uid:$gid" "$rootfs$home"
}

# share_compiled copies what Go has recently compiled on this machine, after waiting for a build that
# is running there. A file that is being written is shorter than its entry says, and Go ignores it.
share_compiled() {
	local to=$home/.cache/go-build
	flock "$building"
	flock --unlock "$building"
	(cd /srv && find . -type f -mmin -120 -print0 | xargs -0 -r cp -an --parents -t "$to") 2>/dev/null || true
	chown -R "$uid:$gid" "$to"
}

# enter makes the new system's root that of this script. In a mere chroot the kernel
# refuses user namespaces, user_namespaces(7), which the unit tests need.
enter() {
	cd "$rootfs"
	pivot_root . mnt
	cd /
	umount --lazy /mnt
	hash -r
}

# inside runs a shell line in the clone as the user of the new system, with nothing of
# this environment but what leads to the network.
inside() {
	local pass=() name
	for name in {http,https,no}_proxy {HTTP,HTTPS,NO}_PROXY GOPROXY GOSUMDB GONOSUMDB \
		GOPRIVATE npm_config_registry; do
		[ -z "${!name:-}" ] || pass+=("$name=${!name}")
	done
	setpriv --reuid="$uid" --regid="$gid" --init-groups env -i "${pass[@]}" \
		HOME="$home" USER="$user" TERM=dumb PATH="$path" GOFLAGS=-count=1 \
		NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt \
		sh -c "cd && cd nines && $1"
}

# What the build and the setup cost when there is nothing to do.
again() {
	local begin=$EPOCHREALTIME out
	out=$(inside 'make --no-print-directory setup')
	[ -z "$out" ] || { say "a second setup does something: $out"; return 1; }
	say "a second setup takes $(awk "BEGIN {print $EPOCHREALTIME - $begin}") s"
	# go build sets the time of what it finds up to date, deliberately.
	local state='sha256sum bin/* && stat -c "%n %y" bin/nines-engine bin/nines-init report/page/* lab/link/xdp/*.o'
	inside "($state) >/tmp/before && make build && ($state) | diff /tmp/before -"
}

# The quickstart as a newcomer has it, but short, and without LXC, which needs cgroups
# that this may not be given where it runs in a container itself.
quickstart() {
	local sudo=
	[ "$user" = root ] || sudo=sudo
	inside "$sudo bin/nines run examples/quickstart.yaml --set topology.nodes.dut.runtime=netns \
		--set traffic.duration=1s --set traffic.warmup=100ms --set repeat=1"
	inside 'test -s results/latest/report.html'
	inside "node -e '
		const {trials} = JSON.parse(require(\"fs\").readFileSync(\"results/latest/summary.json\"));
		const lost = trials.filter((t) => !t.rx_packets);
		console.log(trials.length + \" trials, \" + lost.length + \" without a packet\");
		process.exit(trials.length > 0 && lost.length == 0 ? 0 : 1)'"
	inside "test -z \"\$($sudo bin/nines ls --format json | tr -d \"[]\\n \")\""
}

# as_root runs the tests of a package with such names as root. Go compiles them as the user, whose caches
# root's files would spoil. They take turns with the tests of the machine outside, whose labs have the same
# names: the locks for that are in its temporary folder. A skipped test is a failure here.
as_root() {
	local package=$1 names=$2 out
	inside "hack/go test -c -o build/as-root.test ./$package"
	out=$(inside "cd $package && sudo env TMPDIR=/media NINES_PART=fresh NINES_REQUIRE=all NINES_LIBEXEC=\$HOME/nines/bin \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin ../build/as-root.test -test.v -test.run '$names'" 2>&1) ||
		{ echo "$out"; return 1; }
	if grep -E -- '--- SKIP' <<<"$out" || ! grep -q -- '--- PASS' <<<"$out"; then
		echo "$out"
		return 1
	fi
}

# What only Debian 13 has: distrobuilder makes images, from a root file system of the test's own.
images() {
	inside 'sudo hack/setup/apt.sh distrobuilder xz-utils'
	as_root image Distrobuilder
}

# A whole Debian by one of distrobuilder's definition files, from the mirror.
whole_image() {
	inside 'sudo hack/setup/apt.sh debootstrap'
	inside "cp -r examples/images ../made && sed -i 's#^  downloader:#  url: $(site Debian)\n&#' ../made/distrobuilder/debian.yaml"
	inside 'sudo bin/nines image build ../made/distrobuilder.yaml && sudo bin/nines image rm debian'
}

# Nodes by this Debian's container managers, which are newer than those of the host. It needs the control groups
# of the machine, and no daemon of it.
containers() {
	inside 'sudo hack/setup/apt.sh containerd docker-cli docker.io podman busybox-static iputils-ping'
	as_root lab 'TestAnOCINodeIsItsImage|TestAnOCINodesHugepagesAreLimited|TestAnOCINodeWithAStopSignal'
}

path=/usr/local/bin:/usr/bin:/bin # a Debian user's
[ "$suite" != bookworm ] || path=/usr/local/sbin:/usr/sbin:/sbin:$path
timed 'bootstrap' bootstrap
timed 'furnish' furnish
enter
timed 'make setup' inside 'make setup'
timed 'wait for the build beside this one' share_compiled
timed 'make build' inside 'make build'
timed 'nothing to do again' again
# Only the long form runs the unit tests here, too. Sanitizers look for faults in the code,
# which is the same: they are left out.
if [ -n "${NINES_LONG:-}" ]; then
	timed 'make setup-unit' inside 'make setup-unit'
	timed 'unit tests, without sanitizers' inside 'make test-unit test-web && make -C engine test'
fi
timed 'quickstart' quickstart
if [ "$suite" != bookworm ]; then
	timed 'images by distrobuilder' images
	if [ -n "${NINES_LONG:-}" ]; then
		timed 'a Debian by distrobuilder' whole_image
		timed 'containers' containers
	fi
fi

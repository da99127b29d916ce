# A new Debian in namespaces of its own, for scripts that source this:
#
#   host ── unshare: mounts, processes ── pivot_root build/fresh/<suite>
#                                          ├─ apt, Go, npm: caches in build/cache
#                                          └─ ~/nines: a clone of HEAD
#
# A script begins with `in_new_systems "$@"`, which calls it again for each suite, and then calls bootstrap, furnish,
# clone if it needs the project, and enter. Mirrors, proxies and certificates are those of the machine it runs on;
# DEBIAN_MIRROR names another mirror. Needs root, mmdebstrap and the network; leaves no mount, process or namespace, and
# in build/ only caches. The new system is in memory where 12 GiB are free; FRESH_KEEP=1 has it on the disk, and keeps
# one that failed, to look around in.
# shellcheck shell=bash
# shellcheck disable=SC2016 # $1 and $(SITE) are for mmdebstrap and apt

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=$root/build/cache/fresh

# in_new_systems [SUITE...] returns in the new namespaces of a suite, whose name is then in suite; default: both. The
# outer call ends here. When the inner one ends, however it does, the kernel ends its processes and takes its mounts away.
in_new_systems() {
	if [ "${1:-}" = --inside ]; then
		suite=$2
		rootfs=$root/build/fresh/$suite
		path=/usr/local/bin:/usr/bin:/bin # a Debian user's
		[ "$suite" != bookworm ] || path=/usr/local/sbin:/usr/sbin:/sbin:$path
		step=
		trap '[ -z "$step" ] || say "FAIL $step after $((SECONDS - begin)) s"' EXIT
		return
	fi
	local suites=("$@")
	[ ${#suites[@]} -gt 0 ] || suites=(bookworm trixie)
	for suite in "${suites[@]}"; do
		unshare --mount --propagation private --pid --fork --kill-child --mount-proc "$(realpath "$0")" --inside "$suite"
		rm -rf --one-file-system "$root/build/fresh/$suite"
	done
	exit
}

say() { echo "fresh $suite: $*"; }

# timed NAME COMMAND... runs a step and says how long it took. The first command in it that fails ends the script, as
# `set -e` has it: which a function does not know that stands before `||`.
timed() {
	step=$1 begin=$SECONDS
	shift
	say "$step"
	"$@" </dev/null
	say "PASS $step in $((SECONDS - begin)) s"
	step=
}

# bootstrap PACKAGE,... makes the root file system.
bootstrap() {
	local include=$1
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

# sources are Debian's own suites.
sources() {
	local mirror security
	mirror=${DEBIAN_MIRROR:-$(site Debian)}
	# Labels are known only once the lists have been fetched.
	[ -n "$mirror" ] || { apt-get update -qq >&2 && mirror=$(site Debian); }
	: "${mirror:?the sources of apt name no mirror of Debian: set DEBIAN_MIRROR, such as to http://deb.debian.org/debian}"
	security=${DEBIAN_MIRROR:+${DEBIAN_MIRROR%/}-security}
	security=${security:-$(site Debian-Security)}
	# A mirror has the security updates beside the rest.
	security=${security:-${mirror%/}-security}
	echo "deb $mirror $suite main"
	echo "deb $mirror $suite-updates main"
	echo "deb $security $suite-security main"
}

# furnish gives the new system what a machine on this network has.
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
}

# clone gives the new system a user, and that a clone of the project: root in Debian 12, a user with sudo in Debian 13.
clone() {
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
	cd "$rootfs" || exit
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

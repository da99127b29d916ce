#!/bin/bash
# Proves that the project builds and runs on a Debian with nothing but git and make (hack/fresh/system.sh).
#
#   test/fresh/run.sh [bookworm] [trixie]     default: both
#
# Go's build cache names its entries by a digest of all input, compilers too. So what this machine,
# or the other new system, has compiled from the same files with the same Go is not compiled again.
# Results of tests are not cached.
#
# In Debian 13 it also tests what only that has: distrobuilder and, in the long form, its container managers.
# shellcheck disable=SC2154,SC2016 # what system.sh sets, and $(SITE), which is for apt
set -euo pipefail
# shellcheck source=/dev/null
. "$(dirname "$0")/../../hack/fresh/system.sh"
in_new_systems "$@"

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
	local sudo='' status=0
	[ "$user" = root ] || sudo=sudo
	inside "$sudo bin/nines run examples/quickstart.yaml --set topology.nodes.dut.runtime=netns \
		--set traffic.duration=1s --set traffic.warmup=100ms --set repeat=1" || status=$?
	inside 'test -s results/latest/report.html'
	inside "node -e '
		const {trials} = JSON.parse(require(\"fs\").readFileSync(\"results/latest/summary.json\"));
		const lost = trials.filter((t) => !t.rx_packets);
		console.log(trials.length + \" trials, \" + lost.length + \" without a packet\");
		const noneValid = trials.every((t) => t.verdict == \"invalid\"); // on a busy host
		process.exit(trials.length > 0 && lost.length == 0 && $status == (noneValid ? 1 : 0) ? 0 : 1)'"
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

include=git,make,ca-certificates
[ "$suite" = bookworm ] || include+=,sudo
timed 'bootstrap' bootstrap "$include"
timed 'furnish' furnish
timed 'clone' clone
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

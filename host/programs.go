package host

import (
	"strings"

	"nines.dev/nines/vm/qemuversion"
)

// ovsWithDPDK is Debian's ovs-vswitchd with DPDK, installed next to the one without
// (openvswitch-switch-dpdk; update-alternatives chooses which is in PATH).
const ovsWithDPDK = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"

// programs tells which programs of links and of virtual machines are installed. It looks for most of them only: asking
// for the version would make some set up their memory.
func programs(t Tree) []Feature {
	var list []Feature
	for _, one := range []struct{ feature, program string }{
		{FeatureOVS, "ovs-vswitchd"}, {FeatureOVN, "ovn-controller"}, {FeatureTestpmd, "dpdk-testpmd"}, {FeatureVPP, "vpp"}, {FeatureSnabb, "snabb"},
		{FeatureRunc, "runc"},
		{FeatureCrun, "crun"}, {FeaturePodman, "podman"}, {FeatureDocker, "dockerd"}, {FeatureContainerd, "containerd"},
		{FeatureDNSMasq, "dnsmasq"}, {FeatureSSHServer, "sshd"},
	} {
		found := t.Program(one.program)
		if sbin := "/usr/sbin/" + one.program; found == "" && t.Exists(sbin) {
			found = sbin // a user's PATH often lacks the folder
		}
		if found != "" {
			list = append(list, Feature{Name: one.feature, State: StateYes, Detail: found})
		} else {
			list = append(list, Feature{Name: one.feature, State: StateNo, Detail: "there is no " + one.program + " in PATH"})
		}
	}
	return append(list, ovsDPDK(t), qemu(t))
}

// qemu asks QEMU for its version: an old one is refused before anything is built, as it would fail in the middle.
func qemu(t Tree) Feature {
	f := Feature{Name: FeatureQEMU, State: StateNo, Detail: "there is no qemu-system-x86_64 in PATH"}
	found := t.Program("qemu-system-x86_64")
	if found == "" {
		return f
	}
	output, err := t.Output(found, "--version")
	if err != nil {
		f.State, f.Detail = StateUnknown, found+", whose version is not known"
		return f
	}
	version, works, err := qemuversion.Of(output)
	switch {
	case err != nil:
		f.State, f.Detail = StateUnknown, found+": "+err.Error()
	case works:
		f.State, f.Detail = StateYes, found+" "+version
	default:
		f.Detail = found + " is version " + version + ", and " + qemuversion.Oldest + " or newer is needed"
	}
	return f
}

// ovsDPDK looks for an ovs-vswitchd that reports DPDK with its version.
func ovsDPDK(t Tree) Feature {
	f := Feature{Name: FeatureOVSDPDK, State: StateNo, Detail: "there is no ovs-vswitchd with DPDK"}
	if found := t.Program("ovs-vswitchd-dpdk"); found != "" {
		f.State, f.Detail = StateYes, found
		return f
	}
	if t.Exists(ovsWithDPDK) {
		f.State, f.Detail = StateYes, ovsWithDPDK
		return f
	}
	if version, err := t.Output("ovs-vswitchd", "--version"); err == nil {
		if _, dpdk, ok := strings.Cut(version, "\nDPDK "); ok {
			f.State, f.Detail = StateYes, "DPDK "+strings.TrimSpace(dpdk)
		}
	}
	return f
}

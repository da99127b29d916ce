package link

import (
	"fmt"
	"os/exec"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// ovsPrograms are the paths of Open vSwitch's programs, and of unshare(1).
type ovsPrograms struct{ tool, server, vswitchd, vsctl, ofctl, unshare string }

// The remedies where Open vSwitch is missing. Debian's packages start a service, which nines
// neither needs nor changes.
const (
	ovsRemedy     = "apt-get install openvswitch-switch, or choose another link kind"
	ovsDPDKRemedy = "apt-get install openvswitch-switch-dpdk, or choose another link kind"
)

// findOVS finds the programs of Open vSwitch for links of a kind.
func findOVS(k spec.LinkKind) (ovsPrograms, error) { return findAnyOVS(k, ovsRemedy) }

// findAnyOVS finds them, of whichever build; remedy says how to get what is missing.
func findAnyOVS(k spec.LinkKind, remedy string) (ovsPrograms, error) {
	p, err := findOVSTools(k, remedy)
	if err == nil {
		p.vswitchd, err = Find(string(k), remedy, "ovs-vswitchd", "/usr/sbin/ovs-vswitchd")
	}
	return p, err
}

// findOVSTools finds all of them but the switch itself, of which there are two builds.
func findOVSTools(k spec.LinkKind, remedy string) (ovsPrograms, error) {
	var p ovsPrograms
	for _, program := range []struct {
		path *string
		name string
	}{
		{&p.tool, "ovsdb-tool"}, {&p.server, "ovsdb-server"}, {&p.vsctl, "ovs-vsctl"}, {&p.ofctl, "ovs-ofctl"}, {&p.unshare, "unshare"},
	} {
		var err error
		*program.path, err = Find(string(k), remedy, program.name, "/usr/sbin/"+program.name, "/usr/bin/"+program.name)
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// debianOVSDPDK is Debian's build with DPDK; update-alternatives makes it or the other build
// ovs-vswitchd, and nines does not change that choice.
const debianOVSDPDK = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"

// findOVSWithDPDK finds the programs with the build of the switch that has DPDK.
func findOVSWithDPDK(k spec.LinkKind) (ovsPrograms, error) {
	p, err := findOVSTools(k, ovsDPDKRemedy)
	if err == nil {
		p.vswitchd, err = findVSwitchdWithDPDK(string(k))
	}
	return p, err
}

func findVSwitchdWithDPDK(capability string) (string, error) {
	if path, err := Find(capability, ovsDPDKRemedy, "ovs-vswitchd-dpdk", debianOVSDPDK); err == nil {
		return path, nil
	}
	// Other distributions build their only ovs-vswitchd with DPDK.
	path, err := Find(capability, ovsDPDKRemedy, "ovs-vswitchd", "/usr/sbin/ovs-vswitchd")
	if err != nil {
		return "", err
	}
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s whether it has DPDK (--version): %w", path, err)
	}
	if !strings.Contains(string(out), "DPDK") {
		return "", &exit.MissingError{Capability: capability, Reason: path + " was built without DPDK", Remedy: ovsDPDKRemedy}
	}
	return path, nil
}

func checkOVS(l plan.Link) error {
	_, err := findOVS(l.Kind)
	return err
}

func checkOVSDPDK(l plan.Link) error {
	if _, err := findOVSWithDPDK(l.Kind); err != nil {
		return err
	}
	return checkOVSMemory(l)
}

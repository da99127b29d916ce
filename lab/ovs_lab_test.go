package lab

import (
	"os/exec"
	"testing"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestLabKernelOVS joins nodes by Open vSwitch's kernel datapath, which most build machines lack:
//
//	n1:eth ── veth ─┐
//	n2:eth ── veth ─┼─ br0, module openvswitch
//	n3:eth ── veth ─┘
func TestLabKernelOVS(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootNew, labtest.BootMain)
	labs.NeedOVS(t, "ovs")
	if out, err := exec.Command("modprobe", "openvswitch").CombinedOutput(); err != nil {
		t.Fatalf("modprobe openvswitch: %v: %s", err, out)
	}
	lab := up(t, labs.OVSStar("ovs", 3, 1500))
	everyPingOnce(t, lab)
	datapath := ""
	for _, s := range lab.Settings() {
		datapath += s.Values["datapath"]
	}
	if datapath != "kernel" {
		t.Errorf("datapath %q: %v", datapath, lab.Settings())
	}
}

package lab

import (
	"context"
	"os/exec"
	"strings"
	"testing"
)

// TestAVirtualMachineOnTheManagementNetwork: its last network card is on it, also after a restart, and
// it knows the others' names, as they know its own.
//
//	load:tx ──in, a tap── dut:in      load:mgmt, dut:mgmt (a tap) ──bridge── host
func TestAVirtualMachineOnTheManagementNetwork(t *testing.T) {
	requireQEMU(t)
	dnsmasq(t)
	lab := up(t, `
name: tbvmmgmt
topology:
  nodes:
    load: {}
    dut: {runtime: vm, vm: {acceleration: tcg}}
  links:
    - {name: in, endpoints: ["load:tx", "dut:in"]}
management: {}
`)
	check := func(when string) {
		t.Helper()
		for _, name := range []string{"load", "load.mgmt"} {
			if out := in(t, lab, "dut", "ping", "-c1", "-W60", name); !strings.Contains(out, " 0% packet loss") {
				t.Errorf("%s: dut to %s: %s", when, name, out)
			}
		}
		for _, name := range []string{"dut", "dut.mgmt"} {
			in(t, lab, "load", "ping", "-c1", "-W60", name)
		}
		if out, err := exec.Command("ping", "-c1", "-W60", lab.Plan().ManagementAddress("dut")).CombinedOutput(); err != nil {
			t.Errorf("%s: the host to dut: %v: %s", when, err, out)
		}
		if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
			t.Errorf("%s: %v, %v", when, faults, err)
		}
	}
	check("at first")
	if out := in(t, lab, "dut", "cat", "/etc/resolv.conf"); !strings.Contains(out, "nameserver "+lab.Plan().Management.Server) {
		t.Errorf("whom the guest asks: %s", out)
	}
	if err := lab.Restart(context.Background(), []string{"dut"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	check("after a restart")
	if _, err := lab.SSH("dut", nil); err == nil || !strings.Contains(err.Error(), "is a virtual machine") {
		t.Errorf("nines ssh: %v", err)
	}
}

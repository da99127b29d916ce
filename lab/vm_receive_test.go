package lab

import (
	"strings"
	"testing"

	"nines.dev/nines/lab/receive"
	"nines.dev/nines/test/labs"
)

// TestAMachineReceives: the guest's own kernel has the threads, and the lab knows them.
//
//	load:eth0 ──a tap── dut:eth0, in a virtual machine: received by threads of its kernel
func TestAMachineReceives(t *testing.T) {
	labs.NeedQEMU(t)
	lab := up(t, `
name: tbvmrx
topology:
  nodes:
    load: {}
    dut: {runtime: vm, rx: threaded, vm: {acceleration: tcg}}
  links:
    - {name: wire, endpoints: ["load:eth0", "dut:eth0"]}
`)
	list, err := receive.States(lab.Lab)
	if err != nil || len(list) != 1 || len(list[0].Threads) == 0 || list[0].Problem != "" || !list[0].Guest {
		t.Fatalf("received: %+v, %v", list, err)
	}
	for _, thread := range list[0].Threads {
		if !strings.HasPrefix(thread.Name, "napi/eth0") {
			t.Errorf("the thread of the guest is %+v", thread)
		}
	}
	if got := strings.TrimSpace(in(t, lab, "dut", "cat", "/sys/class/net/eth0/threaded")); got != "1" {
		t.Errorf("threaded is %s in the guest", got)
	}
	address, _, _ := strings.Cut(lab.Plan().Node("dut").Interfaces[0].Addresses[0], "/")
	in(t, lab, "load", "ping", "-c1", "-W60", address)

	if faults, err := receive.Faults(lab.Lab); err != nil || len(faults) != 0 {
		t.Errorf("%+v, %v", faults, err)
	}
}

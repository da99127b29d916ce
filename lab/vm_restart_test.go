package lab

import (
	"context"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/power"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// carriers are how often the carriers of a node's interfaces have changed, by the kernel's count.
func carriers(t *testing.T, lab *Lab, nodeName string) string {
	t.Helper()
	return in(t, lab, nodeName, "sh", "-c", "cd /sys/class/net && grep . */carrier_changes")
}

// TestARestartedMachineKeepsCarriers: QEMU is another and the guest has booted again, and the other
// ends of its links have not noticed; a machine that is stopped takes the carrier.
func TestARestartedMachineKeepsCarriers(t *testing.T) {
	labs.NeedQEMU(t)
	text := vmLabOnBridge
	if labtest.Long() {
		text = vmLab
	}
	lab := up(t, text)
	ctx := context.Background()
	booted := func() string { return in(t, lab, "dut", "cat", "/proc/sys/kernel/random/boot_id") }
	first, qemu, before, changes := booted(), lab.Running("dut").QEMU, network(t, lab, "load"), carriers(t, lab, "load")
	if err := lab.Restart(ctx, []string{"dut"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	if now := lab.Running("dut").QEMU; now == qemu || !now.Alive() || qemu.Alive() {
		t.Errorf("QEMU was %v and is %v", qemu, now)
	}
	if booted() == first {
		t.Error("the guest has not booted again")
	}
	if now := network(t, lab, "load"); now != before {
		t.Errorf("the network of the other node was\n%s\nand is\n%s", before, now)
	}
	if now := carriers(t, lab, "load"); now != changes {
		t.Errorf("carriers had changed %s\nand now %s", changes, now)
	}
	for _, i := range lab.Plan().Node("dut").Interfaces {
		in(t, lab, "dut", "ping", "-c1", "-W60", i.Neighbours[0].IP)
	}
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
		t.Errorf("after the restart: %v, %v", faults, err)
	}

	if err := lab.Stop(ctx, []string{"dut"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "the tap of a stopped machine has no carrier", func() bool {
		return strings.Contains(network(t, lab, "load"), "NO-CARRIER")
	})
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
		t.Errorf("while it is stopped: %v, %v", faults, err)
	}
	if err := lab.Start(ctx, []string{"dut"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "the tap of a started machine is as before", func() bool { return network(t, lab, "load") == before })
}

// TestAnotherMachineKeepsCarriers: apply boots a machine with another memory, and the other ends of its links
// have not noticed.
func TestAnotherMachineKeepsCarriers(t *testing.T) {
	labs.NeedQEMU(t)
	lab := up(t, vmLabOnBridge)
	qemu, before, changes := lab.Running("dut").QEMU, network(t, lab, "load"), carriers(t, lab, "load")
	memory := func() string { return in(t, lab, "dut", "grep", "MemTotal", "/proc/meminfo") }
	small := memory()
	other := strings.Replace(vmLabOnBridge, "runtime: vm,", "runtime: vm, memory: 1GiB,", 1)
	got, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, other), Experiment: []byte(other)})
	if err != nil || !slices.Equal(got.FreshNodes, []string{"dut"}) || len(got.ReplacedNodes)+len(got.ReplacedLinks)+len(got.AddedEndpoints) > 0 {
		t.Fatalf("apply changed %+v, %v", got, err)
	}
	if now := lab.Running("dut").QEMU; now == qemu || !now.Alive() || qemu.Alive() {
		t.Errorf("QEMU was %v and is %v", qemu, now)
	}
	if now := memory(); now == small {
		t.Errorf("its memory is %s still", now)
	}
	if now := network(t, lab, "load"); now != before {
		t.Errorf("the network of the other node was\n%s\nand is\n%s", before, now)
	}
	if now := carriers(t, lab, "load"); now != changes {
		t.Errorf("carriers had changed %s\nand now %s", changes, now)
	}
	for _, i := range lab.Plan().Node("dut").Interfaces {
		in(t, lab, "dut", "ping", "-c1", "-W60", i.Neighbours[0].IP)
	}
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
		t.Errorf("afterwards: %v, %v", faults, err)
	}
}

// TestPowerOfAMachine: a diagnostic interrupt reaches the guest's kernel, a soft shutdown its processes,
// and a reset by IPMI boots it again, in its network.
func TestPowerOfAMachine(t *testing.T) {
	labs.NeedQEMU(t)
	needClient(t, "ipmitool")
	password := labs.PasswordFile(t)
	lab := up(t, vmLabOnBridge+"power: {protocols: [ipmi], address: 127.77.9.1, user: admin, password_file: "+password+"}\n")
	var lines []string
	do := func(action power.Action) {
		t.Helper()
		if err := Power(context.Background(), lab.Name(), "dut", action, PowerOptions{By: "a test", Progress: func(line string) { lines = append(lines, line) }}); err != nil {
			t.Fatalf("%s: %v", action, err)
		}
		now, err := Open(lab.Name())
		if err != nil {
			t.Fatal(err)
		}
		lab = now
		if s, err := lab.PowerState("dut"); err != nil || s.Changing || s.On != (action.Starts() || action == power.Diag) {
			t.Errorf("after %s: %+v, %v", action, s, err)
		}
	}
	booted := func() string { return in(t, lab, "dut", "cat", "/proc/sys/kernel/random/boot_id") }
	first := booted()
	do(power.Diag)
	labtest.Eventually(t, "the guest's kernel has got an NMI", func() bool {
		return strings.Contains(in(t, lab, "dut", "dmesg"), "NMI received")
	})
	if booted() != first {
		t.Error("the interrupt has restarted the guest")
	}
	// Inside, and at the other ends.
	inside := func() string { return in(t, lab, "dut", "sh", "-c", "ip -o link; ip -o address; ip route") }
	guest, peer, changes, qemu := inside(), network(t, lab, "load"), carriers(t, lab, "load"), lab.Running("dut").QEMU
	c := console{t: t, address: "127.77.9.1", password: password, port: 6001}
	ipmitool := func(action string, on, boots bool) {
		t.Helper()
		before := lab.Running("dut").QEMU
		if said, code := c.ipmitool(17, "power", action); code != 0 {
			t.Fatalf("ipmitool power %s: exit code %d: %s", action, code, said)
		}
		labtest.Within(t, powerPatience, "the guest has got "+action, func() bool {
			now, err := Open(lab.Name())
			if err != nil {
				t.Fatal(err)
			}
			lab = now
			s, err := lab.PowerState("dut")
			return err == nil && s.On == on && !s.Changing && (!boots || lab.Running("dut").QEMU != before)
		})
		want := "Chassis Power is off"
		if on {
			want = "Chassis Power is on"
			for _, i := range lab.Plan().Node("dut").Interfaces {
				in(t, lab, "dut", "ping", "-c1", "-W60", i.Neighbours[0].IP)
			}
		}
		if said, code := c.ipmitool(17, "power", "status"); code != 0 || !strings.Contains(said, want) {
			t.Errorf("after power %s the status is %s, exit code %d", action, said, code)
		}
	}
	ipmitool("reset", true, true)
	if lab.Running("dut").QEMU == qemu {
		t.Error("QEMU is the one before the reset")
	}
	second := booted()
	if second == first {
		t.Error("the guest has not booted again")
	}
	if now := inside(); now != guest {
		t.Errorf("after a reset the guest's network was\n%s\nand is\n%s", guest, now)
	}
	if now := network(t, lab, "load"); now != peer {
		t.Errorf("after a reset the network of the other node was\n%s\nand is\n%s", peer, now)
	}
	if now := carriers(t, lab, "load"); now != changes {
		t.Errorf("carriers had changed %s\nand now %s", changes, now)
	}
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 { // its engine answers, too
		t.Errorf("after a reset: %v, %v", faults, err)
	}
	lines = nil
	do(power.Soft)
	for _, line := range lines {
		if strings.Contains(line, "has not shut down") {
			t.Errorf("the guest did not shut down: %s", line)
		}
	}
	if !labtest.Long() {
		return // one boot less
	}
	do(power.Cycle)
	if booted() == second {
		t.Error("the guest has not booted after a soft shutdown and a cycle")
	}
	ipmitool("soft", false, false)
	ipmitool("on", true, true)
	ipmitool("off", false, false)
	ipmitool("on", true, true)
	ipmitool("cycle", true, true)
	if now := inside(); now != guest {
		t.Errorf("in the end the guest's network is\n%s\nand was\n%s", now, guest)
	}
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
		t.Errorf("in the end: %v, %v", faults, err)
	}
}

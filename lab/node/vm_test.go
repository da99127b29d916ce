package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/golden"
	"nines.dev/nines/vm"
)

// machines are nodes with what their interfaces are connected to.
var machines = map[string]struct {
	node  plan.Node
	files vmFiles
	ports []Port
}{
	"taps": {
		plan.Node{
			HostName: "lab-dut", VM: &plan.VM{VCPUs: 1, MemoryBytes: 512 << 20},
			Interfaces: []plan.Interface{{Name: "in", MAC: "02:00:00:00:00:01", PCI: "0000:01:00.0"}, {Name: "out", MAC: "02:00:00:00:00:02", PCI: "0000:02:00.0"}},
		},
		vmFiles{Accelerator: vm.TCG},
		[]Port{{FD: 3}, {FD: 4}},
	},
	// A host with two NUMA nodes, KVM and vhost-net; the guest's engine uses DPDK.
	"dpdk": {
		plan.Node{
			HostName: "lab-dut",
			VM: &plan.VM{
				VM:    spec.VM{CommandLine: "isolcpus=1 idle=poll"},
				VCPUs: 2, Pinned: true, MemoryBytes: 1 << 30, Huge: true, MemoryNode: 1, GuestHugepages: 40,
			},
			Interfaces: []plan.Interface{
				{Name: "in", MAC: "02:00:00:00:00:01", PCI: "0000:01:00.0", Device: &plan.Device{Arguments: "0000:01:00.0"}},
				{Name: "out", MAC: "02:00:00:00:00:02", PCI: "0000:02:00.0", Device: &plan.Device{Arguments: "0000:02:00.0"}},
			},
		},
		vmFiles{Accelerator: vm.KVM, VhostNet: true, NUMA: true, PageBytes: 2 << 20, Modules: "/cache/modules.ext4"},
		[]Port{{Socket: "/run/l/sockets/in.1/s"}, {Socket: "/run/l/sockets/out.0/s", Server: true}},
	},
	// Virtual functions as whole devices: their bus numbers come after the tap's.
	"functions": {
		plan.Node{
			HostName: "lab-dut", VM: &plan.VM{VCPUs: 1, Pinned: true, MemoryBytes: 512 << 20},
			Interfaces: []plan.Interface{
				{Name: "in", MAC: "02:00:00:00:00:01", PCI: "0000:02:00.0"},
				{Name: "out", MAC: "02:00:00:00:00:02", PCI: "0000:03:00.0", Device: &plan.Device{Arguments: "0000:03:00.0"}},
				{Name: "admin", MAC: "02:00:00:00:00:03", PCI: "0000:01:00.0"},
			},
		},
		vmFiles{Accelerator: vm.KVM, VhostNet: true},
		[]Port{{HostDevice: "0000:3b:02.1"}, {HostDevice: "0000:3b:06.1"}, {FD: 3}},
	},
}

// TestMachinesOfNodes: QEMU's command line, with a flag and its value per line.
func TestMachinesOfNodes(t *testing.T) {
	for name, m := range machines {
		t.Run(name, func(t *testing.T) {
			files := m.files
			files.Dir, files.EngineSocket, files.Kernel, files.Initrd = "/run/l/vms/dut", "/run/l/engines/dut.sock", "/cache/vmlinuz", "/run/l/vms/initrd"
			config := vmConfig(m.node, files, m.ports)
			if err := config.Check(); err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(strings.Join(vm.Arguments(config), " "), " -", "\n-") + "\n"
			golden.Equal(t, filepath.Join("testdata", "vm", name+".golden"), text)
		})
	}
}

// TestGuestCommand: CPUs have the plan's numbers on the host and the guest's inside.
func TestGuestCommand(t *testing.T) {
	n := plan.Node{Name: "dut", CPUs: []int{8, 9, 10, 40}, VM: &plan.VM{VCPUs: 4, Pinned: true}}
	for _, c := range []struct {
		cpus []int
		want string
	}{
		{nil, "ip link"},
		{[]int{9}, "taskset 0x2 ip link"},
		{[]int{9, 40}, "taskset 0xa ip link"},
		{[]int{8, 9, 10, 40}, "ip link"},
	} {
		cmd := guestCommand(t.Context(), "/bin/true", "/m.json", n, Entry{Argv: []string{"ip", "link"}, CPUs: c.cpus})
		_, got, _ := strings.Cut(strings.Join(cmd.Args, " "), " -- ")
		if got != c.want {
			t.Errorf("CPUs %v: %q, not %q", c.cpus, got, c.want)
		}
	}
	if got := CPUMask([]int{0, 4, 33}); got != "0x200000011" {
		t.Errorf("the mask is %s", got)
	}
}

// TestHostThreads finds a thread of this test by its number in the innermost namespace.
func TestHostThreads(t *testing.T) {
	self := identityOfSelf(t)
	threads, err := hostThreads(self, []int{self.PID})
	if err != nil || len(threads) != 1 || threads[0] != self.PID {
		t.Errorf("%v, %v", threads, err)
	}
	if _, err := hostThreads(self, []int{1 << 30}); err == nil {
		t.Error("it found a thread that there is not")
	}
}

func identityOfSelf(t *testing.T) proc.Identity {
	t.Helper()
	id, err := proc.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// TestWallsLeaveWhatANodeNeeds: programs have what Docker gives, their network, and what the file allows; what could
// change the host goes, unless it is allowed and the node's devices cannot do without.
func TestWallsLeaveWhatANodeNeeds(t *testing.T) {
	container := plan.Node{Runtime: spec.RuntimeLXC}
	systemd := plan.Node{Runtime: spec.RuntimeLXC, Rootfs: &spec.Rootfs{Kind: spec.RootfsDebian, Init: spec.InitSystemd}}
	dpdk := []spec.Allowance{spec.AllowDPDK}
	xdp := []plan.Interface{{Device: &plan.Device{Driver: "net_af_xdp"}}}
	for _, test := range []struct {
		name       string
		node       plan.Node
		has, lacks []string
		engine     []string
	}{
		{"netns", plan.Node{}, nil, []string{"sys_admin", "mknod", "setfcap", "sys_rawio", "bpf", "perfmon", "ipc_lock", "sys_nice"}, nil},
		{"container", container, []string{"mknod", "setfcap"}, []string{"sys_admin", "sys_rawio", "bpf", "sys_ptrace", "sys_resource"}, nil},
		{"systemd", systemd, []string{"sys_admin", "mknod"}, []string{"sys_rawio"}, nil},
		{"bpf", plan.Node{Allow: []spec.Allowance{spec.AllowBPF}}, []string{"bpf"}, []string{"perfmon", "sys_admin"}, nil},
		{"perf", plan.Node{Allow: []spec.Allowance{spec.AllowPerf}}, []string{"perfmon"}, []string{"bpf", "sys_admin"}, nil},
		{"io_uring", plan.Node{Allow: []spec.Allowance{spec.AllowIOUring}}, nil, []string{"bpf", "perfmon", "ipc_lock"}, nil},
		{"dpdk", plan.Node{Allow: dpdk}, []string{"ipc_lock", "sys_nice"}, []string{"sys_admin", "sys_rawio", "bpf"}, nil},
		{"af_xdp", plan.Node{Interfaces: xdp}, nil, []string{"sys_admin"}, []string{"sys_admin"}},
		{"af_xdp, allowed", plan.Node{Interfaces: xdp, Allow: dpdk}, []string{"sys_admin"}, []string{"sys_rawio"}, []string{"sys_admin"}},
		{"vfio", plan.Node{Devices: []string{"/dev/vfio/7"}, Allow: dpdk}, []string{"ipc_lock"}, []string{"sys_admin", "sys_rawio"}, nil},
		{"vfio without an IOMMU", plan.Node{Devices: []string{"/dev/vfio/noiommu-0"}, Allow: dpdk}, []string{"sys_admin", "sys_rawio"}, nil, []string{"sys_admin", "sys_rawio"}},
		{"uio", plan.Node{Devices: []string{"/dev/uio0"}}, nil, []string{"sys_admin", "sys_rawio"}, []string{"sys_admin", "sys_rawio"}},
	} {
		walls := WallsOf(test.node)
		for _, name := range slices.Concat(test.has, []string{"net_admin", "net_raw", "setuid"}) {
			if !slices.Contains(walls.Capabilities, name) {
				t.Errorf("%s lacks %s", test.name, name)
			}
		}
		for _, name := range slices.Concat(test.lacks, []string{"dac_read_search", "sys_module", "sys_time", "sys_boot", "syslog", "mac_admin", "mac_override"}) {
			if slices.Contains(walls.Capabilities, name) {
				t.Errorf("%s has %s", test.name, name)
			}
		}
		engine := capabilitiesOf(walls.engine)
		for _, name := range slices.Concat(test.engine, []string{"bpf", "perfmon", "net_admin", "net_raw", "ipc_lock", "sys_nice"}) {
			if !slices.Contains(engine, name) {
				t.Errorf("%s: its engine lacks %s", test.name, name)
			}
		}
		if slices.Contains(engine, "sys_admin") && !slices.Contains(test.engine, "sys_admin") {
			t.Errorf("%s: its engine has %v", test.name, engine)
		}
		if walls.Privileged || walls.WritableSysfs != (test.name == "uio") {
			t.Errorf("%s: %+v", test.name, walls)
		}
		test.node.Privileged, test.node.Allow = true, nil
		if walls := WallsOf(test.node); !walls.Privileged || len(walls.arguments()) > 0 {
			t.Errorf("%s, privileged: %+v", test.name, walls)
		}
	}
}

// TestACommandGainsNoPrivilegesWhereTheNodeDoesNot: what a node's first process has given up for
// good, a command that enters has given up, too.
func TestACommandGainsNoPrivilegesWhereTheNodeDoesNot(t *testing.T) {
	labtest.Root(t)
	setpriv, err := exec.LookPath("setpriv")
	labtest.Require(t, "setpriv", err == nil)
	first := exec.Command(setpriv, "--no-new-privs", "--bounding-set=-sys_time", "sh", "-c", "echo; exec sleep 60")
	ready, err := first.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = first.Process.Kill(), first.Wait() }()
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		t.Fatalf("setpriv has failed: %v", err)
	}
	id, err := proc.Of(first.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	status := func(text []byte) string {
		lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool {
			return !strings.HasPrefix(line, "CapBnd") && !strings.HasPrefix(line, "NoNewPrivs")
		})
		return strings.Join(lines, " ")
	}
	want, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", id.PID))
	if err != nil {
		t.Fatal(err)
	}
	initPath, err := Program("nines-init")
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := (&Running{Name: "a", Identity: id}).Enter(context.Background(), initPath, Entry{Argv: []string{"cat", "/proc/self/status"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if status(got) != status(want) || !strings.Contains(status(got), "NoNewPrivs:\t1") {
		t.Errorf("the command has %s, and the first process %s", status(got), status(want))
	}
}

// The plan of a node with functions has no device nodes, but its engine has to have the rights to drive them.
func TestTheEngineMayDriveTheNodesFunctions(t *testing.T) {
	const address = "0000:42:10.0"
	bus := pci.Bus{Root: t.TempDir()}
	device := filepath.Join(bus.Root, "sys/bus/pci/devices", address)
	if err := os.MkdirAll(filepath.Join(device, "uio/uio3"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../../../bus/pci/drivers/"+pci.DriverUIO, filepath.Join(device, "driver")); err != nil {
		t.Fatal(err)
	}
	n := withDevices(plan.Node{Functions: []string{address}}, bus)
	if !slices.Equal(n.Devices, []string{"/dev/uio3"}) {
		t.Errorf("its device nodes are %v", n.Devices)
	}
	if w := WallsOf(n); w.engine&maskOf(ofPhysicalMemory) != maskOf(ofPhysicalMemory) {
		t.Errorf("its engine has the capabilities %x", w.engine)
	}
}

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// systemOVS lists what belongs to the system's own Open vSwitch and DPDK.
func systemOVS(t testing.TB) []string {
	t.Helper()
	var list []string
	for _, dir := range []string{"/run/openvswitch", "/etc/openvswitch", "/var/lib/openvswitch", "/var/log/openvswitch", "/run/ovn", "/etc/ovn", "/var/lib/ovn", "/var/log/ovn"} {
		_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // absent files are not listed
			}
			if info, err := d.Info(); err == nil {
				list = append(list, fmt.Sprint(path, info.Mode(), info.Size(), info.ModTime()))
			}
			return nil
		})
	}
	return list
}

// everyPingOnce pings from every node to every other over its first link with a full frame. One
// packet at a time, as ping waits for a second answer at most twice as long as for the first, and a
// userspace switch sometimes waits for its CPU.
func everyPingOnce(t *testing.T, lab *Lab) {
	t.Helper()
	for _, n := range lab.Plan().Nodes {
		for _, i := range n.Interfaces {
			for _, neighbour := range i.Neighbours {
				out := in(t, lab, n.Name, "ping", "-c1", "-W5", "-M", "do", "-s", fmt.Sprint(i.MTU-28), neighbour.IP)
				if !strings.Contains(out, " 0% packet loss") {
					t.Errorf("%s to %s: %s", n.Name, neighbour.IP, out)
				}
			}
		}
	}
}

// TestOVSCarriesPackets pings from every node to every other:
//
//	n1:eth ── AF_XDP or AF_PACKET ─┐
//	n2:eth ────────────────────────┼─ br0 of ovs-vswitchd
//	n3:eth ────────────────────────┘
func TestOVSCarriesPackets(t *testing.T) {
	for _, kind := range []string{"ovs", "ovs-dpdk"} {
		for _, c := range []struct{ nodes, mtu int }{{2, 1500}, {3, 1500}, {2, 9000}} {
			t.Run(fmt.Sprintf("%s/%d/%d", kind, c.nodes, c.mtu), func(t *testing.T) {
				labs.NeedOVS(t, kind)
				everyPingOnce(t, up(t, labs.OVSStar(kind, c.nodes, c.mtu)))
			})
		}
	}
}

// ovsCommand runs one of Open vSwitch's programs on a link's private instance.
func ovsCommand(t testing.TB, lab *Lab, linkName, program string, arguments ...string) string {
	t.Helper()
	dir := filepath.Join(lab.State().Dir, "switches", linkName)
	for i, a := range arguments {
		arguments[i] = strings.ReplaceAll(a, "DIR", dir)
	}
	cmd := exec.Command(program, arguments...)
	cmd.Env = append(os.Environ(), "OVS_RUNDIR="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v: %s", program, arguments, err, out)
	}
	return string(out)
}

func TestOVSLearns(t *testing.T) {
	labs.NeedOVS(t, "ovs")
	lab := up(t, labs.OVSStar("ovs", 3, 1500))
	everyPingOnce(t, lab)
	table := ovsCommand(t, lab, "lan", "ovs-appctl", "--target=DIR/vswitchd.ctl", "fdb/show", "br0")
	for _, n := range lab.Plan().Nodes {
		if mac := n.Interfaces[0].MAC; !strings.Contains(table, mac) {
			t.Errorf("it has not learnt %s of %s:\n%s", mac, n.Name, table)
		}
	}
	seen, err := lab.Inspect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if devices := seen.LinkList[0].Devices; len(devices) != 3 || devices[0].RxPackets == 0 {
		t.Errorf("its ports are %+v, want three with packets", devices)
	}
	// n3 must not see the packets between n1 and n2.
	before := in(t, lab, "n3", "cat", "/sys/class/net/eth/statistics/rx_packets")
	neighbour := lab.Plan().Nodes[0].Interfaces[0].Neighbours[0].IP
	for range 10 {
		in(t, lab, "n1", "ping", "-c1", "-W5", neighbour)
	}
	if after := in(t, lab, "n3", "cat", "/sys/class/net/eth/statistics/rx_packets"); after != before {
		t.Errorf("n3 had %s packets and has %s: known addresses are flooded", before, after)
	}
}

func TestOVSForwardsByFlows(t *testing.T) {
	labs.NeedOVS(t, "ovs")
	lab := up(t, strings.Replace(labs.OVSStar("ovs", 2, 1500), "kind: ovs,", "kind: ovs, switch: {forwarding: flows},", 1))
	everyPingOnce(t, lab)
	flows := ovsCommand(t, lab, "lan", "ovs-ofctl", "dump-flows", "unix:DIR/br0.mgmt")
	if strings.Contains(flows, "NORMAL") || strings.Count(flows, "actions=output:") != 2 {
		t.Errorf("not one rule a direction:\n%s", flows)
	}
}

// TestTwoInstancesOfOVS has both kinds in one lab, and a second lab at the same time. All userspace
// datapaths have a device named ovs-netdev.
func TestTwoInstancesOfOVS(t *testing.T) {
	labs.NeedOVS(t, "ovs")
	labs.NeedOVS(t, "ovs-dpdk")
	before := systemOVS(t)
	both := `
name: tbovstwo
topology:
  nodes: {n1: {runtime: netns}, n2: {runtime: netns}}
  links:
    - {name: user, kind: ovs, endpoints: ["n1:a", "n2:a"]}
    - {name: dpdk, kind: ovs-dpdk, endpoints: ["n1:b", "n2:b"]}
dpdk: {hugepages: none}
`
	lab := up(t, both)
	everyPingOnce(t, up(t, labs.OVSStar("ovs", 2, 1500)))
	everyPingOnce(t, lab)
	if after := systemOVS(t); !slices.Equal(before, after) {
		t.Errorf("the system's Open vSwitch was touched:\n%v\n%v", before, after)
	}
	if left, err := filepath.Glob(filepath.Join("/run/dpdk", lab.Plan().Prefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("DPDK has folders of the host's: %q, %v", left, err)
	}
}

func TestADeadOVSIsTold(t *testing.T) {
	for _, kind := range []string{"ovs", "ovs-dpdk"} {
		t.Run(kind, func(t *testing.T) {
			labs.NeedOVS(t, kind)
			lab := up(t, labs.OVSStar(kind, 2, 1500))
			everyPingOnce(t, lab)
			programs, err := lab.Programs()
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(programs, func(p running.ProgramState) bool { return p.Name == "ovs-vswitchd" })
			if at < 0 {
				t.Fatalf("no ovs-vswitchd among %+v", programs)
			}
			if err := syscall.Kill(programs[at].PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				faults := statusOf(lab.Name()).Faults
				if len(faults) == 1 && strings.Contains(faults[0], "ovs-vswitchd of link lan has died") {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("the faults are %q", faults)
				}
			}
			// The interfaces still exist: only what joined them is gone.
			in(t, lab, "n1", "ip", "link", "show", "eth")
			prefix := lab.Plan().Prefix
			if err := lab.Down(context.Background()); err != nil {
				t.Fatal(err)
			}
			if left := traces.Left(t, prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
				t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
			}
		})
	}
}

// TestAMissingProgramIsToldBeforeAnythingIsMade hides from nines the programs that Debian lacks.
func TestAMissingProgramIsToldBeforeAnythingIsMade(t *testing.T) {
	for kind, program := range map[spec.LinkKind]string{spec.LinkVPP: "vpp", spec.LinkSnabb: "snabb"} {
		labtest.Root(t)
		t.Setenv("PATH", t.TempDir())
		for _, folder := range []string{"/usr/local/bin", "/usr/bin", "/usr/sbin"} { // where nines looks, too
			_, err := os.Stat(filepath.Join(folder, program))
			labtest.Require(t, "a host without "+program, err != nil)
		}
		// Snabb does not do without hugepages; the program is looked for first.
		p := labs.Plan(t, labs.Star(string(kind), 2, 1500)+"dpdk: {hugepages: reserve}\n")
		if link.Check(p) == nil {
			continue // it is where nines looks outside PATH, too
		}
		_, err := Up(context.Background(), UpOptions{Plan: p})
		var missing *exit.MissingError
		if !errors.As(err, &missing) || missing.Capability != string(kind) || missing.Remedy == "" || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line that names what is missing and how to get it", kind, err)
		}
	}
}

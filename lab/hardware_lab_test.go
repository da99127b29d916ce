package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// down takes a lab down before the test ends.
func down(t testing.TB, lab *Lab) {
	t.Helper()
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := traces.Left(t, lab.Plan().Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestLabSRIOVInOneCard: with one port, its internal switch joins the two functions.
func TestLabSRIOVInOneCard(t *testing.T) {
	labtest.LongForm(t) // TestLabFunctionsAreSetUpAgain pings in one card, too
	labs.Laboratory(t)
	lab := up(t, `name: tbinside
topology:
  nodes: {a: {}, b: {}}
  links: [{name: wire, kind: sriov, endpoints: ["a:x", "b:x"], sriov: {ports: [eth0]}}]
`)
	in(t, lab, "a", "ping", "-c", "2", "-W", "5", strings.Split(lab.Plan().Nodes[1].Interfaces[0].Addresses[0], "/")[0])
	down(t, lab)
}

// TestLabSRIOVChain: three containers in a line with a VLAN per hop (figure 2.3 of the thesis),
// where the middle one routes, on pairs of VFs over the cable. The VFs are interfaces of the
// containers, with the plan's names, addresses and settings, and frames of one hop are not seen on
// the other.
func TestLabSRIOVChain(t *testing.T) {
	labs.Laboratory(t)
	labs.NeedLXC(t)
	lab := up(t, `name: tbchain
topology:
  nodes:
    a: {runtime: lxc, addresses: {x: [10.1.0.1/24]}, routes: [{to: 10.2.0.0/24, via: 10.1.0.2}]}
    b: {runtime: lxc, addresses: {x: [10.1.0.2/24], y: [10.2.0.2/24]}, app: {kind: route}}
    c: {runtime: lxc, addresses: {x: [10.2.0.3/24]}, routes: [{to: 10.1.0.0/24, via: 10.2.0.2}]}
  links:
    - {name: ab, kind: sriov, endpoints: ["a:x", "b:x"], sriov: {ports: [eth0, eth1], vlan: 401, rate: 500Mbit/s, trust: true, spoof_check: true}}
    - {name: bc, kind: sriov, endpoints: ["b:y", "c:x"], sriov: {ports: [eth0, eth1]}}
`)
	in(t, lab, "a", "ping", "-c", "2", "-W", "5", "-s", "1472", "10.2.0.3")
	a := lab.Plan().Nodes[0].Interfaces[0]
	left := labtest.Sh(t, "ip", "link", "show", labtest.LeftPort)
	if !regexp.MustCompile(`vf \d .*` + a.MAC + `.*vlan 401.*500Mbps.*spoof checking on.*trust on`).MatchString(left) {
		t.Errorf("the port says\n%s", left)
	}
	if got := in(t, lab, "a", "cat", "/sys/class/net/x/address"); got != a.MAC {
		t.Errorf("a:x has the address %s, want %s", got, a.MAC)
	}
	if got := in(t, lab, "a", "cat", "/proc/sys/net/ipv6/conf/x/disable_ipv6"); got != "1" {
		t.Errorf("IPv6 of a:x is on")
	}
	links := lab.Plan().Links
	first, second := links[0].Endpoints[0].Function.VLAN, links[1].Endpoints[0].Function.VLAN
	port := labtest.Sh(t, "ip", "link", "show", labtest.RightPort)
	if first == second || !strings.Contains(port, fmt.Sprintf("vlan %d,", first)) || !strings.Contains(port, fmt.Sprintf("vlan %d,", second)) {
		t.Errorf("VLANs %d and %d; the port says\n%s", first, second, port)
	}
	counted := func() int {
		n, err := strconv.Atoi(in(t, lab, "c", "cat", "/sys/class/net/x/statistics/rx_packets"))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := counted()
	// Nobody has that address, so a broadcasts ARP requests on its hop.
	cmd, err := lab.Command(context.Background(), "a", []string{"ping", "-c", "3", "-W", "1", "10.1.0.77"}, running.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out, _ := cmd.CombinedOutput() // nobody answers
	if !bytes.Contains(out, []byte("3 packets transmitted")) {
		t.Fatalf("ping: %s", out)
	}
	if after := counted(); after != before {
		t.Errorf("c received %d packets that a sent to its own hop", after-before)
	}
	down(t, lab)
}

// TestLabSRIOVWithDPDK: functions bound to vfio-pci, driven by engines in containers and
// namespaces, or at one end by the kernel.
func TestLabSRIOVWithDPDK(t *testing.T) {
	type ends struct{ runtime, from, app string }
	// TestLabVFsOfOthers has the second, too.
	for _, c := range labtest.Cases(1, []ends{{"lxc", "dpdk", "dpdk"}, {"netns", "raw", "dpdk"}}) {
		t.Run(c.runtime+"/"+c.from, func(t *testing.T) {
			labs.Laboratory(t)
			labs.NeedLXC(t)
			text := strings.Replace(labs.Echo("sriov", c.runtime, c.from, c.app), `"b:y"]`, `"b:y"], sriov: {ports: [eth0, eth1]}`, 1)
			lab := up(t, text)
			f := lab.Plan().Links[0].Endpoints[1].Function
			if driver, err := os.Readlink("/sys/bus/pci/devices/" + f.Address + "/driver"); err != nil || filepath.Base(driver) != "vfio-pci" {
				t.Errorf("the driver of %s is %s, %v", f.Address, driver, err)
			}
			echo(t, lab)
			down(t, lab)
		})
	}
}

// TestLabSRIOVWithUIO: functions bound to uio_pci_generic, driven by engines in a namespace and in
// a container. They need physical addresses, so the IOMMU of this boot passes addresses through
// (iommu=pt), and the memory is hugepages.
func TestLabSRIOVWithUIO(t *testing.T) {
	for _, runtime := range []string{"netns", "lxc"} {
		t.Run(runtime, func(t *testing.T) {
			labs.LaboratoryOn(t, labtest.BootV1)
			labs.NeedLXC(t)
			text := strings.Replace(labs.Echo("sriov", runtime, "dpdk", "dpdk"), `"b:y"]`, `"b:y"], sriov: {ports: [eth0, eth1], driver: uio_pci_generic}`, 1)
			lab := up(t, strings.Replace(text, "hugepages: none", "hugepages: reserve, memory: 32MiB", 1))
			f := lab.Plan().Links[0].Endpoints[1].Function
			if driver, err := os.Readlink("/sys/bus/pci/devices/" + f.Address + "/driver"); err != nil || filepath.Base(driver) != "uio_pci_generic" {
				t.Errorf("the driver of %s is %s, %v", f.Address, driver, err)
			}
			echo(t, lab)
			down(t, lab)
		})
	}
}

// TestLabPassthrough: both ports as whole devices, as interfaces, and for DPDK in a container.
func TestLabPassthrough(t *testing.T) {
	labtest.VirtualLab(t)
	// Settings of the ports that the kernel forgets when the ports move.
	for file, value := range map[string]string{"ipv4/conf/" + labtest.LeftPort + "/arp_ignore": "1", "ipv6/neigh/" + labtest.RightPort + "/gc_stale_time": "77"} {
		path := "/proc/sys/net/" + file
		old, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(value), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.WriteFile(path, old, 0o644) })
	}
	t.Run("kernel", func(t *testing.T) {
		labs.Laboratory(t)
		labs.NeedLXC(t)
		lab := up(t, `name: tbwhole
topology:
  nodes: {a: {}, b: {runtime: lxc}}
  links: [{name: wire, kind: passthrough, endpoints: ["a:x", "b:x"], passthrough: {devices: [eth0, "0000:42:00.0"]}}]
`)
		in(t, lab, "a", "ping", "-c", "2", "-W", "5", strings.Split(lab.Plan().Nodes[1].Interfaces[0].Addresses[0], "/")[0])
		down(t, lab)
	})
	t.Run("dpdk", func(t *testing.T) {
		labs.Laboratory(t)
		labs.NeedLXC(t)
		lab := up(t, strings.Replace(labs.Echo("passthrough", "lxc", "dpdk", "dpdk"), `"b:y"]`, `"b:y"], passthrough: {devices: [eth0, eth1]}`, 1))
		echo(t, lab)
		down(t, lab)
	})
}

// TestLabFunctionsAreSetUpAgain: a port that is reset has forgotten its functions. Their driver
// notices it late and waits for ever; each gets its carrier and its settings back.
func TestLabFunctionsAreSetUpAgain(t *testing.T) {
	labs.Laboratory(t)
	lab := up(t, `name: tbreset
topology:
  nodes: {a: {routes: [{to: 10.9.0.0/24, via: 10.1.0.2}], addresses: {x: [10.1.0.1/24]}}, b: {addresses: {x: [10.1.0.2/24]}}}
  links: [{name: wire, kind: sriov, endpoints: ["a:x", "b:x"], sriov: {ports: [eth0]}}]
`)
	carrier := func(node string) string { return in(t, lab, node, "cat", "/sys/class/net/x/carrier") }
	labtest.Sh(t, "ip", "link", "set", labtest.LeftPort, "down")
	labtest.Sh(t, "ip", "link", "set", labtest.LeftPort, "up")
	for end := time.Now().Add(20 * time.Second); carrier("a") == "1"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a function has not lost its port that was reset")
		}
	}
	site := &link.Site{Plan: lab.Plan(), Nodes: map[string]link.Holder{}}
	for _, n := range lab.Plan().Nodes {
		site.Nodes[n.Name] = link.HolderOf(lab.Running(n.Name))
	}
	if err := site.SettleFunctions(context.Background(), lab.Plan().Links); err != nil {
		t.Fatal(err)
	}
	for _, n := range lab.Plan().Nodes {
		if got := carrier(n.Name); got != "1" {
			t.Errorf("the carrier of %s is %s", n.Name, got)
		}
	}
	in(t, lab, "a", "ping", "-c", "2", "-W", "5", "10.1.0.2")
	if routes := in(t, lab, "a", "ip", "route"); !strings.Contains(routes, "10.9.0.0/24 via 10.1.0.2") {
		t.Errorf("the routes are\n%s", routes)
	}
	down(t, lab)
}

// TestLabVFsOfOthers: existing VFs are used if they are free, and get back their names, addresses,
// MTUs and settings; a VF in use is not touched.
func TestLabVFsOfOthers(t *testing.T) {
	labtest.VirtualLab(t)
	labs.WithOthers(t)
	labs.Laboratory(t)
	lab := up(t, labs.AroundOthers)
	ends := lab.Plan().Links[0].Endpoints
	if ends[0].Function.Index != 1 || ends[1].Function.Index != 2 {
		t.Fatalf("the plan took %+v", ends)
	}
	if labtest.Sh(t, "cat", "/sys/class/net/"+labtest.LeftPort+"/device/sriov_numvfs") != "3\n" {
		t.Error("the number of VFs has changed")
	}
	echo(t, lab)
	down(t, lab)
}

// TestLabTwoLabsShareAPort: two labs of two state folders have VFs of the same ports, and the last
// one to end restores the port.
func TestLabTwoLabsShareAPort(t *testing.T) {
	labs.Laboratory(t)
	text := func(name string) string {
		return `name: ` + name + `
topology:
  nodes: {a: {}, b: {}}
  links: [{name: wire, kind: sriov, endpoints: ["a:x", "b:x"], sriov: {ports: [eth0, eth1]}}]
`
	}
	one := up(t, text("tbone"))
	first := os.Getenv("NINES_STATE_DIR")
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	two := up(t, text("tbtwo"))
	for _, lab := range []*Lab{one, two} {
		if ends := lab.Plan().Links[0].Endpoints; ends[0].Function.Index != map[*Lab]int{one: 0, two: 1}[lab] {
			t.Errorf("%s has %+v", lab.Name(), ends)
		}
	}
	// A plan from when the function was free is refused when it no longer is.
	stolen := labs.Plan(t, text("tbthree"))
	stolen.Links[0].Endpoints = one.Plan().Links[0].Endpoints
	if lab, err := Up(context.Background(), UpOptions{Plan: stolen}); err == nil || !strings.Contains(err.Error(), "the lab tbone") {
		t.Errorf("another's function: %v, %v", lab, err)
	}
	down(t, two)
	t.Setenv("NINES_STATE_DIR", first)
	in(t, one, "a", "ping", "-c", "1", "-W", "5", strings.Split(one.Plan().Nodes[1].Interfaces[0].Addresses[0], "/")[0])
	down(t, one)
}

// TestLabApplyHardware: an apply gives a function back, moves another link's function to programs,
// and takes more functions.
func TestLabApplyHardware(t *testing.T) {
	labs.Laboratory(t)
	lab := up(t, `name: tbapply
topology:
  nodes: {a: {}, b: {}, c: {}}
  links:
    - {name: stays, kind: sriov, endpoints: ["a:x", "b:x"], sriov: {ports: [eth0, eth1]}}
    - {name: goes, kind: sriov, endpoints: ["a:y", "c:y"], sriov: {ports: [eth0, eth1]}}
`)
	changed := `name: tbapply
topology:
  nodes: {a: {}, b: {}, c: {}}
  links:
    - {name: stays, kind: sriov, endpoints: ["a:x", "b:x"], sriov: {ports: [eth0, eth1]}}
    - {name: comes, kind: sriov, endpoints: ["b:z", "c:z"], sriov: {ports: [eth1]}}
`
	again := labs.Plan(t, strings.Replace(changed, "comes, kind: sriov, endpoints: [\"b:z\", \"c:z\"], sriov: {ports: [eth1]}", "goes, kind: sriov, endpoints: [\"a:y\", \"c:y\"], sriov: {ports: [eth0, eth1]}", 1))
	if changes, err := lab.Changes(again, nil); err != nil || !changes.Empty() {
		t.Errorf("a lab that is up is planned otherwise: %+v, %v", changes, err)
	}
	changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, changed), Experiment: []byte(changed)})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(changes.RemovedLinks, []string{"goes"}) || !slices.Equal(changes.AddedLinks, []string{"comes"}) || len(changes.ReplacedLinks)+len(changes.ReplacedNodes) > 0 {
		t.Errorf("changes %+v", changes)
	}
	for _, c := range [][2]string{{"a", "x"}, {"b", "z"}} {
		for _, n := range lab.Plan().Nodes {
			for _, i := range n.Interfaces {
				if n.Name == c[0] && i.Name == c[1] {
					in(t, lab, c[0], "ping", "-c", "1", "-W", "5", i.Neighbours[0].IP)
				}
			}
		}
	}
	down(t, lab)
}

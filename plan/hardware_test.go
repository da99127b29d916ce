package plan

import (
	"fmt"
	"strings"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// twoPorts is a host with two ports that can have seven VFs each, on NUMA nodes 0 and
// 1, an IOMMU and vfio.
func twoPorts() *host.Inventory {
	inv := smallHost(8, 1)
	inv.Hugepages = []host.Hugepages{{SizeBytes: 2 << 20, Total: 512, Free: 512}}
	for i := range 2 {
		inv.Functions = append(inv.Functions, host.Function{
			Address: fmt.Sprintf("0000:0%d:00.0", i+1), Driver: "igb", Interface: fmt.Sprintf("p%d", i), MTU: 1500, State: "down",
			IOMMUGroup: 10 + i, TotalVFs: 7, VFOffset: 128, VFStride: 2,
		})
	}
	inv.IOMMU.Groups = 30
	inv.Features = append(inv.Features, host.Feature{Name: host.FeatureVFIOPCI, State: host.StateModule, Detail: "module vfio_pci"},
		host.Feature{Name: host.FeatureUIOPCI, State: host.StateNo, Detail: "CONFIG_UIO_PCI_GENERIC is not set"})
	return inv
}

// withVFs makes n VFs of a port.
func withVFs(f *host.Function, n int) {
	f.NumVFs = n
	for i := range n {
		f.VFs = append(f.VFs, host.VirtualFunction{Index: i, Address: fmt.Sprintf("0000:0%c:10.%d", f.Address[6], i), Driver: "igbvf", IOMMUGroup: 20 + i})
	}
}

// line3 is a, b and c in a line, with a VLAN per hop: figure 2.3 of the thesis.
func line3(backend spec.Backend) *spec.Experiment {
	exp := &spec.Experiment{
		Name:     "chain",
		Topology: spec.Topology{Nodes: map[string]*spec.Node{"a": {}, "b": {App: &spec.App{Kind: spec.AppForward}}, "c": {}}},
		Traffic:  whole(spec.Traffic{From: "a:x", To: "c:x", Backend: backend}),
	}
	exp.Topology.Links = []*spec.Link{
		{Name: "ab", Kind: spec.LinkSRIOV, Endpoints: []string{"a:x", "b:x"}},
		{Name: "bc", Kind: spec.LinkSRIOV, Endpoints: []string{"b:y", "c:x"}},
	}
	return exp
}

// functionsOf writes a plan's functions: "a:x 0@0000:01:00.0 401".
func functionsOf(p *Plan) string {
	var list []string
	for _, l := range p.Links {
		for _, e := range l.Endpoints {
			f := e.Function
			text := fmt.Sprintf("%s:%s", e.Node, e.Interface)
			if f.Whole() {
				text += " " + f.Address
			} else {
				text += fmt.Sprintf(" %d@%s=%s", f.Index, f.Name, f.Address)
			}
			if f.Driver != "" {
				text += " " + string(f.Driver)
			}
			list = append(list, text)
		}
	}
	return strings.Join(list, "; ")
}

// TestFunctions: which ports and VFs are chosen, depending on what exists already.
func TestFunctions(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*spec.Experiment, *host.Inventory)
		backend spec.Backend
		want    string
		note    string
	}{
		{"two ports are a cable", func(*spec.Experiment, *host.Inventory) {}, spec.BackendUDP,
			"a:x 0@p0=0000:01:10.0; b:x 0@p1=0000:02:10.0; b:y 1@p0=0000:01:10.2; c:x 1@p1=0000:02:10.2", "from p0 to p1, which are assumed to be the ends of one cable"},
		{"for DPDK", func(*spec.Experiment, *host.Inventory) {}, spec.BackendDPDK,
			"a:x 0@p0=0000:01:10.0 vfio-pci; b:x 0@p1=0000:02:10.0 vfio-pci; b:y 1@p0=0000:01:10.2 vfio-pci; c:x 1@p1=0000:02:10.2 vfio-pci", "assumed to be the ends of one cable"},
		{"one port has a switch inside", func(_ *spec.Experiment, inv *host.Inventory) { inv.Functions = inv.Functions[:1] }, spec.BackendUDP,
			"a:x 0@p0=0000:01:10.0; b:x 1@p0=0000:01:10.2; b:y 2@p0=0000:01:10.4; c:x 3@p0=0000:01:10.6", "stays within p0"},
		{"the host's uplink is left alone", func(_ *spec.Experiment, inv *host.Inventory) { inv.Functions[0].Uplink = true }, spec.BackendUDP,
			"a:x 0@p1=0000:02:10.0; b:x 1@p1=0000:02:10.2; b:y 2@p1=0000:02:10.4; c:x 3@p1=0000:02:10.6", "stays within p1"},
		{"ports are named, in the ends' order", func(exp *spec.Experiment, _ *host.Inventory) {
			exp.Topology.Links[1].SRIOV = &spec.SRIOV{Ports: []string{"p1", "0000:01:00.0"}}
		}, spec.BackendUDP,
			"a:x 1@p0=0000:01:10.2; b:x 1@p1=0000:02:10.2; b:y 0@p1=0000:02:10.0; c:x 0@p0=0000:01:10.0", "assumed to be the ends of one cable"},
		{"what others have is not touched", func(_ *spec.Experiment, inv *host.Inventory) {
			withVFs(&inv.Functions[0], 4)
			inv.Functions[0].VFs[0].UsedBy = "the lab other"
			inv.Functions[0].VFs[0].Lab = "other"
			inv.Functions[0].VFs[2].UsedBy = "another network namespace"
		}, spec.BackendUDP,
			"a:x 1@p0=0000:01:10.1; b:x 0@p1=0000:02:10.0; b:y 3@p0=0000:01:10.3; c:x 1@p1=0000:02:10.2", "assumed to be the ends of one cable"},
		{"one's own stay", func(_ *spec.Experiment, inv *host.Inventory) {
			withVFs(&inv.Functions[0], 7)
			inv.Functions[0].VFs[0].UsedBy, inv.Functions[0].VFs[0].Lab = "the lab chain", "chain"
			inv.Functions[0].VFs[1].UsedBy, inv.Functions[0].VFs[1].Lab = "the lab chain", "chain"
		}, spec.BackendUDP,
			"a:x 0@p0=0000:01:10.0; b:x 0@p1=0000:02:10.0; b:y 1@p0=0000:01:10.1; c:x 1@p1=0000:02:10.2", "assumed to be the ends of one cable"},
		{"beside the nodes' memory", func(exp *spec.Experiment, inv *host.Inventory) {
			third := inv.Functions[0]
			third.Address, third.Interface, third.NUMANode = "0000:03:00.0", "p2", 1
			inv.Functions = append(inv.Functions, third)
			inv.NUMANodes = append(inv.NUMANodes, host.NUMANode{ID: 1, CPUs: []int{6, 7}, MemoryTotalBytes: 1 << 30})
			for i := range inv.CPUs[6:] {
				inv.CPUs[6+i].NUMANode = 1
			}
			inv.NUMANodes[0].CPUs = []int{0, 1, 2, 3, 4, 5}
			one := 1
			for _, n := range []string{"a", "b"} {
				exp.Topology.Nodes[n].MemoryNode = &one
			}
		}, spec.BackendUDP,
			"a:x 0@p2=0000:03:10.0; b:x 1@p2=0000:03:10.2; b:y 2@p2=0000:03:10.4; c:x 3@p2=0000:03:10.6", "stays within p2"},
		{"whole devices", func(exp *spec.Experiment, _ *host.Inventory) {
			exp.Topology.Links[0].Kind, exp.Topology.Links[0].Passthrough = spec.LinkPassthrough, &spec.Passthrough{Devices: []string{"p1", "0000:01:00.0"}}
			exp.Topology.Links[1].Kind = spec.LinkVeth
		}, spec.BackendDPDK, "a:x 0000:02:00.0 vfio-pci; b:x 0000:01:00.0 vfio-pci; b:y ; c:x ", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			exp, inv := line3(c.backend), twoPorts()
			c.change(exp, inv)
			p, err := Make(exp, inv)
			if err != nil {
				t.Fatal(err)
			}
			if got := functionsOf(p); got != c.want {
				t.Errorf("planned %s\nwant    %s", got, c.want)
			}
			if notes := strings.Join(p.Notes, " "); !strings.Contains(notes, c.note) {
				t.Errorf("the notes are %q, want %q among them", notes, c.note)
			}
		})
	}
}

// TestVLANs: each link has its own VLAN, not one that others use on its ports, and keeps it when
// another link is added.
func TestVLANs(t *testing.T) {
	vlans := func(exp *spec.Experiment, inv *host.Inventory) map[string]int {
		p, err := Make(exp, inv)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, l := range p.Links {
			if l.Endpoints[0].Function.VLAN != l.Endpoints[1].Function.VLAN {
				t.Errorf("link %s has two VLANs", l.Name)
			}
			got[l.Name] = l.Endpoints[0].Function.VLAN
		}
		return got
	}
	before := vlans(line3(spec.BackendUDP), twoPorts())
	if before["ab"] == before["bc"] || before["ab"] < firstVLAN || before["bc"] > lastVLAN {
		t.Errorf("VLANs %v", before)
	}
	more := line3(spec.BackendUDP)
	more.Topology.Links = append([]*spec.Link{{Name: "new", Kind: spec.LinkSRIOV, Endpoints: []string{"a:z", "c:z"}}}, more.Topology.Links...)
	if after := vlans(more, twoPorts()); after["ab"] != before["ab"] || after["bc"] != before["bc"] {
		t.Errorf("with another link the VLANs %v become %v", before, after)
	}
	// Both are in use on one port: by a VLAN device of the host, and by a VF of another lab.
	inv := twoPorts()
	inv.Functions[1].VLANs = []int{before["ab"]}
	withVFs(&inv.Functions[0], 7)
	inv.Functions[0].VFs[6].VLAN, inv.Functions[0].VFs[6].UsedBy = before["bc"], "another network namespace"
	if after := vlans(line3(spec.BackendUDP), inv); after["ab"] == before["ab"] || after["bc"] == before["bc"] {
		t.Errorf("VLANs in use %v are given out: %v", before, after)
	}
}

// TestFunctionsRefused: what a host or a file cannot have is refused with a remedy.
func TestFunctionsRefused(t *testing.T) {
	pass := func(devices ...string) func(*spec.Experiment, *host.Inventory) {
		return func(exp *spec.Experiment, _ *host.Inventory) {
			exp.Topology.Links[0].Kind, exp.Topology.Links[0].Passthrough = spec.LinkPassthrough, &spec.Passthrough{Devices: devices}
			exp.Topology.Links[1].Kind = spec.LinkVeth
		}
	}
	both := func(fs ...func(*spec.Experiment, *host.Inventory)) func(*spec.Experiment, *host.Inventory) {
		return func(exp *spec.Experiment, inv *host.Inventory) {
			for _, f := range fs {
				f(exp, inv)
			}
		}
	}
	ports := func(names ...string) func(*spec.Experiment, *host.Inventory) {
		return func(exp *spec.Experiment, _ *host.Inventory) {
			exp.Topology.Links[0].SRIOV = &spec.SRIOV{Ports: names, Driver: spec.DriverVFIO}
		}
	}
	onHost := func(f func(*host.Inventory)) func(*spec.Experiment, *host.Inventory) {
		return func(_ *spec.Experiment, inv *host.Inventory) { f(inv) }
	}
	for _, c := range []struct {
		name    string
		change  func(*spec.Experiment, *host.Inventory)
		backend spec.Backend
		want    []string
	}{
		{"no card", onHost(func(inv *host.Inventory) { inv.Functions = nil }), "", []string{"link ab needs virtual functions of a network card", "no network card", "nines vlab run"}},
		{"no SR-IOV", onHost(func(inv *host.Inventory) { inv.Functions[0].TotalVFs, inv.Functions[1].TotalVFs = 0, 0 }), "", []string{"it has no SR-IOV", "firmware", "passthrough"}},
		{"an unknown port", ports("p7"), "", []string{"virtual functions of p7", "no such card", "it has p0 (0000:01:00.0), p1"}},
		{"one port by two names", ports("p0", "0000:01:00.0"), "", []string{"link ab: sriov.ports", "one port"}},
		{"a port without a cable", both(ports("p0", "p1"), onHost(func(inv *host.Inventory) { inv.Functions[1].Carrier = "no" })), "", []string{"functions of p1; it has no carrier"}},
		{"a port of vfio's", both(ports("p0", "p1"), onHost(func(inv *host.Inventory) { inv.Functions[1].Driver, inv.Functions[1].Interface = "vfio-pci", "" })), "", []string{"p1", "no such card"}},
		{"VFs used up", both(ports("p0"), onHost(func(inv *host.Inventory) {
			withVFs(&inv.Functions[0], 2)
			inv.Functions[0].VFs[1].UsedBy = "the lab other"
		})), "", []string{"b:x needs a virtual function of p0", "it has 2 virtual functions, and the lab uses 1; others have 1 by the lab other", "the card can have 7, but the number can only change from 0"}},
		{"IOMMU off", onHost(func(inv *host.Inventory) { inv.IOMMU.Groups = 0 }), spec.BackendDPDK, []string{"a:x needs 0000:01:10.0 for DPDK, by vfio-pci", "the IOMMU is off", "intel_iommu=on", "enable_unsafe_noiommu_mode", "igb_uio"}},
		{"IOMMU off, AMD", onHost(func(inv *host.Inventory) { inv.IOMMU.Groups, inv.CPUs[0].Model = 0, "AMD EPYC 7551P" }), spec.BackendDPDK, []string{"amd_iommu"}},
		{"no driver", func(exp *spec.Experiment, _ *host.Inventory) {
			exp.Topology.Links[0].SRIOV = &spec.SRIOV{Driver: spec.DriverUIO}
		}, spec.BackendDPDK, []string{"by uio_pci_generic", "the kernel has no such driver (CONFIG_UIO_PCI_GENERIC is not set)", "use driver: vfio-pci"}},
		{"UIO behind an IOMMU that translates", func(exp *spec.Experiment, inv *host.Inventory) {
			exp.Topology.Links[0].SRIOV = &spec.SRIOV{Driver: spec.DriverIGBUIO}
			inv.IOMMU.Translates = true
		}, spec.BackendDPDK, []string{"by igb_uio", "the IOMMU translates", "driver: vfio-pci, or boot with iommu=pt"}},
		{"a VLAN that is taken", func(exp *spec.Experiment, inv *host.Inventory) {
			exp.Topology.Links[0].SRIOV = &spec.SRIOV{VLAN: 401}
			inv.Functions[1].VLANs = []int{401}
		}, "", []string{"link ab requests VLAN 401; the host has a VLAN device of that number on p1", "remove vlan"}},
		{"the host's uplink, whole", both(pass("p0", "p1"), onHost(func(inv *host.Inventory) { inv.Functions[0].UsedBy = "the host, whose default route is by p0" })), "", []string{"a:x requests the whole device p0", "used by the host, whose default route is by p0", "choose another"}},
		{"a device twice", pass("p0", "0000:01:00.0"), "", []string{"link ab: passthrough.devices", "already used by a:x"}},
		{"an unknown device", pass("p0", "eth9"), "", []string{"b:x requests the whole device eth9", "no such card"}},
		{"a device with VFs", both(pass("p0", "p1"), onHost(func(inv *host.Inventory) { withVFs(&inv.Functions[1], 2) })), "", []string{"2 virtual functions of it exist", "sriov_numvfs"}},
		{"a port that is given away whole", func(exp *spec.Experiment, _ *host.Inventory) {
			exp.Topology.Links[0].Kind, exp.Topology.Links[0].Passthrough = spec.LinkPassthrough, &spec.Passthrough{Devices: []string{"p0", "p1"}}
			exp.Topology.Links[1].SRIOV = &spec.SRIOV{Ports: []string{"p0"}}
		}, "", []string{"link bc: sriov.ports", "p0 is used as a whole by a:x"}},
		{"a disk beside it", both(pass("p0", "p1"), onHost(func(inv *host.Inventory) { inv.Functions[1].Companions = []string{"0000:05:00.0 (nvme)"} })), spec.BackendDPDK, []string{"shares its IOMMU group with 0000:05:00.0 (nvme)"}},
		{"an interface of vfio's", both(pass("0000:01:00.0", "p1"), onHost(func(inv *host.Inventory) { inv.Functions[0].Driver, inv.Functions[0].Interface = "vfio-pci", "" })), "", []string{"a:x needs the interface of 0000:01:00.0", "its driver is vfio-pci", "backend dpdk"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			backend := c.backend
			if backend == "" {
				backend = spec.BackendUDP
			}
			exp, inv := line3(backend), twoPorts()
			c.change(exp, inv)
			_, err := Make(exp, inv)
			if err == nil {
				t.Fatal("planned")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant %q in it", err, want)
				}
			}
		})
	}
}

// TestFunctionsInPlan: what a node and the table show of its functions.
func TestFunctionsInPlan(t *testing.T) {
	exp := line3(spec.BackendDPDK)
	exp.Topology.Links[0].SRIOV = &spec.SRIOV{VLAN: 401, SpoofCheck: true, Rate: 1_000_000_000, Driver: spec.DriverVFIO}
	p, err := Make(exp, twoPorts())
	if err != nil {
		t.Fatal(err)
	}
	b := p.Nodes[1]
	if got := strings.Join(b.Functions, " "); got != "0000:02:10.0 0000:01:10.2" || strings.Join(b.DPDK.PCI, " ") != got || len(b.Devices) != 0 {
		t.Errorf("b drives %s, probes %v, opens %v", got, b.DPDK.PCI, b.Devices)
	}
	if d := b.Interfaces[0].Device; d == nil || d.Arguments != "0000:02:10.0" || d.Kernel {
		t.Errorf("b:x is %s", toJSON(t, b.Interfaces[0]))
	}
	if f := p.Links[0].Endpoints[0].Function; f.VLAN != 401 || !f.Trust || !f.SpoofCheck || f.RateMbit != 1000 {
		t.Errorf("a:x is %+v", f)
	}
	if !p.Links[0].Cabled() || len(p.PhysicalFunctions) != 2 || p.PhysicalFunctions[0].VFs != 7 {
		t.Errorf("ports %+v, cabled %v", p.PhysicalFunctions, p.Links[0].Cabled())
	}
	var table strings.Builder
	if err := p.Write(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"VF 0 of p0 (0000:01:10.0), VLAN 401, trusted, spoof check, at most 1000 Mbit/s, driver vfio-pci", "0: a:x, 1: b:y"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, table.String())
		}
	}
}

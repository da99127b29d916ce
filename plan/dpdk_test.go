package plan

import (
	"strings"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/spec"
)

// bypass is an engine that sends over a link of a kind to itself or, as a pair, to another engine.
func bypass(kind spec.LinkKind, asPair bool) *spec.Experiment {
	exp := &spec.Experiment{
		Name:     "bypass",
		Topology: spec.Topology{Nodes: map[string]*spec.Node{"a": {}}},
		Traffic:  whole(spec.Traffic{From: "a:x", To: "a:y", Backend: spec.BackendDPDK}),
	}
	if asPair {
		exp.Topology.Nodes["b"], exp.Traffic.To = &spec.Node{}, "b:y"
	}
	exp.Topology.Links = []*spec.Link{{Name: "l", Kind: kind, Endpoints: []string{"a:x", exp.Traffic.To}}}
	return exp
}

// bypassHost is smallHost with hugepages.
func bypassHost(cores, threads int) *host.Inventory {
	inv := smallHost(cores, threads)
	inv.Hugepages = []host.Hugepages{{SizeBytes: 2 << 20, Total: 64, Free: 40}, {SizeBytes: 1 << 30, Total: 1, Free: 1}}
	return inv
}

// TestLadderWithSwitch: an engine and a switch each poll on their own CPU; where CPUs are few, the
// housekeeping CPU is given up last, and a note says so.
func TestLadderWithSwitch(t *testing.T) {
	for _, c := range []struct {
		name string
		exp  *spec.Experiment
		inv  *host.Inventory
		want string
		note string
	}{
		{"loop and switch", bypass(spec.LinkSwitch, false), bypassHost(3, 1), "keep 0; a own 1 on 1; l on 2", ""},
		{"each alone on a core", bypass(spec.LinkSwitch, false), bypassHost(3, 2), "keep 0,3; a own 1 on 1; l on 2", ""},
		{"threads of one core", bypass(spec.LinkSwitch, false), bypassHost(2, 2), "keep 0,2; a own 1 on 1; l on 3", "a and the switch of l share a physical core (CPUs 1,3)"},
		{"loop and switch on two CPUs", bypass(spec.LinkSwitch, false), bypassHost(2, 1), "keep 0; a shares 0 on 0; l on 1", "a runs on the housekeeping CPU 0"},
		{"pair and switch on two CPUs", bypass(spec.LinkTestpmd, true), bypassHost(2, 1), "keep 0; a shares 0 on 0; b shares 0 on 0; l on 1", "a and b run on the housekeeping CPU 0"},
		{"pair and switch on three CPUs", bypass(spec.LinkSnabb, true), bypassHost(3, 1), "keep 0; a shares 0 on 0; b own 2 on 2; l on 1", "a runs on the housekeeping CPU 0"},
		{"pair and switch", bypass(spec.LinkVPP, true), bypassHost(4, 1), "keep 0; a own 1 on 1; b own 3 on 3; l on 2", ""},
		{"shared memory wants no switch", bypass(spec.LinkMemif, true), bypassHost(3, 1), "keep 0; a own 1 on 1; b own 2 on 2", ""},
		{"one CPU for everything", bypass(spec.LinkSwitch, false), bypassHost(1, 1), "keep 0; a shares 0 on 0; l on 0", "the switch of l share CPUs"},
		{"userspace's Open vSwitch polls", bypass(spec.LinkOVS, false), bypassHost(3, 1), "keep 0; a own 1 on 1; l on 2", ""},
		{"the kernel's does not", bypass(spec.LinkOVS, false), withOVS(bypassHost(3, 1)), "keep 0; a own 1 on 1; l on -", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Make(c.exp, c.inv)
			if err != nil {
				t.Fatal(err)
			}
			got := summary(p)
			for _, l := range p.Links {
				if l.Switch != nil {
					got += "; " + l.Name + " on " + choose(len(l.Switch.CPUs) == 0, "-", cpulist.Format(l.Switch.CPUs))
				}
			}
			if got != c.want {
				t.Errorf("planned %q, want %q", got, c.want)
			}
			notes := strings.Join(p.Notes, " ")
			if !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
				t.Errorf("the notes are %q, want %q among them", notes, c.note)
			}
		})
	}
}

func withOVS(inv *host.Inventory) *host.Inventory {
	inv.Features = append(inv.Features, host.Feature{Name: host.FeatureOpenvSwitch, State: host.StateModule})
	return inv
}

// TestLacking: missing hugepages are reported with numbers and a remedy.
func TestLacking(t *testing.T) {
	const ways = "--set dpdk.hugepages=reserve reserves what is missing and releases it at the end; --set dpdk.hugepages=none runs in ordinary memory, slower"
	for _, c := range []struct {
		name string
		dpdk *spec.DPDK
		want string
	}{
		{"enough", &spec.DPDK{Memory: 40 << 20}, ""},
		{"too few", nil, "error: hugepages: node a, node b need 64 hugepages on NUMA node 0, of 2 MiB each, and 40 are free; " + ways},
		{"a part of a page", &spec.DPDK{Memory: 40<<20 + 1}, "error: hugepages: node a, node b need 42 hugepages on NUMA node 0, of 2 MiB each, and 40 are free; " + ways},
		{"reserved", &spec.DPDK{Hugepages: spec.HugepagesReserve}, ""},
		{"more than there is memory", &spec.DPDK{Hugepages: spec.HugepagesReserve, Memory: 1 << 40}, "error: hugepages: node a, node b need 1048576 hugepages on NUMA node 0, " +
			"of 2 MiB each, and 40 are free; the node has 1024 MiB of memory to reserve the rest from; use less (--set dpdk.memory=32MiB), " +
			"or --set dpdk.hugepages=none runs in ordinary memory, slower"},
		{"none wanted", &spec.DPDK{Hugepages: spec.HugepagesNone}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			exp, inv := bypass(spec.LinkMemif, true), bypassHost(3, 1)
			exp.DPDK = c.dpdk
			p, err := Make(exp, inv)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, finding := range p.Lacking(inv) {
				got += finding.String()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			// What others use at the moment has no influence.
			inv.Hugepages[0].Free = 0
			if again, err := Make(exp, inv); err != nil || toJSON(t, again) != toJSON(t, p) {
				t.Errorf("with fewer free hugepages the plan is another, %v", err)
			}
		})
	}
}

// TestRoundTripOverSwitch: a reflector with DPDK has one port, on a vhost-user socket.
func TestRoundTripOverSwitch(t *testing.T) {
	exp := bypass(spec.LinkSwitch, false)
	exp.Topology.Nodes["mirror"] = &spec.Node{App: &spec.App{Kind: spec.AppReflect}}
	exp.Topology.Links[0].Endpoints = []string{"a:x", "mirror:x"}
	exp.Traffic.To = "a:x"
	p, err := Make(exp, bypassHost(4, 1))
	if err != nil {
		t.Fatal(err)
	}
	mirror := p.Nodes[1]
	if !p.Traffic.RoundTrip || mirror.App == nil || mirror.App.Backend != spec.BackendDPDK || mirror.App.Wait != spec.WaitSpin ||
		mirror.App.IO != spec.IOBatch || mirror.Interfaces[0].Device == nil || mirror.Interfaces[0].Device.Socket != "l.1" || mirror.DPDK == nil {
		t.Errorf("the reflector is %s", toJSON(t, mirror))
	}
	for _, broken := range bypassViolations(p, func(id int) bool { return id < 4 }) {
		t.Error(broken)
	}
}

// TestMixedSwitch: a kernel endpoint attaches to the switch by a veth pair, and a DPDK endpoint on
// the same link by a socket.
func TestMixedSwitch(t *testing.T) {
	exp := bypass(spec.LinkSwitch, true)
	exp.Traffic.Backend = spec.BackendUDP
	exp.Topology.Nodes["b"].App = &spec.App{Kind: spec.AppReflect, Backend: spec.BackendDPDK}
	exp.Traffic.To = "a:x"
	p, err := Make(exp, bypassHost(4, 1))
	if err != nil {
		t.Fatal(err)
	}
	a, b := p.Links[0].Endpoints[0], p.Links[0].Endpoints[1]
	if a.Attach != AttachVeth || a.FabricDevice == "" || b.Attach != AttachVhost || b.FabricDevice != "" || p.Nodes[0].DPDK != nil {
		t.Errorf("a meets the switch by %+v, b by %+v", a, b)
	}
}

// TestUserDevice: DPDK opens the device that the file names, with its device nodes.
func TestUserDevice(t *testing.T) {
	exp := bypass(spec.LinkVeth, false)
	exp.DPDK = &spec.DPDK{Device: map[string]string{"a:x": "net_virtio_user0,path=/dev/vhost-net,iface=t", "a:y": "01:00.0,arg=1"}}
	inv := bypassHost(3, 1)
	inv.PCIDevices = []host.PCIDevice{{Address: "0000:01:00.0", Driver: "vfio-pci", NUMANode: -1, Files: []string{"/dev/vfio/vfio", "/dev/vfio/7"}}}
	p, err := Make(exp, inv)
	if err != nil {
		t.Fatal(err)
	}
	n := p.Nodes[0]
	if got, want := strings.Join(n.Devices, " "), "/dev/vhost-net /dev/vfio/vfio /dev/vfio/7"; got != want {
		t.Errorf("the node may open %s, want %s", got, want)
	}
	if got := n.Interfaces[1].Device; got.Arguments != "0000:01:00.0,arg=1" || len(n.DPDK.PCI) != 1 || n.DPDK.PCI[0] != "0000:01:00.0" {
		t.Errorf("it opens %+v of %v", got, n.DPDK.PCI)
	}
}

// TestRefuseBypass: what cannot work with DPDK is refused with place, reason and remedy.
func TestRefuseBypass(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(e *spec.Experiment, inv *host.Inventory)
		want   string
	}{
		{"memif without DPDK", func(e *spec.Experiment, _ *host.Inventory) { e.Traffic.Backend = spec.BackendRaw },
			"link l: a:x is not used by DPDK, and memif joins nothing else; use the backend dpdk at both ends, or kind: veth"},
		{"three ends", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Links[0].Endpoints = append(e.Topology.Links[0].Endpoints, "a:z")
		}, "link l: has 3 endpoints; memif joins two; use kind: bridge, xdp or switch"},
		{"no hugepages", func(_ *spec.Experiment, inv *host.Inventory) { inv.Hugepages = nil },
			"node a needs hugepages for DPDK; this kernel has no hugepages (CONFIG_HUGETLBFS); run it in ordinary memory (--set dpdk.hugepages=none)"},
		{"a route over an interface of DPDK", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["a"].Routes = []spec.Route{{To: "default", Interface: "x"}}
		}, "node a: route to default dev x: DPDK has a:x, and the kernel does not see it; remove it: the engine needs no route"},
		{"more CPUs than there are", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Links[0].Kind, e.Topology.Links[0].Switch = spec.LinkSwitch, &spec.Switch{CPUs: 3}
		}, "the switch of l requests 3 CPUs; the host has 3, 1 is kept for housekeeping; request fewer (--set links.l.switch.cpus=2)"},
		{"a CPU twice", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Links[0].Kind, e.Topology.Links[0].Switch = spec.LinkSwitch, &spec.Switch{CPUList: "1"}
			e.Topology.Nodes["a"].CPUList = "1"
		}, "the switch of l: cpu_list: CPU 1 is in the list of node a; a CPU belongs to one node or switch"},
		{"an unknown PCI device", func(e *spec.Experiment, _ *host.Inventory) {
			e.DPDK = &spec.DPDK{Device: map[string]string{"a:x": "0000:01:00.0"}}
		}, "a:x requests the PCI device 0000:01:00.0 for DPDK; the host has no such device; nines host lists those that DPDK can open"},
		{"a PCI device of the kernel's", func(e *spec.Experiment, inv *host.Inventory) {
			e.DPDK = &spec.DPDK{Device: map[string]string{"a:x": "0000:01:00.0"}}
			inv.NICs = []host.NIC{{Name: "eth0", Driver: "igb", PCIAddress: "0000:01:00.0"}}
		}, "a:x requests the PCI device 0000:01:00.0 for DPDK; the kernel has it as eth0 (driver igb); dpdk-devbind.py --bind=vfio-pci 0000:01:00.0"},
		{"the host's own uplink", func(e *spec.Experiment, inv *host.Inventory) {
			e.DPDK = &spec.DPDK{Device: map[string]string{"a:x": "0000:01:00.0"}}
			inv.NICs = []host.NIC{{Name: "eth0", Driver: "igb", PCIAddress: "0000:01:00.0", State: "up"}}
		}, "a:x requests the PCI device 0000:01:00.0 for DPDK; its interface eth0 is up (driver igb): the host uses it; choose another"},
		{"a PCI device twice", func(e *spec.Experiment, inv *host.Inventory) {
			e.DPDK = &spec.DPDK{Device: map[string]string{"a:x": "0000:01:00.0", "a:y": "01:00.0"}}
			inv.PCIDevices = []host.PCIDevice{{Address: "0000:01:00.0"}}
		}, "dpdk.device.a:y: 0000:01:00.0 is opened for another interface of node a already; give each its own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			exp, inv := bypass(spec.LinkMemif, false), bypassHost(3, 1)
			c.change(exp, inv)
			if _, err := Make(exp, inv); err == nil || err.Error() != c.want {
				t.Errorf("the error is\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

// TestNeedsOfPrograms: each kind asks for its program, and memif for nothing.
func TestNeedsOfPrograms(t *testing.T) {
	for kind, want := range map[spec.LinkKind]string{
		spec.LinkMemif: "", spec.LinkSwitch: host.FeatureVeth, spec.LinkTestpmd: host.FeatureTestpmd,
		spec.LinkOVS: host.FeatureVeth + " " + host.FeatureOVS, spec.LinkOVSDPDK: host.FeatureOVSDPDK,
		spec.LinkVPP: host.FeatureVPP, spec.LinkSnabb: host.FeatureSnabb,
	} {
		var got []string
		for _, need := range Needs(bypass(kind, false)).Features {
			if need.For == "link l" {
				got = append(got, need.Name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("a link of kind %s needs %q, want %q", kind, got, want)
		}
	}
}

package plan

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// TestPodsTakeNothingOfThisHost: nodes on a cluster have no CPU, memory, MAC or address of this host,
// and the ports name the endpoints whose addresses the cluster gives.
func TestPodsTakeNothingOfThisHost(t *testing.T) {
	p, err := Make(loadExperiment(t, "testdata/pods.yaml"), loadHost(t, "microvm"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range p.Nodes {
		if !n.Remote() {
			if len(n.CPUs) != 1 || !n.CPUsExclusive {
				t.Errorf("the pods take CPUs from %s, which has %v", n.Name, n.CPUs)
			}
			continue
		}
		if len(n.CPUs)+len(n.MemoryNodes) > 0 || len(n.Interfaces[0].Addresses) > 0 || n.Interfaces[0].MAC != "" || n.Interfaces[0].MTU != 0 {
			t.Errorf("%s has something of this host: %+v", n.Name, n)
		}
	}
	want := Port{Node: "client", Interface: "eth0", LocalIP: "client:eth0", PeerIP: "server:eth0", UDPPort: spec.EnginePort}
	if diff := cmp.Diff(want, p.Traffic.From); diff != "" {
		t.Errorf("the generator's port (-want +got):\n%s", diff)
	}
	if p.Traffic.FromCPU != -1 || p.Traffic.Role != RoleLoop || !p.Traffic.RoundTrip {
		t.Errorf("the traffic is %+v", p.Traffic)
	}
	if p.Cluster == nil || p.Cluster.Image != spec.PodImage || !p.OnCluster("server") || p.OnCluster("here") {
		t.Errorf("the cluster is %+v", p.Cluster)
	}
	if server := p.Nodes[2]; server.Pod.Latency != "p99 < 100us" || server.App.CPU != -1 || server.App.Ports[0].LocalIP != "server:eth0" {
		t.Errorf("the server is %+v", server)
	}
}

// TestAPodAloneSendsToItself: a baseline's packets leave no pod, and none of this host's settings helps them.
func TestAPodAloneSendsToItself(t *testing.T) {
	p, err := Make(&spec.Experiment{
		Name: "alone",
		Topology: spec.Topology{
			Nodes: map[string]*spec.Node{"gen": {Runtime: spec.RuntimePod}},
			Links: []*spec.Link{{Name: "alone", Kind: spec.LinkPodNetwork, Endpoints: []string{"gen:eth0"}}},
		},
		Traffic: whole(spec.Traffic{From: "gen:eth0", To: "gen:eth0", RatePPS: 1}),
	}, loadHost(t, "microvm"))
	if err != nil {
		t.Fatal(err)
	}
	want := Port{Node: "gen", Interface: "eth0", LocalIP: "gen:eth0", PeerIP: "gen:eth0", UDPPort: spec.EnginePort}
	if diff := cmp.Diff(want, p.Traffic.From); diff != "" {
		t.Errorf("its port (-want +got):\n%s", diff)
	}
	if p.Traffic.Role != RoleLoop || !p.Traffic.RoundTrip || len(p.Nodes[0].Sysctls) > 0 {
		t.Errorf("the traffic is %+v, of %+v", p.Traffic, p.Nodes[0])
	}
}

// TestDPDKOpensWhatPodsClaim: nines chooses the addresses behind a socket, and takes none of this host's memory.
func TestDPDKOpensWhatPodsClaim(t *testing.T) {
	e := &spec.Experiment{
		Name: "sockets",
		Topology: spec.Topology{
			Nodes: map[string]*spec.Node{"gen": {Runtime: spec.RuntimePod}, "dut": {Runtime: spec.RuntimePod, App: &spec.App{Kind: spec.AppReflect}}},
			Links: []*spec.Link{
				{Name: "net", Kind: spec.LinkPodNetwork, Endpoints: []string{"gen:eth0", "dut:eth0"}},
				{Name: "fast", Kind: spec.LinkPodPort, Class: "switch.nines.dev", Endpoints: []string{"gen:fast0", "dut:fast0"}},
			},
		},
		Traffic: whole(spec.Traffic{From: "gen:fast0", To: "gen:fast0", RatePPS: 1, Backend: spec.BackendDPDK}),
	}
	p, err := Make(e, loadHost(t, "microvm"))
	if err != nil {
		t.Fatal(err)
	}
	from := p.Traffic.From
	if from.LocalMAC == "" || from.PeerMAC == "" || from.LocalMAC == from.PeerMAC || !labRange.Contains(netip.MustParseAddr(from.LocalIP)) || !labRange.Contains(netip.MustParseAddr(from.PeerIP)) {
		t.Errorf("the generator's port is %+v", from)
	}
	if p.Hugepages != nil {
		t.Errorf("they take hugepages of this host: %+v", p.Hugepages)
	}
	for _, n := range p.Nodes {
		eth0, fast0 := n.Interfaces[0], n.Interfaces[1]
		if n.DPDK == nil || n.DPDK.Huge || n.DPDK.MemoryBytes < leastEngineMemory || eth0.Device != nil || fast0.Device == nil || !fast0.Device.Claimed {
			t.Errorf("node %s: %+v, %+v", n.Name, n.DPDK, n.Interfaces)
		}
		want := []PodPort{{Link: "fast", Interface: "fast0", Class: "switch.nines.dev", Socket: true, MAC: fast0.MAC}}
		if diff := cmp.Diff(want, n.Pod.Ports); diff != "" || fast0.MAC == "" {
			t.Errorf("node %s claims (-want +got):\n%s", n.Name, diff)
		}
	}
	e.Topology.Nodes["dut"].App.Backend = spec.BackendUDP
	if _, err := Make(e, loadHost(t, "microvm")); err == nil || !strings.Contains(err.Error(), "link fast: dut:fast0 is used with the backend udp") {
		t.Errorf("one end is used by UDP: %v", err)
	}
	e.Topology.Nodes["dut"].App.Backend = ""
	e.Topology.Nodes["third"] = &spec.Node{Runtime: spec.RuntimePod, App: &spec.App{Kind: spec.AppReflect}}
	e.Topology.Links[0].Endpoints = append(e.Topology.Links[0].Endpoints, "third:eth0")
	if _, err := Make(e, loadHost(t, "microvm")); err == nil || !strings.Contains(err.Error(), "third:eth0 is used with the backend dpdk, which opens only sockets that a pod claims") {
		t.Errorf("a pod whose app inherits the backend: %v", err)
	}
}

// TestAFXDPOpensWhatPodsClaim: where pods bypass their kernels nines chooses the addresses, and DPDK has no part in it.
func TestAFXDPOpensWhatPodsClaim(t *testing.T) {
	e := &spec.Experiment{
		Name: "maps",
		Topology: spec.Topology{
			Nodes: map[string]*spec.Node{"gen": {Runtime: spec.RuntimePod}, "dut": {Runtime: spec.RuntimePod, App: &spec.App{Kind: spec.AppReflect}}},
			Links: []*spec.Link{{Name: "fast", Kind: spec.LinkPodPort, Class: "af-xdp.nines.dev", Endpoints: []string{"gen:fast0", "dut:fast0"}}},
		},
		Traffic: whole(spec.Traffic{From: "gen:fast0", To: "gen:fast0", RatePPS: 1, Backend: spec.BackendXDP}),
	}
	p, err := Make(e, loadHost(t, "microvm"))
	if err != nil {
		t.Fatal(err)
	}
	from := p.Traffic.From
	if from.LocalMAC == "" || from.PeerMAC == "" || from.LocalMAC == from.PeerMAC || !labRange.Contains(netip.MustParseAddr(from.PeerIP)) {
		t.Errorf("the generator's port is %+v", from)
	}
	for _, n := range p.Nodes {
		fast0 := n.Interfaces[0]
		want := []PodPort{{Link: "fast", Interface: "fast0", Class: "af-xdp.nines.dev", SocketMap: true, MAC: fast0.MAC}}
		if diff := cmp.Diff(want, n.Pod.Ports); diff != "" || fast0.MAC == "" || !fast0.SocketMap || fast0.Device != nil || n.DPDK != nil {
			t.Errorf("node %s is %+v and claims (-want +got):\n%s", n.Name, n, diff)
		}
	}
	for _, need := range Needs(e).Features {
		if need.Name == host.FeatureAFXDP {
			t.Errorf("it needs AF_XDP of this host: %+v", need)
		}
	}
	e.Topology.Nodes["dut"].App.Backend = spec.BackendDPDK
	if _, err := Make(e, loadHost(t, "microvm")); err == nil || !strings.Contains(err.Error(), "use one backend at both ends") {
		t.Errorf("one end is used by DPDK: %v", err)
	}
	e.Topology.Nodes["dut"].App.Backend = ""
	e.Topology.Links[0].Kind, e.Topology.Links[0].Class, e.Topology.Links[0].Endpoints = spec.LinkPodNetwork, "", []string{"gen:eth0", "dut:eth0"}
	e.Traffic.From, e.Traffic.To = "gen:eth0", "gen:eth0"
	if _, err := Make(e, loadHost(t, "microvm")); err == nil || !strings.Contains(err.Error(), "which opens only interfaces that a pod claims") {
		t.Errorf("the cluster's own network: %v", err)
	}
}

// TestPodsAreRefused what the file's own rules refuse, for plans that come from no file.
func TestPodsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*spec.Experiment){
		"link lan: dut:eth0 is on this host":                 func(e *spec.Experiment) { e.Topology.Nodes["dut"].Runtime = spec.RuntimeNetns },
		"link lan: gen:eth0 is a pod, which cannot join":     func(e *spec.Experiment) { e.Topology.Links[0].Kind = spec.LinkBridge },
		"traffic: node gen and node dut may run on two mach": func(*spec.Experiment) {},
	} {
		e := &spec.Experiment{
			Name: "pods",
			Topology: spec.Topology{
				Nodes: map[string]*spec.Node{"gen": {Runtime: spec.RuntimePod}, "dut": {Runtime: spec.RuntimePod}},
				Links: []*spec.Link{{Name: "lan", Kind: spec.LinkPodNetwork, Endpoints: []string{"gen:eth0", "dut:eth0"}}},
			},
			Traffic: whole(spec.Traffic{From: "gen:eth0", To: "dut:eth0", RatePPS: 1}),
		}
		change(e)
		_, err := Make(e, loadHost(t, "microvm"))
		if err == nil || len(err.Error()) < len(name) || err.Error()[:len(name)] != name {
			t.Errorf("%s: %v", name, err)
		}
		for _, clock := range []spec.Clock{spec.ClockShared, spec.ClockRealtime} {
			e.Cluster = &spec.Cluster{Clock: clock}
			if _, err := Make(e, loadHost(t, "microvm")); name[:7] == "traffic" && err != nil {
				t.Errorf("with the clock %s: %v", clock, err)
			}
		}
	}
}

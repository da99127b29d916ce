package plan

import (
	"fmt"
	"slices"

	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// Pod is what a node on a cluster asks of it.
type Pod struct {
	// CPUs is how many CPUs of the cluster's node it has; 0 shares them with all else.
	CPUs int `json:"cpus,omitempty"`
	// Host is the cluster's node that it runs on; empty where the scheduler chooses.
	Host string `json:"host,omitempty"`
	// Latency is what it asks nines' scheduler for.
	Latency string `json:"latency,omitempty"`
	// Ports are the interfaces that it claims of its node.
	Ports []PodPort `json:"ports,omitempty"`
}

// PodPort is an interface that a pod claims: of a link, by the DeviceClass of its kind.
type PodPort struct {
	Link      string `json:"link"`
	Interface string `json:"interface"`
	Class     string `json:"class"`
	// Socket is true for the socket of a program that polls, and SocketMap for an interface with a map for AF_XDP
	// sockets. Either is to have the address MAC.
	Socket    bool   `json:"socket,omitempty"`
	SocketMap bool   `json:"socket_map,omitempty"`
	MAC       string `json:"mac,omitempty"`
}

// Remote is true for a node on a cluster: nothing of it is on this host but what stands for it.
func (n Node) Remote() bool { return n.Runtime.Descriptor().Remote }

// OnCluster is true for a node of that name on a cluster.
func (p *Plan) OnCluster(name string) bool {
	return slices.ContainsFunc(p.Nodes, func(n Node) bool { return n.Name == name && n.Remote() })
}

// Apart is true for a node whose interfaces the kernel of this host does not have, and whose clock
// is not this host's.
func (n Node) Apart() bool { return n.Guest() || n.Remote() }

func (n *node) remote() bool {
	return n.link == nil && n.pollsFor == nil && n.spec.Runtime.Descriptor().Remote
}

func (e *endpoint) remote() bool { return e.node.remote() }

// alone is true for a pod that shares its link with no other: it can send to itself only, over its
// kernel's loopback. A file has none, but a baseline has.
func (e *endpoint) alone() bool { return e.remote() && len(e.link.endpoints) == 1 }

func (l *link) remote() bool { return l.kind.Descriptor().Remote }

// addressed is true for an endpoint whose addresses the plan chooses: on this host, and where a pod bypasses its kernel, so
// that the cluster's network knows nothing of them.
func (e *endpoint) addressed() bool { return !e.remote() || e.bypasses() }

// bypasses is true for an endpoint that a pod claims for DPDK or AF_XDP.
func (e *endpoint) bypasses() bool { return e.device != nil || e.socketMap }

func (l *link) addressed() bool { return len(l.endpoints) > 0 && l.endpoints[0].addressed() }

// attachClaims has DPDK or AF_XDP open the ports that the pods of a link claim, if an engine of one of them uses
// that: they are of one class, so all of them are sockets, or interfaces with maps.
func (l *link) attachClaims(backends map[*endpoint]spec.Backend) error {
	if l.kind.Descriptor().DPDK != spec.DPDKClaimed {
		return nil
	}
	first := slices.IndexFunc(l.endpoints, func(e *endpoint) bool {
		return backends[e] == spec.BackendDPDK || backends[e] == spec.BackendXDP
	})
	if first < 0 {
		return nil
	}
	used := backends[l.endpoints[first]]
	for _, e := range l.endpoints {
		if backend := backends[e]; backend != "" && backend != used {
			return at(&Conflict{"link " + l.name, fmt.Sprintf("%s is used with the backend %s, and another end with %s", e, backend, used),
				"use one backend at both ends: dpdk with a class of sockets, xdp with a class of maps for AF_XDP sockets, or udp with any class of interfaces"}, l.steps())
		}
		if used == spec.BackendDPDK {
			e.device = &Device{Driver: driverVirtioUser, Claimed: true}
		} else {
			e.socketMap = true
		}
	}
	return nil
}

// checkRemotes refuses links between a cluster and this host, and traffic that two clocks would time.
func (w *work) checkRemotes() error {
	for _, l := range w.links {
		for _, e := range l.endpoints {
			switch {
			case l.remote() && !e.remote():
				return at(&Conflict{"link " + l.name, fmt.Sprintf("%s is on this host, and a %s link joins pods of a cluster", e, l.kind), "give its node runtime: pod"}, l.steps())
			case !l.remote() && e.remote():
				return at(&Conflict{"link " + l.name, fmt.Sprintf("%s is a pod, which cannot join a %s link of this host", e, l.kind), "use the kind that joins pods"}, l.steps())
			}
		}
	}
	if w.stream == nil || !w.path[0].remote() {
		return nil
	}
	if from, to := w.path[0].node, w.path[len(w.path)-1].node; from != to && !w.cluster().Clock.OneWay() {
		return at(&Conflict{"traffic", fmt.Sprintf("%s and %s may run on two machines, whose clocks differ by more than packets take", from.title(), to.title()),
			"measure the round trip, to a node with app: {kind: reflect}, or write cluster: {clock: shared} where the cluster is on this machine, or {clock: realtime} where PTP keeps its clocks"}, []string{"traffic"})
	}
	return nil
}

// cluster is where the experiment's pods run; nil where it has none.
func (w *work) cluster() *spec.Cluster {
	if !slices.ContainsFunc(w.nodes, func(n *node) bool { return n.remote() }) {
		return nil
	}
	if w.exp.Cluster == nil {
		return &spec.Cluster{}
	}
	return w.exp.Cluster
}

// podResult is what a node asks of the cluster; nil for one on this host.
func (n *node) podResult() *Pod {
	if !n.remote() {
		return nil
	}
	p := &Pod{CPUs: n.spec.CPUs, Host: n.spec.Host, Latency: n.spec.Latency}
	for _, e := range n.endpoints {
		if e.link.kind.Descriptor().Claimed {
			p.Ports = append(p.Ports, PodPort{Link: e.link.name, Interface: e.name, Class: e.link.spec.Class, Socket: e.device != nil, SocketMap: e.socketMap, MAC: e.mac})
		}
	}
	return p
}

// explainRemote says who decides what the plan does not.
func (n *node) explainRemote() {
	switch {
	case n.spec.Host != "":
		n.because("on the cluster's node %s, as the file asks", n.spec.Host)
	case n.spec.Latency != "":
		n.because("on a node of the cluster that was measured to meet %q, by nines' scheduler", n.spec.Latency)
	default:
		n.because("on a node that the cluster's scheduler chooses")
	}
	for _, e := range n.endpoints {
		if e.link.kind.Descriptor().Claimed {
			what := choose(e.device != nil, "a socket", choose(e.socketMap, "an interface with a map for AF_XDP sockets", "an interface"))
			n.because("%s is %s of the class %s that it claims from that node", e.name, what, e.link.spec.Class)
		}
	}
	if n.spec.CPUs > 0 {
		n.because("%s of that node, exclusively if its kubelet has the static CPU manager", terminal.Count(n.spec.CPUs, "CPU"))
	}
}

func (p *Pod) cpusText() string {
	if p.CPUs == 0 {
		return "the cluster's"
	}
	return fmt.Sprintf("%d of the cluster", p.CPUs)
}

package plan

import (
	"maps"
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// Needs lists what an experiment needs of a host besides CPUs and memory, for host.Check: nodes
// sorted by name, and links in the file's order.
func Needs(exp *spec.Experiment) host.Needs {
	needs := host.Needs{Root: true}
	feature := func(who string, names ...string) {
		for _, name := range names {
			needs.Features = append(needs.Features, host.Need{Name: name, For: who})
		}
	}
	type linkEnd struct {
		link *spec.Link
		name string
	}
	ends := map[string][]linkEnd{}
	for _, l := range exp.Topology.Links {
		for _, endpoint := range l.Endpoints {
			node, name, _ := strings.Cut(endpoint, ":")
			ends[node] = append(ends[node], linkEnd{l, name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(exp.Topology.Nodes)) {
		n := exp.Topology.Nodes[name]
		if n == nil {
			n = &spec.Node{}
		}
		who := "node " + name
		runtime := n.Runtime.Descriptor()
		feature(who, host.FeatureNetns)
		feature(who, runtime.Needs...)
		if runtime.Takes("driver") {
			feature("driver of "+who, string(n.Driver))
		}
		if runtime.Guest || runtime.Remote {
			continue // the guest or the cluster has to provide what runs in it
		}
		if n.App != nil {
			feature(who, backendFeatures(exp, n.App.Backend)...)
		}
		for _, e := range ends[name] {
			feature(who, receiveFeatures(exp.ReceiveOf(e.link, name, e.name), n.Polling)...)
		}
		if n.Memory > 0 {
			needs.Controllers = append(needs.Controllers, host.Need{Name: "memory", For: who})
		}
		named := (n.CPUs > 0 || n.CPUList != "") && runtime.Groups != spec.Ungrouped
		if named && exp.Isolation != spec.IsolationNone {
			needs.Controllers = append(needs.Controllers, host.Need{Name: "cpuset", For: who})
		}
		if n.HugepageLimit > 0 {
			needs.Controllers = append(needs.Controllers, host.Need{Name: "hugetlb", For: who})
		}
	}
	if m := exp.Management; m != nil {
		feature("management", spec.ManagementKind.Descriptor().Needs...)
		if m.DNS {
			feature("management", host.FeatureDNSMasq)
		}
		if len(m.SSHKeys) > 0 && sharesFiles(exp) {
			feature("management.ssh_keys", host.FeatureSSHServer)
		}
	}
	if exp.Trace {
		feature("trace: true", host.FeatureBTF)
	}
	if Partitions(exp.Isolation) {
		needs.Controllers = append(needs.Controllers, host.Need{Name: "cpuset", For: "isolation: " + string(exp.Isolation)})
	}
	for i, l := range exp.Topology.Links {
		who := "link " + linkName(i, l)
		feature(who, l.Kind.Descriptor().Needs...)
		if l.Impaired() {
			feature(who, impairFeatures(l.Kind.Descriptor().ImpairBy)...)
		}
	}
	// What sends in a pod needs nothing of this host.
	if exp.Traffic != nil && !sendsFromCluster(exp) {
		feature("traffic", backendFeatures(exp, exp.Traffic.Backend)...)
	}
	return needs
}

func sendsFromCluster(exp *spec.Experiment) bool {
	name, _, _ := strings.Cut(exp.Traffic.From, ":")
	n := exp.Topology.Nodes[name]
	return n != nil && n.Runtime.Descriptor().Remote
}

// sharesFiles is true where a node that people log in to has the host's files, and so its programs.
func sharesFiles(exp *spec.Experiment) bool {
	for _, n := range exp.Topology.Nodes {
		runtime := spec.Runtime("").Descriptor()
		if n != nil {
			runtime = n.Runtime.Descriptor()
		}
		if runtime.Restarts() && !runtime.OwnRoot {
			return true
		}
	}
	return false
}

// receiveFeatures are the kernel features that a receive mode needs.
func receiveFeatures(way spec.Receive, p *spec.Polling) []string {
	switch way {
	case spec.ReceiveThreaded:
		return []string{host.FeatureThreadedNAPI}
	case spec.ReceiveSuspend:
		return []string{host.FeatureIRQSuspend}
	case spec.ReceiveBusyPoll:
		if p == nil {
			break
		}
		switch p.Mechanism {
		case spec.PollNetlink:
			return []string{host.FeatureThreadedBusyPoll}
		case spec.PollLivepatch:
			return []string{host.FeatureLivepatch}
		case spec.PollIOUring:
			return []string{host.FeatureIOUringNAPI}
		case spec.PollEpoll:
			return []string{host.FeatureEpollBusyPoll}
		case spec.PollAuto:
		}
	case spec.ReceiveInterrupt, spec.ReceiveAwake:
		return nil
	}
	return []string{host.FeatureBusyPoll}
}

// impairFeatures are the kernel features that impair a link.
func impairFeatures(by spec.ImpairBy) []string {
	switch by {
	case spec.ImpairByHop:
		return []string{host.FeatureAFXDP}
	case spec.ImpairByNetem:
		return []string{host.FeatureNetem}
	case spec.ImpairByNothing, spec.ImpairByProgram:
	}
	return nil
}

// backendFeatures are the kernel features that a backend needs. Plan.Lacking counts hugepages.
func backendFeatures(exp *spec.Experiment, backend spec.Backend) []string {
	switch {
	case backend == spec.BackendXDP,
		backend == spec.BackendDPDK && exp.DPDK != nil && exp.DPDK.Driver == spec.DriverAFXDP:
		return []string{host.FeatureAFXDP}
	}
	return nil
}

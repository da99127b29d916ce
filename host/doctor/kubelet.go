package doctor

import (
	"slices"
	"strings"

	"nines.dev/nines/host"
)

// kubelet looks at how Kubernetes shares out the machine: whether its pods come onto the chosen CPUs, and
// whether a pod can have CPUs and memory of its own, beside its network card.
func (j *judge) kubelet() {
	k := j.inv.Kubelet
	if k == nil {
		k = &host.Kubelet{}
	}
	const manual = "kubernetes.io, Control CPU Management Policies on the Node"
	static := k.CPUManager == "static"
	if !static || slices.ContainsFunc(j.scope.CPUs, func(id int) bool { return !contains(k.ReservedCPUs, id) }) {
		j.find(Finding{
			ID: "kubelet", Severity: host.SeverityNote,
			Title:    "Kubernetes also assigns this machine's CPUs",
			Evidence: []Evidence{{"/proc/*/comm", "kubelet runs"}},
			Why:      "Its pods run on all CPUs that its CPU manager does not reserve, and it rewrites cpusets when pods start and end.",
			Cost:     &Cost{FromUS: threadUS, ToUS: sliceUS, When: "whenever pods are busy", Basis: BasisComputed, Source: sliceSource},
			Remedies: []Remedy{{Text: "reserve the CPUs: cpuManagerPolicy: static with reservedSystemCPUs: " + list(j.scope.CPUs) + " in the kubelet's configuration, or drain the machine first", Commands: []string{"kubectl drain $(hostname) --ignore-daemonsets"}}},
			Source:   manual,
		})
	}
	if j.inv.Kubelet == nil {
		return
	}
	var evidence []Evidence
	var wanted []string
	lacks := func(key, is string, right bool, want string) {
		if !right {
			evidence = append(evidence, Evidence{"/var/lib/kubelet/config.yaml", key + ": " + is})
			wanted = append(wanted, key+": "+want)
		}
	}
	lacks("cpuManagerPolicy", k.CPUManager, static, "static")
	if len(j.inv.NUMANodes) > 1 {
		lacks("topologyManagerPolicy", k.TopologyManager, slices.Contains([]string{"restricted", "single-numa-node"}, k.TopologyManager), "single-numa-node")
		lacks("memoryManagerPolicy", k.MemoryManager, k.MemoryManager == "Static", "Static, with reservedMemory")
	}
	if len(wanted) == 0 {
		return
	}
	j.find(Finding{
		ID: "kubelet-policies", Severity: host.SeverityNote,
		Title:    "Kubernetes gives pods here no exclusive CPUs" + choose(len(j.inv.NUMANodes) > 1, ", or not beside their network card", ""),
		Evidence: evidence,
		Why:      "A pod with whole CPUs shares them with others unless the CPU manager is static; with several NUMA nodes, only the topology and memory managers keep its CPUs, its memory and its port on one node.",
		Cost:     &Cost{FromUS: threadUS, ToUS: sliceUS, When: "whenever another pod runs on the CPU of a pod that polls", Basis: BasisComputed, Source: sliceSource},
		Remedies: []Remedy{{
			Text:     "set " + strings.Join(wanted, "; ") + " in the kubelet's configuration, drain the machine, and start the kubelet without its state of the old policy",
			Commands: []string{"systemctl stop kubelet", "rm -f /var/lib/kubelet/cpu_manager_state /var/lib/kubelet/memory_manager_state", "systemctl start kubelet"},
		}},
		Source: manual + "; Control Topology Management Policies on a node; Control Memory Management Policies on a Node",
	})
}

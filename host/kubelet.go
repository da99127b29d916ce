package host

import (
	"strings"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/kernel/files"
)

// kubeletFile is the kubelet's configuration where kubeadm writes it. Other installers have it
// elsewhere: then nothing is known of it.
const kubeletFile = "/var/lib/kubelet/config.yaml"

// Kubelet is how a running kubelet shares out CPUs and memory, as its configuration says
// (kubelet.config.k8s.io/v1beta1). A policy that is not written there is the kubelet's own, None or none.
type Kubelet struct {
	CPUManager      string `json:"cpu_manager"`
	MemoryManager   string `json:"memory_manager"`
	TopologyManager string `json:"topology_manager"`
	// ReservedCPUs are those on which it runs no pods with CPUs of their own.
	ReservedCPUs []int `json:"reserved_cpus,omitempty"`
}

// kubeletKeys are the lines of the configuration that are read.
var kubeletKeys = []string{"cpuManagerPolicy", "memoryManagerPolicy", "topologyManagerPolicy", "reservedSystemCPUs"}

// readKubelet is nil where no kubelet runs, or its configuration is elsewhere.
func readKubelet(t Tree, services []string) *Kubelet {
	runs := false
	for _, name := range services {
		runs = runs || name == "kubelet"
	}
	if !runs {
		return nil
	}
	content := files.Text(t, kubeletFile)
	if content == "" {
		return nil
	}
	value := func(key, byDefault string) string {
		if v := strings.Trim(field(content, key), `"'`); v != "" {
			return v
		}
		return byDefault
	}
	k := &Kubelet{CPUManager: value(kubeletKeys[0], "none"), MemoryManager: value(kubeletKeys[1], "None"), TopologyManager: value(kubeletKeys[2], "none")}
	if cpus, err := cpulist.Parse(value(kubeletKeys[3], "")); err == nil && len(cpus) > 0 {
		k.ReservedCPUs = cpus
	}
	return k
}

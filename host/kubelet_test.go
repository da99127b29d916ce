package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheKubeletsPoliciesAreRead(t *testing.T) {
	const file = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
clusterDNS: [10.96.0.10]
reservedSystemCPUs: "0-1,4"
topologyManagerPolicy: 'single-numa-node'
reservedMemory:
- numaNode: 0
`
	for name, test := range map[string]struct {
		services []string
		file     string
		want     *Kubelet
	}{
		"as written":          {[]string{"kubelet"}, file, &Kubelet{CPUManager: "static", MemoryManager: "None", TopologyManager: "single-numa-node", ReservedCPUs: []int{0, 1, 4}}},
		"by default":          {[]string{"kubelet"}, "kind: KubeletConfiguration\n", &Kubelet{CPUManager: "none", MemoryManager: "None", TopologyManager: "none"}},
		"no kubelet":          {[]string{"tuned"}, file, nil},
		"a file of others":    {[]string{"kubelet"}, "", nil},
		"CPUs that are wrong": {[]string{"kubelet"}, "reservedSystemCPUs: x\n", &Kubelet{CPUManager: "none", MemoryManager: "None", TopologyManager: "none"}},
	} {
		recorded := &Recording{Files: map[string]string{kubeletFile: test.file}}
		if diff := cmp.Diff(test.want, readKubelet(recorded, test.services)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
	// A recording keeps no more of the file than is read.
	if kept := string(redact(kubeletFile, []byte(file))); kept != "cpuManagerPolicy: static\nreservedSystemCPUs: \"0-1,4\"\ntopologyManagerPolicy: 'single-numa-node'\n" {
		t.Errorf("a recording keeps %q", kept)
	}
}

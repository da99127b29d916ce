package plan

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/golden"
)

// goldenHosts are the machines of package host's testdata with the interfaces for nic.yaml: the
// thesis's NICs are on NUMA nodes 1 and 3.
var goldenHosts = map[string][2]string{
	"microvm":          {"eth0", "eth0"},
	"epyc-7551p":       {"enp33s0f0", "enp97s0f0"},
	"xeon-e5-2640v4":   {"enp4s0f0", "enp4s0f1"},
	"laptop-i7-1165g7": {"wlp0s20f3", "wlp0s20f3"},
}

// boundDevices are functions of the NICs that the thesis gave to DPDK with igb_uio, as it ran
// without an IOMMU.
var boundDevices = map[string][]host.PCIDevice{
	"epyc-7551p": {
		{Address: "0000:21:10.0", Driver: "igb_uio", NUMANode: 1, Files: []string{"/dev/uio0"}},
		{Address: "0000:61:10.0", Driver: "igb_uio", NUMANode: 3, Files: []string{"/dev/uio1"}},
	},
}

func loadHost(t testing.TB, name string) *host.Inventory {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "host", "testdata", "hosts", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	inv, err := host.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

func loadExperiment(t testing.TB, path string, sets ...string) *spec.Experiment {
	t.Helper()
	f, err := spec.LoadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		if err := f.Set(set); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := f.Runs()
	if err != nil {
		t.Fatal(err)
	}
	return runs[0].Experiment
}

// TestGolden: on each of the machines, each experiment of testdata gives the plan, or the error, in
// its file in testdata/golden.
func TestGolden(t *testing.T) {
	experiments, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(experiments) == 0 {
		t.Fatalf("no experiments: %v", err)
	}
	for hostName, nics := range goldenHosts {
		inv := loadHost(t, hostName)
		inv.PCIDevices = boundDevices[hostName]
		for _, path := range experiments {
			name := filepath.Base(path[:len(path)-len(".yaml")])
			t.Run(hostName+"/"+name, func(t *testing.T) {
				var sets []string
				if name == "nic" {
					sets = []string{"links.ingress.parent=" + nics[0], "links.egress.parent=" + nics[1]}
				}
				got := render(t, loadExperiment(t, path, sets...), inv)
				golden.Equal(t, filepath.Join("testdata", "golden", hostName+"."+name+".txt"), got)
			})
		}
	}
}

// render returns a plan as table and JSON, or the error in a line.
func render(t *testing.T, exp *spec.Experiment, inv *host.Inventory) []byte {
	t.Helper()
	var b bytes.Buffer
	p, err := Make(exp, inv)
	if err != nil {
		b.WriteString("error: " + err.Error() + "\n")
		return b.Bytes()
	}
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, finding := range p.Lacking(inv) {
		b.WriteString("\n" + finding.String() + "\n")
	}
	b.WriteString("\n")
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	if err := e.Encode(p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

package discovery

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"nines.dev/nines/host"
	"nines.dev/nines/host/doctor"
	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/test/golden"
	"nines.dev/nines/test/labtest"
)

// inventory is a machine that package host has for its tests.
func inventory(t testing.TB, name string) *host.Inventory {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(labtest.Repository(), "host/testdata/hosts", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	inv, err := host.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

// TestWhatANodeHas writes down what is published of three machines, the first with some of what the
// thesis's nodes had: virtual functions, devices for DPDK, Open vSwitch with DPDK.
func TestWhatANodeHas(t *testing.T) {
	equipped := inventory(t, "rt-xeon-6354")
	equipped.NICs[0].TotalVFs, equipped.NICs[0].NumVFs = 64, 4
	equipped.NICs[1].State, equipped.NICs[1].SpeedMbit = "down", 0
	equipped.PCIDevices = []pci.Device{{Address: "0000:3b:02.1", Driver: "vfio-pci", NUMANode: 0, Files: []string{"/dev/vfio/7"}}}
	for name, node := range map[string]Node{
		"equipped": Of(equipped, &OVS{Version: "3.1.0", DPDK: true, DPDKVersion: "DPDK 22.11.7"}),
		"epyc":     Of(inventory(t, "epyc-7551p"), nil),
		"cloud":    Of(inventory(t, "cloud-c6i-xlarge"), &OVS{}),
	} {
		// Not the doctor's own, which are more with each check.
		node.Report.Findings = []doctor.Finding{
			{ID: "swap", Severity: host.SeverityNote}, {ID: "governor", Severity: host.SeverityWarning}, {ID: "coalescing-ens5", Severity: host.SeverityWarning},
		}
		if node.Report.Verdict == doctor.VerdictFit {
			node.Report.Findings = node.Report.Findings[:1]
		}
		text, err := json.MarshalIndent(Features(node), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "testdata/"+name+".json", append(text, '\n'))
	}
}

func TestEveryLabelIsOne(t *testing.T) {
	for _, name := range []string{"rt-xeon-6354", "epyc-7551p", "cloud-c6i-xlarge", "laptop-i7-1165g7", "microvm", "xeon-e5-2640v4", "laboratory"} {
		inv := inventory(t, name)
		inv.Kernel.Release = "6.12.0+" + strings.Repeat("~long", 20)
		for key, value := range Labels(Of(inv, &OVS{Version: "3.1.0 (beta)", DPDK: true})) {
			if wrong := validation.IsQualifiedName(key); len(wrong) > 0 {
				t.Errorf("%s: %s: %v", name, key, wrong)
			}
			if wrong := validation.IsValidLabelValue(value); len(wrong) > 0 || value == "" {
				t.Errorf("%s: %s=%q: %v", name, key, value, wrong)
			}
		}
	}
}

func FuzzLabelValue(f *testing.F) {
	for _, seed := range []string{"6.1.0-28-cloud-amd64", "-.x.-", "ä", strings.Repeat("x", 62) + ".y", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if wrong := validation.IsValidLabelValue(labelValue(text)); len(wrong) > 0 {
			t.Errorf("%q becomes %q: %v", text, labelValue(text), wrong)
		}
	})
}

// TestTheAgentsContainerIsNoFault: that nines runs in a container, with fewer CPUs than the node has,
// is no finding on the node, and does not change what is found.
func TestTheAgentsContainerIsNoFault(t *testing.T) {
	bare := inventory(t, "epyc-7551p")
	inside := inventory(t, "epyc-7551p")
	inside.Virtualisation.Container = "unknown"
	inside.AllowedCPUs = inside.AllowedCPUs[:2]
	one, _ := json.Marshal(Features(Of(bare, nil)))
	other, _ := json.Marshal(Features(Of(inside, nil)))
	if string(one) != string(other) {
		t.Errorf("outside of a container\n%s\nand in it\n%s", one, other)
	}
	if inside.Virtualisation.Container == "" || len(inside.AllowedCPUs) != 2 {
		t.Error("the inventory that was given is changed")
	}
}

// TestAChangeIsToldWhenItStays follows a cable that is plugged in, and one that is loose.
func TestAChangeIsToldWhenItStays(t *testing.T) {
	var s Steady
	for i, step := range []struct {
		now  string
		told bool
	}{
		{"down", true}, {"down", true},
		{"up", false}, {"up 1000", false}, {"up 10000", false}, {"up 10000", true}, {"up 10000", true},
		{"down", false}, {"up 10000", true}, {"down", false}, {"up 10000", true}, {"down", false}, {"down", true},
	} {
		if told := s.Offer(step.now); told != step.told {
			t.Errorf("step %d, %s: told is %t", i, step.now, told)
		}
	}
}

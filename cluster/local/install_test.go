package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
)

// TestAFileOfPortsIsCheckedBeforeAnythingIsMade: mistakes are reported here, not in the log of a pod.
func TestAFileOfPortsIsCheckedBeforeAnythingIsMade(t *testing.T) {
	layout, err := NewLayout("ports", 2)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ports.yaml")
	for text, words := range map[string]string{
		"":                        "no ports",
		"prots: []":               "prots",
		"ports: [{tier: switch}]": "entry 1: count 0",
		"ports: [{tier: veth, count: 1, parent: eth0}]":                                               "veth",
		"ports: [{tier: switch, count: 1}, {tier: macvlan, parent: eth0, count: 1, nodes: [n1, n3]}]": "entry 2: this cluster has no node n3; its nodes: n1, n2",
		"# " + strings.Repeat("x", portsFileLimit):                                                    "more than",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Options{Ports: path}.chosen(layout)
		if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), "--ports "+path) {
			t.Errorf("%.40q: %v, want %q", text, err, words)
		}
	}
	if _, err := (Options{Ports: filepath.Join(t.TempDir(), "none")}).chosen(layout); exit.Code(err) != exit.Wrong {
		t.Errorf("a file that is not there: %v", err)
	}
	all, err := Options{Agent: true, Ports: "../../examples/cluster/nodes/ports.yaml"}.chosen(layout)
	if err != nil || len(all) != 2 || !strings.Contains(string(all[1].manifest), "10.77.0.21/24") {
		t.Errorf("the example: %d, %v", len(all), err)
	}
}

package devices

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"nines.dev/nines/test/labtest"
)

// TestRestartTakesAServiceAfterItsNode, and leaves the node's other service as it is.
func TestRestartTakesAServiceAfterItsNode(t *testing.T) {
	labtest.Root(t)
	file := filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(file, []byte(`name: tdrestart
topology:
  nodes:
    a:
      services:
        - {name: first, run: [sleep, infinity]}
        - {name: second, run: [sleep, infinity]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	nines := func(arguments ...string) []byte {
		t.Helper()
		out, err := exec.Command(filepath.Join(labtest.Repository(), "bin", "nines"), arguments...).CombinedOutput()
		if err != nil {
			t.Fatalf("nines %q: %v\n%s", arguments, err, out)
		}
		return out
	}
	keepers := func() map[string]int {
		t.Helper()
		var lab struct {
			Nodes []struct {
				Services []struct {
					Name   string `json:"name"`
					Keeper int    `json:"keeper_pid"`
				} `json:"services"`
			} `json:"node_list"`
		}
		if err := json.Unmarshal(nines("inspect", "tdrestart", "--format", "json"), &lab); err != nil {
			t.Fatal(err)
		}
		found := map[string]int{}
		for _, n := range lab.Nodes {
			for _, s := range n.Services {
				found[s.Name] = s.Keeper
			}
		}
		return found
	}
	t.Cleanup(func() { nines("down", "tdrestart") })
	nines("up", file)
	before := keepers()
	nines("restart", "--lab", "tdrestart", "a", "second")
	after := keepers()
	if len(before) != 2 || before["first"] != after["first"] || before["second"] == after["second"] {
		t.Errorf("kept by %v before, and by %v after", before, after)
	}
}

// Package again measures results once more by nines compare --again.
package again

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

const lab = `name: again-NAME
topology:
  nodes: {gen: {}, dut: {app: {kind: route}}}
  links:
    - {name: in, kind: KIND, endpoints: ["gen:tx", "dut:in"]}
    - {name: out, endpoints: ["dut:out", "gen:rx"]}
traffic: {from: "gen:tx", to: "gen:rx", rate_pps: RATE, warmup: 50ms, duration: 100ms, drain: 1s}
`

// nines runs the built program, and gives what it printed and noted.
func nines(t *testing.T, arguments ...string) (printed, noted string) {
	t.Helper()
	var out, errOut strings.Builder
	c := exec.CommandContext(t.Context(), filepath.Join(labtest.Repository(), "bin", "nines"), arguments...)
	c.Stdout, c.Stderr = &out, &errOut
	if err := c.Run(); err != nil && !labtest.NoneValid(errOut.String()) {
		t.Fatalf("nines %q: %v\n%s", arguments, err, errOut.String())
	}
	return out.String(), errOut.String()
}

// measured is the folder of a result.
func measured(t *testing.T, out, name, kind, rate string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lab.yaml")
	text := strings.NewReplacer("NAME", name, "KIND", kind, "RATE", rate).Replace(lab)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	nines(t, "run", file, "--out", out)
	folder, err := filepath.EvalSymlinks(filepath.Join(out, result.LatestLink))
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestTwoResultsAsADuet has both kinds of link side by side. What it decides depends on the host.
func TestTwoResultsAsADuet(t *testing.T) {
	labtest.Experiment(t)
	out := t.TempDir()
	a, b := measured(t, out, "veth", "veth", "1000"), measured(t, out, "bridge", "bridge", "1000")
	printed, _ := nines(t, "compare", a, b, "--again", "--for", "1s", "--out", out, "--format", "json")
	var s result.Summary
	if err := json.Unmarshal([]byte(printed), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Trials) != 1 || s.Trials[0].Duet == nil || len(s.Trials[0].Streams) != 2 {
		t.Fatalf("it is no duet: %s", printed)
	}
	for _, stream := range s.Trials[0].Streams {
		if stream.RxPackets == 0 {
			t.Errorf("side %s received nothing", stream.Name)
		}
	}
}

// TestTwoRatesInTurn cannot be a duet, whose sides share a schedule.
func TestTwoRatesInTurn(t *testing.T) {
	labtest.Experiment(t)
	out := t.TempDir()
	a, b := measured(t, out, "slow", "veth", "1000"), measured(t, out, "fast", "veth", "2000")
	printed, noted := nines(t, "compare", a, b, "--again", "--out", out)
	if !strings.Contains(noted, "cannot be the sides of a duet, so their trials run in turn") {
		t.Errorf("it does not say why they run in turn:\n%s", noted)
	}
	if !strings.Contains(printed, "A variant=a") || !strings.Contains(printed, "6 repeats") && !strings.Contains(printed, "invalid") {
		t.Errorf("it compares something else:\n%s", printed)
	}
}

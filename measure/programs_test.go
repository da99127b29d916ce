package measure

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

func TestPollersWaited(t *testing.T) {
	before := map[int]threadTime{1: {ran: 100, waited: 10}, 2: {ran: 5, waited: 5}}
	after := map[int]threadTime{1: {ran: 1100, waited: 40}, 2: {ran: 6, waited: 25}, 3: {ran: 500, waited: 7}}
	for pollers, want := range map[int]time.Duration{0: 0, 1: 30, 2: 37, 9: 57} {
		if got := pollersWaited(before, after, pollers); got != want {
			t.Errorf("%d pollers waited %d, want %d", pollers, got, want)
		}
	}
}

func TestReadThreads(t *testing.T) {
	root := t.TempDir()
	for tid, text := range map[string]string{"70": "1000 20 3\n", "71": "5 6 1\n", "72": "broken\n"} {
		dir := filepath.Join(root, "proc/70/task", tid)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "schedstat"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := make(map[int]threadTime)
	readThreads(root, 70, got)
	readThreads(root, 99, got) // has ended
	if len(got) != 2 || got[70] != (threadTime{1000, 20}) || got[71] != (threadTime{5, 6}) {
		t.Errorf("threads = %v", got)
	}
}

func TestWhatProgramsSawSince(t *testing.T) {
	p := &plan.Plan{Links: []plan.Link{
		{Name: "kernel", Kind: spec.LinkVeth},
		{Name: "wire", Kind: spec.LinkSwitch, Switch: &plan.Switch{CPUs: []int{1}}},
	}}
	before := programs{threads: map[string]map[int]threadTime{"wire": {7: {10, 1}}}, drops: map[string]uint64{"a": 3, "b": 5}}
	now := programs{threads: map[string]map[int]threadTime{"wire": {7: {90, 4}}}, drops: map[string]uint64{"c": 1, "a": 10, "b": 5}}
	delays, drops := now.since(before, p)
	if diff := cmp.Diff([]result.ProgramDelay{{Link: "wire", Kind: "switch", RunDelayNs: 3}}, delays); diff != "" {
		t.Errorf("delays (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]result.Counter{{Name: "a", Count: 7}, {Name: "c", Count: 1}}, drops); diff != "" {
		t.Errorf("drops (-want +got):\n%s", diff)
	}
}

// TestASwitchIsWitnessed runs traffic through the engine's own switch:
//
//	a:tx ──wire (switch)── a:rx
func TestASwitchIsWitnessed(t *testing.T) {
	labtest.Experiment(t)
	labtest.Hugepages(t)
	experiment, writer := prepare(t, "witness", `
topology:
  nodes: {a: {}}
  links: [{name: wire, kind: switch, endpoints: ["a:tx", "a:rx"]}]
traffic: {from: "a:tx", to: "a:rx", backend: dpdk, rate_pps: 20k, duration: 300ms, warmup: 50ms, drain: 200ms, outliers: 10}
dpdk: {hugepages: reserve}
`)
	done := finish(t, experiment, writer)
	details, err := done.TrialFolder("0001").Details()
	if err != nil {
		t.Fatal(err)
	}
	if len(details.Programs) != 1 || details.Programs[0].Link != "wire" || details.Programs[0].RunDelayNs < 0 {
		t.Errorf("programs = %+v", details.Programs)
	}
	if trial := done.Summary.Trials[0]; trial.RxPackets == 0 {
		t.Errorf("nothing came through the switch: %q", trial.Reasons)
	}
}

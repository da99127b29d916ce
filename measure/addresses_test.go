package measure

import (
	"context"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// TestAddressesThatAScriptSets are read before a trial: the packets go to them, and the trial notes them.
//
//	a:eth ──wire── b:eth, whose setup script gives it other addresses
func TestAddressesThatAScriptSets(t *testing.T) {
	labtest.Experiment(t)
	r, err := runScripts(context.Background(), t, "addressed", `
topology:
  nodes:
    a: {addresses: {eth: [10.9.9.1/24]}}
    b: {addresses: {eth: [10.9.9.2/24]}, scripts: {setup: setup.sh}}
  links: [{name: wire, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "b:eth", rate_pps: 2000, duration: 200ms, warmup: 50ms, drain: 3s, outliers: 10}
sweep: {traffic.backend: [udp, raw]}
repeat: 2
`, map[string]string{"setup.sh": `#!/bin/sh
set -e
ip link set dev eth down
ip link set dev eth address 52:54:00:8e:00:99
ip addr flush dev eth
ip addr add 10.9.9.7/24 dev eth
ip link set dev eth up
`})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Shown()) != 4 {
		t.Fatalf("%d trials", len(r.Shown()))
	}
	for _, trial := range r.Shown() {
		details, err := r.TrialFolder(trial.ID).Details()
		if err != nil {
			t.Fatal(err)
		}
		// On a busy host a trial may be invalid for what kept its engine waiting.
		if why := strings.Join(trial.Reasons, "\n"); strings.Contains(why, "address") || trial.LostPackets > 0 || trial.RxPackets == 0 {
			t.Errorf("%s: %s, %d received, %d lost: %q", trial.ID, trial.Verdict, trial.RxPackets, trial.LostPackets, trial.Reasons)
		}
		said := strings.Join(details.Notes, "\n")
		if !strings.Contains(said, "b:eth has the MAC address 52:54:00:8e:00:99 in place of ") || !strings.Contains(said, "10.9.9.7/24 in place of 10.9.9.2/24") {
			t.Errorf("%s: the notes are %q", trial.ID, details.Notes)
		}
	}
}

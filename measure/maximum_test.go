package measure

import (
	"context"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// fractions asks for fractions of a wire's maximum:
//
//	a:eth ──wire── b:eth
const fractions = `
topology:
  nodes: {a: {}, b: {}}
  links: [{name: wire, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "b:eth", rate_of_maximum: 0.1, duration: 100ms, warmup: 20ms, drain: 100ms, outliers: 10}
sweep:
  traffic.frame_bytes: [64, 512]
  traffic.rate_of_maximum: [0.1, 0.2]
repeat: 2
`

func TestRatesAreFractionsOfAMeasuredMaximum(t *testing.T) {
	labtest.Experiment(t)
	experiment, writer := prepare(t, "fractions", fractions)
	done := finish(t, experiment, writer)
	if len(done.Problems) > 0 {
		t.Errorf("problems: %q", done.Problems)
	}
	if len(done.Maxima) != 2 {
		t.Fatalf("%d maxima, want one for each frame size, which the fractions and repeats share", len(done.Maxima))
	}
	byID := make(map[string]result.Trial)
	for _, maximum := range done.Maxima {
		byID[maximum.ID] = maximum
		if _, ok := maximum.Variables[rateOfMaximum]; ok || maximum.RxPackets == 0 {
			t.Errorf("maximum %s received %d packets with %v", maximum.ID, maximum.RxPackets, maximum.Variables)
		}
	}
	if len(done.Summary.Trials) != 8 {
		t.Fatalf("%d trials, want 2 sizes × 2 fractions × 2 repeats", len(done.Summary.Trials))
	}
	for _, trial := range done.Summary.Trials {
		details, err := done.TrialFolder(trial.ID).Details()
		if err != nil {
			t.Fatal(err)
		}
		share := details.Maximum
		if share == nil {
			t.Fatalf("trial %s does not say what its rate is a part of", trial.ID)
		}
		if share.Fraction != trial.Variables[rateOfMaximum] || details.IntendedPPS != share.Fraction*share.ReceivedPPS {
			t.Errorf("trial %s with %v intended %v packets a second: %+v", trial.ID, trial.Variables, details.IntendedPPS, share)
		}
		if size := byID[share.ID].Variables["traffic.frame_bytes"]; size != trial.Variables["traffic.frame_bytes"] || float64(details.FrameBytes) != size {
			t.Errorf("trial %s of %v, %d bytes, takes the maximum of frames of %v bytes", trial.ID, trial.Variables, details.FrameBytes, size)
		}
	}
}

// TestWithoutAMaximumTheRestGoesOn breaks the wire for frames of one size: their maximum cannot be
// found.
func TestWithoutAMaximumTheRestGoesOn(t *testing.T) {
	labtest.Experiment(t)
	experiment, writer := prepare(t, "no-maximum", fractions, "repeat=1", "traffic.path_timeout=0s", cut)
	watch := &triedMaxima{tries: map[any]int{}}
	if err := measureAll(context.Background(), experiment, writer, watch); err != nil {
		t.Fatal(err)
	}
	noLabLeft(t)
	if watch.tries[512] != maximumTries || watch.tries[64] == 0 {
		t.Errorf("trials at rate 0 by frame size: %v", watch.tries)
	}
	summary := writer.Summary()
	if len(summary.Trials) != 2 || len(summary.Skipped) != 2 {
		t.Fatalf("%d trials and %d skipped, want 2 of each: %+v", len(summary.Trials), len(summary.Skipped), summary.Skipped)
	}
	for _, skipped := range summary.Skipped {
		if skipped.Variables["traffic.frame_bytes"] != 512 || !strings.Contains(skipped.Reason, "the trials at rate 0 were invalid, the last (maxima/0002): no packet arrived") {
			t.Errorf("skipped %v: %s", skipped.Variables, skipped.Reason)
		}
	}
	for _, trial := range summary.Trials {
		if trial.Variables["traffic.frame_bytes"] != 64 {
			t.Errorf("measured %v", trial.Variables)
		}
	}
}

// triedMaxima counts the trials at rate 0 of each frame size.
type triedMaxima struct {
	silent
	tries map[any]int
}

func (m *triedMaxima) Maximum(variables map[string]any, _ time.Duration) {
	m.tries[variables["traffic.frame_bytes"]]++
}

// TestALinkThatTheHostLacksLeavesTheOthers removes a feature from the inventory.
func TestALinkThatTheHostLacksLeavesTheOthers(t *testing.T) {
	labtest.Experiment(t)
	prepared := func(kinds string) (*Experiment, *result.Writer) {
		experiment, writer := prepare(t, "lacking", pairNetwork, "sweep.links.*.kind="+kinds)
		lacking := *experiment.inventory
		lacking.Features = append([]host.Feature(nil), lacking.Features...)
		for i := range lacking.Features {
			if lacking.Features[i].Name == host.FeatureBridge {
				lacking.Features[i].State, lacking.Features[i].Detail = host.StateNo, "taken out by a test"
			}
		}
		experiment.inventory = &lacking
		return experiment, writer
	}
	experiment, writer := prepared("[veth, bridge]")
	said := checked(t, experiment)
	if !strings.Contains(said, "taken out by a test") || !strings.Contains(said, "1 of 2 runs are left out, the first with links.*.kind=bridge") {
		t.Errorf("the findings say %q", said)
	}
	if experiment.Trials() != 1 {
		t.Errorf("%d trials are left", experiment.Trials())
	}
	if err := measureAll(context.Background(), experiment, writer, silent{}); err != nil {
		t.Fatal(err)
	}
	noLabLeft(t)
	summary := writer.Summary()
	if len(summary.Trials) != 1 || summary.Trials[0].Variables["links.*.kind"] != string(spec.LinkVeth) {
		t.Errorf("measured %+v", summary.Trials)
	}
	if len(summary.Skipped) != 1 || !strings.Contains(summary.Skipped[0].Reason, "taken out by a test") {
		t.Errorf("skipped %+v", summary.Skipped)
	}

	experiment, _ = prepared("[bridge]")
	if _, err := experiment.Check(); err == nil || !strings.Contains(err.Error(), "taken out by a test") {
		t.Errorf("Check = %v, where no run is left", err)
	}
}

// checked is what Check finds, one finding per line.
func checked(t *testing.T, experiment *Experiment) (said string) {
	t.Helper()
	findings, err := experiment.Check()
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range findings {
		said += finding.String() + "\n"
	}
	return said
}

// TestHardwareThatTheHostLacksLeavesTheOthers removes the network cards from the inventory: the
// plan refuses virtual functions.
func TestHardwareThatTheHostLacksLeavesTheOthers(t *testing.T) {
	labtest.Experiment(t)
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	inventory.Functions = nil
	prepared := func(kinds string) (*Experiment, error) {
		file, err := spec.Load("test.yaml", []byte("name: nocard"+pairNetwork))
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Set("sweep.links.*.kind=" + kinds); err != nil {
			t.Fatal(err)
		}
		return Prepare(file, inventory)
	}
	const wants = "needs virtual functions of a network card"
	experiment, err := prepared("[sriov, veth]")
	if err != nil {
		t.Fatal(err)
	}
	said := checked(t, experiment)
	if !strings.Contains(said, "sriov: link ") || !strings.Contains(said, wants) || !strings.Contains(said, "1 of 2 runs are left out, the first with links.*.kind=sriov") {
		t.Errorf("the findings say %q", said)
	}
	writer, err := result.Create(t.TempDir(), "nocard", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	done := finish(t, experiment, writer)
	if trials := done.Summary.Trials; len(trials) != 1 || trials[0].Variables["links.*.kind"] != string(spec.LinkVeth) {
		t.Errorf("measured %+v", trials)
	}
	if skipped := done.Summary.Skipped; len(skipped) != 1 || !strings.Contains(skipped[0].Reason, wants) {
		t.Errorf("skipped %+v", skipped)
	}
	if err := experiment.LeftOut(); exit.Code(err) != exit.Lacks || !strings.HasPrefix(err.Error(), "1 of ") {
		t.Errorf("LeftOut = %v", err)
	}

	if _, err := prepared("[sriov]"); exit.Code(err) != exit.Lacks || strings.Count(err.Error(), wants) != 1 {
		t.Errorf("Prepare = %v, where no run is left", err)
	}
}

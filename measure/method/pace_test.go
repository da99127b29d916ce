package method_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/measure/method"
	"nines.dev/nines/measure/method/simulate"
	"nines.dev/nines/spec"
)

// slowGenerator tests a network that forwards five times what the generator can send. Its queue is below a tenth
// of the time between packets up to 19 % of its rate.
var slowGenerator = simulate.Device{Seed: 3, CapacityPPS: 5e6, GeneratorPPS: 1e6, Latency: 20 * time.Microsecond}

// searchesForRates are the kinds that find a throughput, and its name.
var searchesForRates = map[spec.MethodKind]string{
	spec.MethodRFC2544: "throughput", spec.MethodRFC8219: "throughput", spec.MethodTST009: "throughput", spec.MethodMLRsearch: "NDR",
}

// TestAThroughputThatTheGeneratorBounds is only a least one, and the latency is measured where packets do not queue in
// the generator, which the standards' deviations say.
func TestAThroughputThatTheGeneratorBounds(t *testing.T) {
	for kind, name := range searchesForRates {
		found := search(t, spec.Method{Kind: kind, Quick: true, Goals: mlrGoals(kind)}, method.Setting{CeilingPPS: 2e6, FrameBytes: 64}, slowGenerator)
		f := finding(t, found, name)
		if !f.AtLeast || f.Value == nil || *f.Value > slowGenerator.GeneratorPPS || *f.Value < 0.8*slowGenerator.GeneratorPPS {
			t.Errorf("%s: %g, at least: %v", kind, number(f.Value), f.AtLeast)
		}
		if !strings.Contains(f.Reason, "the generator bounds it") {
			t.Errorf("%s: %q", kind, f.Reason)
		}
		if found.Conformant || !strings.Contains(strings.Join(found.Deviations, "\n"), "latency: at 10 % of "+name) {
			t.Errorf("%s: %v", kind, found.Deviations)
		}
		for _, latency := range found.Findings {
			load, is := latency.Conditions["load"].(float64)
			if !is || latency.Unit != "ns" {
				continue
			}
			if load > 0.1 || latency.Value == nil || strings.Contains(latency.Reason, "queue") {
				t.Errorf("%s: %s at a load of %g: %g %q", kind, latency.Name, load, number(latency.Value), latency.Reason)
			}
		}
	}
}

func mlrGoals(kind spec.MethodKind) []*spec.Goal {
	if kind == spec.MethodMLRsearch {
		return goals("ndr")
	}
	return nil
}

// TestAThroughputOfTheNetwork stays one, whatever the generator could not send above it; and so does that of the
// medium. A latency at it that has the generator's queue in it says so.
func TestAThroughputOfTheNetwork(t *testing.T) {
	for name, test := range map[string]struct {
		device simulate.Device
		at     method.Setting
		pps    float64
		queue  bool
	}{
		"the network's": {simulate.Device{CapacityPPS: 5e5, GeneratorPPS: 1e6, Latency: time.Microsecond},
			method.Setting{CeilingPPS: 2e6, FrameBytes: 64}, 5e5, true},
		"the network's, of a fast generator": {simulate.Device{CapacityPPS: 1e5, GeneratorPPS: 1e6, Latency: time.Microsecond},
			method.Setting{CeilingPPS: 2e6, FrameBytes: 64}, 1e5, false},
		"the medium's": {simulate.Device{CapacityPPS: 5e6, Latency: time.Microsecond},
			method.Setting{CeilingPPS: 2e6, LinePPS: 2e6, FrameBytes: 64}, 2e6, false},
	} {
		for kind, of := range searchesForRates {
			found := search(t, spec.Method{Kind: kind, Quick: true, Goals: mlrGoals(kind)}, test.at, test.device)
			f := finding(t, found, of)
			if f.AtLeast || math.Abs(number(f.Value)-test.pps) > 0.01*test.pps {
				t.Errorf("%s, %s: %g, at least: %v", name, kind, number(f.Value), f.AtLeast)
			}
			for _, latency := range found.Findings {
				if load, is := latency.Conditions["load"].(float64); is && load == 1 && latency.Unit == "ns" {
					if strings.Contains(latency.Reason, "queue") != test.queue {
						t.Errorf("%s, %s: %s says %q", name, kind, latency.Name, latency.Reason)
					}
					break
				}
			}
		}
	}
}

// TestAThroughputAtTheHighestRateToTry is a least one: a network may forward more where the links have no rate of
// their own, or the file bounds the search.
func TestAThroughputAtTheHighestRateToTry(t *testing.T) {
	d := simulate.Device{CapacityPPS: 5e6, Latency: time.Microsecond}
	for kind, of := range searchesForRates {
		for name, at := range map[string]method.Setting{"no line": {CeilingPPS: 2e6}, "bounded": {CeilingPPS: 4e6, LinePPS: 4e6}} {
			m := spec.Method{Kind: kind, Quick: true, MaxRatePPS: 2e6, Goals: mlrGoals(kind)}
			if f := finding(t, search(t, m, at, d), of); !f.AtLeast || number(f.Value) != 2e6 {
				t.Errorf("%s, %s: %g, at least: %v", name, kind, number(f.Value), f.AtLeast)
			}
		}
	}
}

// TestAGeneratorThatNeverKeepsPace leaves the latency open, and bursts faster than it can send are not tried.
func TestAGeneratorThatNeverKeepsPace(t *testing.T) {
	d := slowGenerator
	d.GeneratorPPS, d.AlwaysLate = 1e6, time.Second
	found := search(t, spec.Method{Kind: spec.MethodRFC2544, Quick: true}, method.Setting{CeilingPPS: 2e6, FrameBytes: 64}, d)
	if f := finding(t, found, "latency"); f.Value != nil || !strings.Contains(f.Reason, "not below a tenth") {
		t.Errorf("latency: %g %q", number(f.Value), f.Reason)
	}
	if f := finding(t, found, "back-to-back"); f.Value != nil || !strings.Contains(f.Reason, "the generator bounds the throughput") {
		t.Errorf("back-to-back: %g %q", number(f.Value), f.Reason)
	}
}

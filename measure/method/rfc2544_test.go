package method_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/measure/method"
	"nines.dev/nines/measure/method/simulate"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// rfc2544 is the setting for a device behind a link with its own rate.
func rfc2544(d simulate.Device) method.Setting {
	return method.Setting{CeilingPPS: d.CeilingPPS(), LinePPS: d.CeilingPPS(), FrameBytes: 64}
}

func TestRFC2544ThroughputIsTheTruth(t *testing.T) {
	var count tally
	for _, d := range simulate.Population(simulate.Quiet, devices, 5) {
		m := spec.Method{Kind: spec.MethodRFC2544, Tests: []spec.RFC2544Test{spec.TestThroughput}, Loads: none}
		found := search(t, m, rfc2544(d), d)
		f := finding(t, found, "throughput")
		count.add(near(f.Low, d.Truth(0, 0, time.Minute), method.DefaultWidth) && number(f.Value) == number(f.Low))
		count.took += time.Duration(found.MeasuringNs)
		if !found.Conformant {
			t.Fatalf("not conformant: %v", found.Deviations)
		}
		if last := trialOf(t, found, f.Trial); last.LossRatio != 0 || last.DurationNs < time.Minute.Nanoseconds() {
			t.Fatalf("the throughput is shown by a trial of %d ns that lost %g", last.DurationNs, last.LossRatio)
		}
	}
	count.expect(t, "rfc2544", 1)
}

func trialOf(t *testing.T, s result.Search, id string) result.SearchTrial {
	t.Helper()
	for _, trial := range s.Trials {
		if trial.ID == id {
			return trial
		}
	}
	t.Fatalf("no trial %q", id)
	return result.SearchTrial{}
}

// TestFrameLossIsTheDevicesOwn compares each rate's loss with the device's, and checks the end: two
// rates in a row without loss, or the lowest.
func TestFrameLossIsTheDevicesOwn(t *testing.T) {
	for _, d := range simulate.Population(simulate.Quiet, devices, 6) {
		m := spec.Method{Kind: spec.MethodRFC2544, Tests: []spec.RFC2544Test{spec.TestFrameLoss}, Loads: none}
		found := search(t, m, rfc2544(d), d)
		lossless := 0
		for i, f := range found.Findings {
			rate := d.CeilingPPS() * (1 - 0.1*float64(i))
			outcome, err := d.Trial(t.Context(), method.Load{RatePPS: rate, Duration: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(*f.Value-outcome.LossRatio()) > 1e-6 {
				t.Errorf("%+v at %g: a loss of %g, want %g", d, rate, *f.Value, outcome.LossRatio())
			}
			if lossless == 2 {
				t.Errorf("%+v: goes on after two rates without loss", d)
			}
			if lossless++; *f.Value > 0 {
				lossless = 0
			}
		}
		if lossless < 2 && len(found.Findings) < 10 {
			t.Errorf("%+v: ends after %d rates", d, len(found.Findings))
		}
	}
}

// TestBackToBackFindsTheBuffer: a device that loses only at a queue of Q packets holds a burst of
// Q·line/(line − capacity), and its corrected buffer time is that of Q packets (RFC 9004 section
// 5.4).
func TestBackToBackFindsTheBuffer(t *testing.T) {
	var burst, buffer tally
	for _, d := range simulate.Population(simulate.Quiet, devices, 7) {
		d.Collapse, d.Slope, d.QueuePackets = 0, 0, max(d.QueuePackets, 16)
		at := rfc2544(d)
		m := spec.Method{Kind: spec.MethodRFC2544, Tests: []spec.RFC2544Test{spec.TestBackToBack}, Loads: none}
		found := search(t, m, at, d)
		f := finding(t, found, "back-to-back")
		truth := d.QueuePackets * at.LinePPS / (at.LinePPS - d.CapacityPPS)
		if truth > 30*at.LinePPS {
			t.Fatalf("%+v: no burst that is short enough", d)
		}
		// The loss is an integer number of frames: up to one more than the queue's is held.
		oneMore := at.LinePPS / (at.LinePPS - d.CapacityPPS)
		got := number(f.Value)
		burst.add(got >= truth*(1-method.DefaultWidth)-1 && got <= truth*(1+method.DefaultWidth)+oneMore+1)
		burst.took += time.Duration(found.MeasuringNs)
		if number(f.Low) > number(f.Value) || number(f.High) < number(f.Value) {
			t.Errorf("%+v: %g is not between %g and %g", d, *f.Value, *f.Low, *f.High)
		}
		// The throughput is known to one width, and includes what the queue adds in a minute.
		wantNs := d.QueuePackets / at.LinePPS * 1e9
		gotNs := number(finding(t, found, "corrected buffer time").Value)
		slack := wantNs*0.03 + 2e9/at.LinePPS + wantNs*2*method.DefaultWidth*d.CapacityPPS/(at.LinePPS-d.CapacityPPS)
		buffer.add(math.Abs(gotNs-wantNs) <= slack)
		implied := number(finding(t, found, "implied buffer time").Value)
		if want := number(f.Value) / at.LinePPS * 1e9; math.Abs(implied-want) > want*1e-9 {
			t.Errorf("%+v: implied buffer time %g, want %g", d, implied, want)
		}
		if !found.Conformant {
			t.Fatalf("not conformant: %v", found.Deviations)
		}
	}
	burst.expect(t, "back-to-back", 1)
	buffer.expect(t, "corrected buffer time", 0.99)
}

// TestLatencyIsTheDevicesOwn: at its throughput the device has the latency of a queue with known
// mean and percentiles. The bounds allow for chance with three repeats of 2,000 packets each: for
// the 99.9th percentile, two packets.
func TestLatencyIsTheDevicesOwn(t *testing.T) {
	var mean, typical, worst, pdv tally
	for _, d := range simulate.Population(simulate.Quiet, devices, 8) {
		d.Latency = 20 * time.Microsecond
		at := rfc2544(d)
		m := spec.Method{Kind: spec.MethodRFC2544, Tests: []spec.RFC2544Test{spec.TestLatency}, Loads: none, Quick: true}
		found := search(t, m, at, d)
		load := min(number(finding(t, found, "throughput").Value)/d.CapacityPPS, 0.99)
		queued := 1e9 / d.CapacityPPS * load / (2 * (1 - load))
		close := func(f result.Finding, base, want, part float64) bool {
			return f.Value != nil && math.Abs(*f.Value-base-want) <= part*want+60 // 3 digits
		}
		mean.add(close(finding(t, found, "latency"), 20000, queued, 0.1))
		found = search(t, spec.Method{Kind: spec.MethodRFC8219, Loads: none, Quick: true}, at, d)
		typical.add(close(finding(t, found, "typical latency"), 20000, queued*math.Ln2, 0.1))
		worst.add(close(finding(t, found, "worst-case latency"), 20000, queued*math.Log(1000), 0.25))
		f := finding(t, found, "PDV")
		pdv.add(close(f, 0, queued*math.Log(1000), 0.25))
		if *f.Low > *f.Value || *f.High < *f.Value {
			t.Errorf("%+v: %g is not between %g and %g", d, *f.Value, *f.Low, *f.High)
		}
	}
	mean.expect(t, "mean latency", 0.99)
	typical.expect(t, "typical latency", 0.99)
	worst.expect(t, "worst-case latency", 0.97)
	pdv.expect(t, "PDV", 0.97)
}

// TestStandardsTrials counts the trials of each kind that the standards require.
func TestStandardsTrials(t *testing.T) {
	d := simulate.Device{Seed: 1, CapacityPPS: 1e6, QueuePackets: 512, Latency: time.Microsecond}
	at := method.Setting{CeilingPPS: 2e6, LinePPS: 2e6, FrameBytes: 64}
	for kind, want := range map[spec.MethodKind]map[string]int{
		spec.MethodRFC2544: {"latency, repeat": 20, "frame loss": 7, "latency at": 4},
		spec.MethodRFC8219: {"latency and PDV": 20, "latency at": 4},
	} {
		found := search(t, spec.Method{Kind: kind}, at, d)
		if !found.Conformant || len(found.Deviations) > 0 {
			t.Errorf("%s: not conformant: %v", kind, found.Deviations)
		}
		for prefix, count := range want {
			got := 0
			for _, trial := range found.Trials {
				if strings.HasPrefix(trial.Purpose, prefix) {
					got++
					if strings.Contains(prefix, "repeat") || strings.Contains(prefix, "PDV") {
						if trial.DurationNs != (120 * time.Second).Nanoseconds() {
							t.Errorf("%s: %q lasts %d ns", kind, trial.Purpose, trial.DurationNs)
						}
					}
				}
			}
			if got != count {
				t.Errorf("%s: %d trials %q, want %d", kind, got, prefix, count)
			}
		}
	}
}

func TestBackToBackWhereThereIsNothingToFind(t *testing.T) {
	m := spec.Method{Kind: spec.MethodRFC2544, Quick: true, Tests: []spec.RFC2544Test{spec.TestBackToBack}, Loads: none}
	for name, test := range map[string]struct {
		device simulate.Device
		reason string
	}{
		"as fast as the link":   {simulate.Device{CapacityPPS: 3e6}, "the throughput is the theoretical rate"},
		"a buffer without end":  {simulate.Device{CapacityPPS: 1.9e6, QueuePackets: 5e5}, "the longest to be tried, lost nothing"},
		"nothing gets through":  {simulate.Device{CapacityPPS: 1}, "the throughput is not known"},
		"no buffer for a burst": {simulate.Device{CapacityPPS: 1e6}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := finding(t, search(t, m, method.Setting{CeilingPPS: 2e6, LinePPS: 2e6, FrameBytes: 64}, test.device), "back-to-back")
			if test.reason == "" {
				if f.Value == nil || *f.Value > 3 {
					t.Errorf("%+v", f)
				}
			} else if f.Value != nil || !strings.Contains(f.Reason, test.reason) {
				t.Errorf("%v %q, want %q", number(f.Value), f.Reason, test.reason)
			}
		})
	}
}

// TestBackToBackWithoutALine: bursts at a rate that is not the medium's are reported as such.
func TestBackToBackWithoutALine(t *testing.T) {
	m := spec.Method{Kind: spec.MethodRFC2544, Tests: []spec.RFC2544Test{spec.TestBackToBack}, Loads: none}
	found := search(t, m, method.Setting{CeilingPPS: 2e6, FrameBytes: 64}, simulate.Device{CapacityPPS: 3e6})
	if f := finding(t, found, "back-to-back"); !strings.Contains(f.Reason, "the rate of the bursts, 2000000 packets/s") {
		t.Errorf("%q", f.Reason)
	}
	if said := strings.Join(found.Deviations, "\n"); !strings.Contains(said, "bursts at 2000000 packets/s") {
		t.Errorf("%q", said)
	}
}

// TestDeviationsAreSaid: deviations by quick and by values in the experiment file are listed with
// their reason.
func TestDeviationsAreSaid(t *testing.T) {
	d := simulate.Device{CapacityPPS: 1e6, Latency: time.Microsecond}
	for _, kind := range []spec.MethodKind{spec.MethodRFC2544, spec.MethodRFC8219, spec.MethodTST009, spec.MethodMLRsearch, spec.MethodY1564} {
		for name, test := range map[string]struct {
			change func(*spec.Method, *method.Setting)
			want   string
		}{
			"as it is": {func(*spec.Method, *method.Setting) {}, ""},
			"quick":    {func(m *spec.Method, _ *method.Setting) { m.Quick = true }, "because quick is set"},
			"short": {func(m *spec.Method, _ *method.Setting) { m.Trial = spec.Duration(time.Second / 2) },
				"because the experiment file says so"},
		} {
			m := spec.Method{Kind: kind, CommittedPPS: 1e5, Loads: none, Goals: goals("ndr", "rfc2544")}
			at := method.Setting{CeilingPPS: 2e6, LinePPS: 2e6, FrameBytes: 64}
			test.change(&m, &at)
			found := search(t, m, at, d)
			if found.Conformant != (test.want == "") || found.Conformant != (len(found.Deviations) == 0) {
				t.Errorf("%s, %s: conformant %v: %v", kind, name, found.Conformant, found.Deviations)
			}
			if test.want != "" && !strings.Contains(fmt.Sprint(found.Deviations), test.want) {
				t.Errorf("%s, %s: %v, want %q", kind, name, found.Deviations, test.want)
			}
		}
	}
	at := method.Setting{CeilingPPS: 2e6, LinePPS: 2e6, FrameBytes: 100}
	found := search(t, spec.Method{Kind: spec.MethodRFC2544, Tests: []spec.RFC2544Test{spec.TestThroughput}, Loads: none}, at, d)
	if found.Conformant || !strings.Contains(found.Deviations[0], "frames of 100 bytes") {
		t.Errorf("frames of 100 bytes: %v", found.Deviations)
	}
}

// TestFrameLossFromBelowTheLine: the standard's 100 % is the medium's rate; another rate is
// reported.
func TestFrameLossFromBelowTheLine(t *testing.T) {
	d := simulate.Device{CapacityPPS: 1e6, Latency: time.Microsecond}
	m := spec.Method{Kind: spec.MethodRFC2544, Tests: []spec.RFC2544Test{spec.TestFrameLoss}, Loads: none}
	for _, test := range []struct {
		line float64
		want string
	}{{2e6, ""}, {0, "because the links have none"}, {3e6, "the maximum rate of the medium, 3000000, because the generator"}} {
		found := search(t, m, method.Setting{CeilingPPS: 2e6, LinePPS: test.line, FrameBytes: 64}, d)
		if said := strings.Join(found.Deviations, "\n"); (said == "") != (test.want == "") || !strings.Contains(said, test.want) {
			t.Errorf("a line of %g packets/s: %q, want %q", test.line, said, test.want)
		}
	}
}

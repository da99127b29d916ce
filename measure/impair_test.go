package measure

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// impairedNetwork sends over a link that is impaired in the direction of the stream:
//
//	a:eth ──▸ impaired: queue ──▸ b:eth
//
// There is no warm-up, so that the trial has every packet that a sends.
const impairedNetwork = `
topology:
  nodes: {a: {}, b: {}}
  links:
    - name: wire
      kind: %s
      endpoints: ["a:eth", "b:eth"]
      impair_from: {"a:eth": {%s}}
traffic: {from: "a:eth", to: "b:eth", backend: %s, rate_pps: 1000, duration: 2s, warmup: 0s, drain: 5s, outliers: 10, packets: record}
`

// TestKnownDistributionsAreFound measures links whose delay and loss are known, packet by packet,
// and finds them: no packet is earlier than its fate, exactly those are lost that the seed loses,
// and the latencies have the distribution that the file asks for (Kolmogorov and Smirnov).
//
// A host can only make packets later. How many it made later, and by how much, is known, as each
// packet's true delay is; so the test asks the more of the distribution the quieter the host
// is; no host can make it fail, but beside other tests it would ask for next to nothing.
func TestKnownDistributionsAreFound(t *testing.T) {
	labtest.QuietCore(t)
	labtest.Experiment(t)
	// Long delays: what a busy host adds is little beside them.
	uniform := spec.Impairment{Delay: ms(600), Jitter: ms(600), Distribution: spec.DistributionUniform, Loss: 0.05, Seed: 3}
	normal := spec.Impairment{Delay: ms(600), Jitter: ms(150), Distribution: spec.DistributionNormal, Loss: 0.01, Duplicate: 0.05, Seed: 4}
	pareto := spec.Impairment{Delay: ms(300), Jitter: ms(200), Distribution: spec.DistributionPareto, Duplicate: 0.02, Seed: 5}
	for _, test := range []struct {
		kind, backend string
		is            spec.Impairment
		others        []spec.Impairment
	}{
		{"switch", "udp", uniform, []spec.Impairment{normal, pareto}},
		{"switch", "raw", normal, []spec.Impairment{uniform, pareto}},
		{"xdp", "udp", pareto, []spec.Impairment{uniform, normal}},
		{"xdp", "xdp", normal, []spec.Impairment{uniform, pareto}},
	} {
		t.Run(test.kind+"/"+test.backend+"/"+string(test.is.Distribution), func(t *testing.T) {
			trial, details, packets := measureImpaired(t, test.kind, test.backend, test.is)
			done := details.Impairments[0].Done
			sample, late := againstFates(t, test.is, done, trial, packets)

			bound, within := mostAway(test.is, late)
			is := distance(sample, func(ns float64) float64 { return delayCDF(test.is, ns) })
			t.Logf("distance %.4f, at most %.4f; the host made packets late by %v and more", is, bound, within)
			if is > bound {
				t.Errorf("the latencies are %.4f away from the distribution, more than %.4f", is, bound)
			}
			for _, other := range test.others {
				away := distance(sample, func(ns float64) float64 { return delayCDF(other, ns) })
				if apart := between(test.is, other); apart > 2*bound && away <= bound {
					t.Errorf("the latencies fit the %s distribution of another link as well: %.4f", other.Distribution, away)
				}
			}
		})
	}
}

// mostAway is how far a sample of a distribution may be from it, if its values are late by that
// much. Where all but a share of them are late by no more than some time, that is what chance allows
// (one of a hundred samples of Kolmogorov and Smirnov's is further away), and the share, and what of
// the distribution is within that time at most. It holds for every time, so the best counts.
func mostAway(is spec.Impairment, late []float64) (bound float64, within time.Duration) {
	bound = math.Inf(1)
	n := float64(len(late))
	for _, ns := range []float64{0.1e6, 0.3e6, 1e6, 3e6, 10e6, 30e6, 100e6} {
		over, steep := 0.0, 0.0
		for _, l := range late {
			if l > ns {
				over++
			}
		}
		for x := 0.0; x < 4e9; x += ns / 2 {
			steep = max(steep, delayCDF(is, x+ns)-delayCDF(is, x))
		}
		if b := 1.63/math.Sqrt(n) + over/n + steep; b < bound {
			bound, within = b, time.Duration(ns)
		}
	}
	return bound, within
}

// between is the distance of two distributions.
func between(a, b spec.Impairment) (away float64) {
	for x := 0.0; x < 4e9; x += 1e6 {
		away = max(away, math.Abs(delayCDF(a, x)-delayCDF(b, x)))
	}
	return away
}

func ms(n int) spec.Duration { return spec.Duration(time.Duration(n) * time.Millisecond) }

// measureImpaired measures one trial and checks what is written about the impairment.
func measureImpaired(t *testing.T, kind, backend string, is spec.Impairment) (result.Trial, *result.Details, []result.Packet) {
	t.Helper()
	keys := fmt.Sprintf("delay: %v, jitter: %v, distribution: %s, loss: %g, duplicate: %g, corrupt: %g, reorder: %g, seed: %d",
		is.Delay, is.Jitter, is.Distribution, is.Loss, is.Duplicate, is.Corrupt, is.Reorder, is.Seed)
	experiment, writer := prepare(t, "impaired", fmt.Sprintf(impairedNetwork, kind, keys, backend))
	done := finish(t, experiment, writer)
	if len(done.Summary.Trials) != 1 {
		t.Fatalf("%d trials", len(done.Summary.Trials))
	}
	trial := done.Summary.Trials[0]
	folder := done.TrialFolder(trial.ID)
	details, err := folder.Details()
	if err != nil {
		t.Fatal(err)
	}
	if len(details.Impairments) != 1 || details.Impairments[0].From != "a:eth" || details.Impairments[0].Done == nil ||
		!strings.Contains(details.Impairments[0].What, fmt.Sprint(is.Delay)) {
		t.Fatalf("the record says of the impairment: %+v", details.Impairments)
	}
	var packets []result.Packet
	complete, err := folder.Packets(func(rows []result.Packet) error {
		packets = append(packets, rows...)
		return nil
	})
	if err != nil || !complete {
		t.Fatalf("the packets are complete: %v, %v", complete, err)
	}
	return trial, &details, packets
}

// againstFates holds every packet against its fate. It returns the latencies from the real sends,
// and how much more each is than the packet's own delay.
func againstFates(t *testing.T, is spec.Impairment, done *result.ImpairmentCounts, trial result.Trial, packets []result.Packet) (sample, late []float64) {
	t.Helper()
	// The n-th packet of the stream is the n-th of the switch, if none was lost before it.
	if done.Packets != trial.TxPackets || done.Refused != 0 {
		t.Fatalf("the engine sent %d packets, and the switch got %d and refused %d", trial.TxPackets, done.Packets, done.Refused)
	}
	var want result.ImpairmentCounts
	early, wrong := 0, 0
	for i, p := range packets {
		f := fateOf(is, done.First+uint64(i))
		want.Lost += count(f.lost)
		want.Corrupted += count(f.corrupted)
		want.Reordered += count(f.reordered)
		want.Duplicated += count(f.duplicated)
		if (p.RxNs == nil) != (f.lost || f.corrupted) || !f.corrupted && (p.Duplicates > 0) != f.duplicated {
			if wrong++; wrong < 5 {
				t.Errorf("packet %d: received %v, %d copies; its fate is %+v", p.ID, p.RxNs != nil, p.Duplicates, f)
			}
		}
		if p.RxNs == nil {
			continue
		}
		took := float64(*p.RxNs - p.TxNs)
		// The copy may have come first. Clocks of three processes were calibrated apart, to some
		// tens of parts in a million.
		if tolerance := 2000 + f.delayNs*200e-6; !f.duplicated && took < f.delayNs-tolerance {
			if early++; early < 5 {
				t.Errorf("packet %d took %.0f ns, less than its delay of %.0f ns", p.ID, took, f.delayNs)
			}
		}
		if !f.duplicated {
			sample, late = append(sample, took), append(late, took-f.delayNs)
		}
	}
	got := *done
	got.First, got.Packets = 0, 0
	got.Waiting = 0 // a trial does not wait for copies
	if got != want {
		t.Errorf("the switch counts %+v, and the seed says %+v", got, want)
	}
	if trial.LostPackets != uint64(len(packets))-received(packets) || trial.DuplicatePackets == 0 != (want.Duplicated == 0) {
		t.Errorf("the trial lost %d and has %d duplicates; the seed says %+v", trial.LostPackets, trial.DuplicatePackets, want)
	}
	return sample, late
}

func count(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

func received(packets []result.Packet) (n uint64) {
	for _, p := range packets {
		n += count(p.RxNs != nil)
	}
	return n
}

// TestDamagedAndReorderedPacketsAreThoseOfTheSeed: a damaged packet does not count as received, and
// one that overtakes the others counts as the seed says.
func TestDamagedAndReorderedPacketsAreThoseOfTheSeed(t *testing.T) {
	labtest.Experiment(t)
	is := spec.Impairment{Delay: ms(5), Loss: 0.02, Corrupt: 0.05, Reorder: 0.1, Distribution: spec.DistributionUniform, Seed: 6}
	for _, kind := range []string{"switch", "xdp"} {
		t.Run(kind, func(t *testing.T) {
			trial, details, packets := measureImpaired(t, kind, "udp", is)
			againstFates(t, is, details.Impairments[0].Done, trial, packets)
			if trial.ReorderedPackets == 0 {
				t.Error("a tenth of the packets overtook others, and none was seen to be out of order")
			}
		})
	}
}

// TestALinkFailureShowsInTheLoss takes links down in the middle of a trial: nothing passes while they
// are down, and everything that is sent after that arrives.
func TestALinkFailureShowsInTheLoss(t *testing.T) {
	labtest.Experiment(t)
	const network = `
topology:
  nodes: {a: {}, b: {}}
  links: [{name: wire, kind: %s, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "b:eth", backend: %s, rate_pps: 1000, duration: 1500ms, warmup: 200ms, drain: 1s, outliers: 10, packets: record}
events:
  - {at: 500ms, link: wire, down: 200ms}
  - {at: 1s, link: wire, down: 100ms}
`
	const warmupNs = 200e6 // packets' times are since the measured part began
	for _, test := range []struct{ kind, backend string }{
		{"bridge", "udp"}, {"xdp", "udp"}, {"switch", "udp"}, {"switch", "raw"}, {"veth", "udp"}, {"veth", "raw"}, {"veth", "ring"}, {"macvlan", "udp"},
	} {
		t.Run(test.kind+"/"+test.backend, func(t *testing.T) {
			folder, details := failing(t, fmt.Sprintf(network, test.kind, test.backend), warmupNs)
			for i, e := range details.Events {
				if asked := [][2]int64{{500e6, 200e6}, {1000e6, 100e6}}[i]; e.Problem != "" || e.AtNs != asked[0] || e.LengthNs != asked[1] ||
					e.BeganNs < e.AtNs || e.EndedNs < e.AtNs+e.LengthNs {
					t.Errorf("event %d: %s, from %d to %d ns: %s", i, e, e.BeganNs, e.EndedNs, e.Problem)
				}
			}
			sent, lost := 0, 0
			// The kernel's own work after a carrier comes back takes a moment: the first packet that
			// passes tells that it is done.
			passes := false
			_, err := folder.Packets(func(rows []result.Packet) error {
				for _, p := range rows {
					during, after := placeIn(p.TxNs+warmupNs, details.Events)
					switch {
					case during >= 0:
						sent++
						lost += int(count(p.RxNs == nil))
						// One that a busy host holds up on its way there may pass once the link is up.
						if e := details.Events[during]; p.RxNs != nil && *p.RxNs+warmupNs < e.AtNs+e.LengthNs {
							t.Errorf("packet %d was sent and arrived while the link was down", p.ID)
						}
					case after && passes && p.RxNs == nil:
						t.Errorf("packet %d was sent when the link was up again for good, and was lost", p.ID)
					case after && p.RxNs != nil:
						passes = true
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if !passes {
				t.Error("nothing passes after the last event")
			}
			if sent > 0 && lost == 0 {
				t.Errorf("none of %d packets was lost that were sent while the link was down", sent)
			}
			t.Logf("%d of %d packets were lost that were sent while the link was down", lost, sent)
		})
	}
}

// failing measures a link that fails twice, and again where a host that was busy with others took the link down so
// late that nothing was sent after it, or not at all before the trial's end, or held up all packets on their way until
// the link was up again.
func failing(t *testing.T, text string, warmupNs int64) (result.Folder, result.Details) {
	t.Helper()
	for try := 1; ; try++ {
		experiment, writer := prepare(t, "failing", text)
		done := finish(t, experiment, writer)
		folder := done.TrialFolder(done.Summary.Trials[0].ID)
		details, err := folder.Details()
		if err != nil {
			t.Fatal(err)
		}
		if len(details.Events) != 2 {
			t.Fatalf("the record has the events %+v", details.Events)
		}
		last, sent, lost := int64(0), 0, 0
		if _, err := folder.Packets(func(rows []result.Packet) error {
			for _, p := range rows {
				last = max(last, p.TxNs+warmupNs)
				if during, _ := placeIn(p.TxNs+warmupNs, details.Events); during >= 0 {
					sent++
					lost += int(count(p.RxNs == nil))
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		ended, problem := details.Events[1].EndedNs, details.Events[0].Problem+details.Events[1].Problem
		if problem == "" && last > ended+100e6 && (sent == 0 || lost > 0) || try == 5 {
			return folder, details
		}
		t.Logf("again: the last packet was sent at %v, and the last event ended at %v; %d of %d packets of the events were lost; %s", time.Duration(last), time.Duration(ended), lost, sent, problem)
	}
}

// placeIn says in which event a time is for sure, else -1, and whether it is after all of them. Times
// are since the warm-up began. A link is down from when its event is said to have begun, as the
// clock is read after it is down, and at least until it was to end.
func placeIn(at int64, events []result.Occurrence) (during int, after bool) {
	after = true
	for i, e := range events {
		if at >= e.BeganNs && at < e.AtNs+e.LengthNs {
			return i, false
		}
		after = after && at >= e.EndedNs
	}
	return -1, after
}

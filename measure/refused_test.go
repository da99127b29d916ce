package measure

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// cut has the receiver's kernel drop frames above 100 bytes.
const cut = "topology.nodes.b.exec=[[nft, add, table, inet, cut], [nft, add, chain, inet, cut, in, '{ type filter hook input priority 0; }'], " +
	"[nft, add, rule, inet, cut, in, udp, length, '>', '100', drop]]"

// TestAPathThatNothingPassesIsRefused before the trial, which stays in the result with what each hop counted; the other
// points of the sweep are measured.
func TestAPathThatNothingPassesIsRefused(t *testing.T) {
	labtest.Experiment(t)
	experiment, writer := prepare(t, "refused", pairNetwork, cut, "repeat=2", "traffic.path_timeout=200ms", "traffic.drain=100ms", "sweep.traffic.frame_bytes=[512, 64]")
	refused := (*RefusedError)(nil)
	if err := measureAll(context.Background(), experiment, writer, silent{}); !errors.As(err, &refused) || exit.Code(err) != exit.Wrong {
		t.Fatalf("%v", err)
	}
	noLabLeft(t)
	if refused.Trials != 2 || len(refused.Reasons) != 1 {
		t.Errorf("%d refused: %q", refused.Trials, refused.Reasons)
	}
	done, err := result.Open(writer.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Summary.Trials) != 4 {
		t.Fatalf("%d trials", len(done.Summary.Trials))
	}
	for _, trial := range done.Summary.Trials {
		if trial.Variables["traffic.frame_bytes"] != 512.0 {
			if trial.Refused || trial.RxPackets == 0 {
				t.Errorf("trial %s with frames that pass: refused %v, %d packets", trial.ID, trial.Refused, trial.RxPackets)
			}
			continue
		}
		if !trial.Refused || trial.Verdict != result.Invalid || trial.TxPackets != 0 || trial.SeenPath == nil || len(trial.SeenPath.Nodes) != 2 {
			t.Fatalf("trial %s: %+v", trial.ID, trial)
		}
		for _, part := range []string{"probes ended at b:eth: a rule of netfilter dropped them (NETFILTER_DROP)", "a:eth sent ", "b:eth received "} {
			if !strings.Contains(trial.Reasons[0], part) {
				t.Errorf("trial %s: %s, without %q", trial.ID, trial.Reasons[0], part)
			}
		}
		if _, err := os.Stat(filepath.Join(writer.Dir(), "trials", trial.ID, "details.json")); err != nil {
			t.Error(err)
		}
	}
}

// TestASearchOnAPathThatNothingPassesIsSkipped, and the next one is run.
func TestASearchOnAPathThatNothingPassesIsSkipped(t *testing.T) {
	labtest.Experiment(t)
	experiment, writer := prepare(t, "refused-search", strings.Replace(pairNetwork, "rate_pps: 2000, duration: 300ms, ", "", 1), cut, "traffic.path_timeout=200ms", "traffic.drain=100ms", "sweep.traffic.frame_bytes=[512, 64]",
		"method={kind: mlrsearch, quick: true, max_rate_pps: 3000, trial: 100ms}")
	refused := (*RefusedError)(nil)
	if err := measureAll(context.Background(), experiment, writer, silent{}); !errors.As(err, &refused) || refused.Trials != 1 {
		t.Fatalf("%v", err)
	}
	noLabLeft(t)
	if searches := writer.Searches(); len(searches) != 1 || searches[0].Variables["traffic.frame_bytes"] != 64 {
		t.Errorf("searches %+v", searches)
	}
	if skipped := writer.Summary().Skipped; len(skipped) != 1 || !strings.Contains(skipped[0].Reason, "NETFILTER_DROP") {
		t.Errorf("skipped %+v", skipped)
	}
}

// TestWhatIsLostDeliberatelyIsMeasured: a link that loses packets, and one that is taken down in the trial.
func TestWhatIsLostDeliberatelyIsMeasured(t *testing.T) {
	labtest.Experiment(t)
	for name, set := range map[string]string{
		"lossy": "links.wire={name: wire, kind: xdp, endpoints: [\"a:eth\", \"b:eth\"], impair: {loss: 1}}",
		"down":  "events=[{at: 0s, link: wire, down: 299ms}]",
	} {
		t.Run(name, func(t *testing.T) {
			labtest.Experiment(t)
			experiment, writer := prepare(t, "refused-not-"+name, pairNetwork, set, "repeat=2", "traffic.path_timeout=200ms", "traffic.drain=100ms", "traffic.warmup=0s")
			if err := measureAll(context.Background(), experiment, writer, silent{}); err != nil {
				t.Fatal(err)
			}
			for _, trial := range writer.Summary().Trials {
				if trial.Refused || trial.TxPackets == 0 {
					t.Errorf("trial %s: refused %v, %d packets, %q", trial.ID, trial.Refused, trial.TxPackets, trial.Reasons)
				}
			}
		})
	}
}

func TestImpairmentsThatAPathSurvives(t *testing.T) {
	p := &plan.Plan{
		Links: []plan.Link{
			{Endpoints: []plan.Endpoint{{Node: "a", Interface: "x"}, {Node: "b", Interface: "x"}}, Impairments: []plan.Impairment{
				{From: "a:x", Impairment: spec.Impairment{Loss: 0.5, Corrupt: 0.5}}, {From: "b:x", Impairment: spec.Impairment{Loss: 1}},
			}},
			{Endpoints: []plan.Endpoint{{Node: "b", Interface: "y"}, {Node: "c", Interface: "y"}}, Impairments: []plan.Impairment{{From: "b:y", Impairment: spec.Impairment{Loss: 0.2}}}},
		},
		Traffic: &plan.Traffic{Path: []string{"a:x", "b:x", "b:y", "c:y"}},
	}
	if got := survival(p); got != 0.2 {
		t.Errorf("%v survive, want 0.2: the way back does not count", got)
	}
}

// TestACopyThatTheKernelDropsIsNoEnd where as many packets left the node: a program has taken them.
func TestACopyThatTheKernelDropsIsNoEnd(t *testing.T) {
	p := &plan.Plan{Traffic: &plan.Traffic{Path: []string{"gen:tx", "dut:in", "dut:out", "gen:rx"}}}
	sent := func(packets uint64) []result.SeenNode {
		return []result.SeenNode{{Node: "dut", Interfaces: map[string]map[string]uint64{"out": {"tx_packets": packets}}}}
	}
	for _, test := range []struct {
		place string
		left  uint64
		want  bool
	}{{"dut:in", 20, true}, {"dut", 20, true}, {"dut:in", 3, false}, {"gen:rx", 20, false}} {
		if got := leftAll(p, sent(test.left), test.place, 20); got != test.want {
			t.Errorf("20 ended at %s, and %d left dut: %v, want %v", test.place, test.left, got, test.want)
		}
	}
}

package nodefit

import (
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/request"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// measured is a sound figure of a million packets, 4 minutes old, whose percentiles have these
// values and bounds in µs.
func measured(tier, peer string, pairs ...any) v1alpha1.Figure {
	f := v1alpha1.Figure{
		Tier: tier, Peer: peer, Way: v1alpha1.OneWay, Count: 1_000_000, Verdict: v1alpha1.Clean,
		MeasuredAt: metav1.NewTime(now.Add(-4 * time.Minute)), ValidUntil: metav1.NewTime(now.Add(11 * time.Minute)),
	}
	for i := 0; i < len(pairs); i += 3 {
		upper := int64(pairs[i+2].(int)) * 1000
		f.Percentiles = append(f.Percentiles, v1alpha1.Percentile{P: pairs[i].(string), ValueNs: int64(pairs[i+1].(int)) * 1000, UpperNs: &upper})
	}
	return f
}

// but is a figure that is changed.
func but(f v1alpha1.Figure, change func(*v1alpha1.Figure)) v1alpha1.Figure {
	change(&f)
	return f
}

// cluster is what is measured at each node.
type cluster map[string][]v1alpha1.Figure

func (c cluster) ask(t *testing.T, text string, n Node, peers ...string) (Answer, string) {
	t.Helper()
	r, err := request.Of(map[string]string{request.Annotation: text})
	if err != nil {
		t.Fatal(err)
	}
	return c.askRequest(r, n, peers...)
}

func (c cluster) askRequest(r *request.Request, n Node, peers ...string) (Answer, string) {
	q := Question{Request: r, Peers: peers, Now: now, Of: func(node string) []Figure { return Read(c[node]) }}
	answer := q.Ask(n)
	return answer, answer.Sentence(r, now)
}

func TestTheBoundCountsNotTheMedian(t *testing.T) {
	c := cluster{"n2": {measured("sriov", "", "50", 10, 11, "99.99", 96, 104)}}
	for text, want := range map[string]string{
		"p99.99 < 105us":  "node n2: p99.99 of sriov is at most 104 µs, 105 µs requested, measured 4 min ago",
		"p99.99 <= 104us": "node n2: p99.99 of sriov is at most 104 µs, at most 104 µs requested, measured 4 min ago",
		"p99.99 < 104us":  "node n2: p99.99 of sriov is 96 µs but may be 104 µs, 104 µs requested, measured 4 min ago",
		"p99.99 < 96us":   "node n2: p99.99 of sriov is 96 µs, 96 µs requested, measured 4 min ago",
		"p99.99 < 50us":   "node n2: p99.99 of sriov is 96 µs, 50 µs requested, measured 4 min ago",
		// No p99 is published: the next above it answers, which is no smaller.
		"p99 < 105us":                 "node n2: p99.99 of sriov is at most 104 µs, 105 µs requested, measured 4 min ago",
		"p99.999 < 1s":                "node n2: too few packets were measured to tell p99.999 of sriov, measured 4 min ago",
		"p50 < 12us, p99.99 < 1ms":    "node n2: p50 of sriov is at most 11 µs, 12 µs requested, measured 4 min ago",
		"p50 < 10us, p99.99 < 1ms":    "node n2: p50 of sriov is 10 µs, 10 µs requested, measured 4 min ago",
		"p50 < 1us else p99.99 < 1ms": "node n2: p99.99 of sriov is at most 104 µs, 1 ms requested, measured 4 min ago",
		"p50 < 1s; tier: memif":       "node n2: memif is not measured",
		"p50 < 1s; tier: machvlan":    "node n2: machvlan is not measured (nines has no tier machvlan; it has node-network, veth, bridge, macvlan, xdp, vxlan, memif, switch, testpmd, ovs, ovs-dpdk, ovn, vpp, snabb, sriov, passthrough)",
	} {
		answer, sentence := c.ask(t, text, Node{Name: "n2"})
		if sentence != want {
			t.Errorf("%s:\n got %s\nwant %s", text, sentence, want)
		}
		if holds := strings.Contains(want, "at most 1"); answer.Met != (holds && answer.Miss == Held) || answer.Suits() != answer.Met {
			t.Errorf("%s: met %v, suits %v with miss %d", text, answer.Met, answer.Suits(), answer.Miss)
		}
	}
}

// Whatever is wrong with a figure, it counts as unknown, and the reason is told.
func TestFiguresThatSayNothing(t *testing.T) {
	sound := measured("veth", "", "50", 10, 11, "99", 20, 22)
	for name, c := range map[string]struct {
		change func(*v1alpha1.Figure)
		miss   Miss
		words  string
	}{
		"stale": {func(f *v1alpha1.Figure) { f.ValidUntil = metav1.NewTime(now) }, TooOld, "too old to count"},
		"of the future": {func(f *v1alpha1.Figure) {
			f.MeasuredAt, f.ValidUntil = metav1.NewTime(now.Add(2*time.Minute)), metav1.NewTime(now.Add(time.Hour))
		}, ClockAhead, "measured in the future"},
		"ends before it begins": {func(f *v1alpha1.Figure) { f.MeasuredAt = f.ValidUntil }, Contradicting, "ends before it was measured"},
		"invalid": {func(f *v1alpha1.Figure) { f.Verdict, f.Reasons = v1alpha1.Invalid, []string{"sent 3 % too little"} },
			Contradicting, "its last measurement is invalid: sent 3 % too little"},
		"unknown verdict":      {func(f *v1alpha1.Figure) { f.Verdict = "Fine" }, Contradicting, `verdict "Fine"`},
		"falling percentiles":  {func(f *v1alpha1.Figure) { f.Percentiles[1].ValueNs = 9_000 }, Contradicting, "its p99 is below its p50"},
		"above its bound":      {func(f *v1alpha1.Figure) { *f.Percentiles[0].UpperNs = 9_000 }, Contradicting, "above the bound"},
		"above its maximum":    {func(f *v1alpha1.Figure) { f.MaxNs = 19_000 }, Contradicting, "above its maximum"},
		"too few for its own":  {func(f *v1alpha1.Figure) { f.Count = 99 }, Contradicting, "99 packets cannot tell its p99"},
		"percentile is a word": {func(f *v1alpha1.Figure) { f.Percentiles[0].P = "median" }, Contradicting, `"median" is not a percentile`},
		"no percentile":        {func(f *v1alpha1.Figure) { f.Percentiles = nil }, Contradicting, "no percentile"},
		"no bound":             {func(f *v1alpha1.Figure) { f.Percentiles[1].UpperNs = nil }, Unbounded, "p99 of veth is 20 µs, but nothing bounds it (too few slow packets, or in too few bursts), 1 ms requested"},
		"measured by an older agent": {func(f *v1alpha1.Figure) { f.Histogram = []byte{1} }, Unbounded,
			"p99 of veth is 20 µs, but nothing bounds it (an older agent took packets as independent, so its bounds do not count), 1 ms requested"},
		"slower without a bound": {func(f *v1alpha1.Figure) { f.Percentiles[1].UpperNs, f.Percentiles[1].ValueNs = nil, 2e6 }, Slower, "is 2 ms, 1 ms requested"},
		"clocks disagree":        {func(f *v1alpha1.Figure) { f.ErrorNs = 1_000_000 }, Unsure, "may be 1.02 ms"},
	} {
		changed := sound
		changed.Percentiles = nil
		for _, p := range sound.Percentiles {
			upper := *p.UpperNs
			changed.Percentiles = append(changed.Percentiles, v1alpha1.Percentile{P: p.P, ValueNs: p.ValueNs, UpperNs: &upper})
		}
		c.change(&changed)
		answer, sentence := cluster{"n1": {changed}}.ask(t, "p99 < 1ms", Node{Name: "n1"})
		if answer.Met || answer.Miss != c.miss || !strings.Contains(sentence, c.words) {
			t.Errorf("%s: met %v, miss %d, %q; want miss %d with %q", name, answer.Met, answer.Miss, sentence, c.miss, c.words)
		}
	}
	answer, sentence := cluster{}.ask(t, "p99 < 1ms", Node{Name: "n1"})
	if answer.Met || sentence != "node n1: nothing is measured" {
		t.Errorf("absent: met %v, %q", answer.Met, sentence)
	}
	// Noise makes packets only slower, so what holds in spite of it holds.
	noisy := but(sound, func(f *v1alpha1.Figure) { f.Verdict = v1alpha1.Noisy })
	if answer, sentence = (cluster{"n1": {noisy}}).ask(t, "p99 < 1ms", Node{Name: "n1"}); !answer.Met || !strings.Contains(sentence, "on a noisy host") {
		t.Errorf("noisy: met %v, %q", answer.Met, sentence)
	}
}

func TestTheSlowestTierThatHoldsIsUsed(t *testing.T) {
	c := cluster{"n1": {
		measured("sriov", "", "99", 20, 22), measured("veth", "", "99", 200, 210), measured("vxlan", "", "99", 900, 950),
	}}
	for text, want := range map[string]string{
		"p99 < 30us":                            "sriov",
		"p99 < 300us":                           "veth",
		"p99 < 1ms":                             "vxlan",
		"p99 < 1ms; tier: sriov":                "sriov",
		"p99 < 1ms; tier: sriov, veth":          "sriov", // the pod's own order
		"p99 < 300us; tier: vxlan, veth, sriov": "veth",  // the first of them that holds
		"p99 < 10us else p99 < 300us":           "veth",
		"p99 < 10us":                            "",
		"p99 < 10us; tier: memif":               "",
		"p99 < 10us else any":                   "",
	} {
		answer, sentence := c.ask(t, text, Node{Name: "n1"})
		if answer.Met != (want != "") || answer.Met && answer.Tier != want {
			t.Errorf("%s: met %v by %q, want %q; %s", text, answer.Met, answer.Tier, want, sentence)
		}
		if fallback := strings.Contains(text, "any"); answer.Fallback != fallback || answer.Suits() != (answer.Met || fallback) {
			t.Errorf("%s: fallback %v", text, answer.Fallback)
		}
	}
	if answer, _ := c.ask(t, "p99 < 10us else p99 < 300us", Node{Name: "n1"}); answer.Alternative != 1 {
		t.Errorf("the second alternative is told as %d", answer.Alternative)
	}
}

func TestToOtherNodes(t *testing.T) {
	c := cluster{
		"n1": {measured("sriov", "", "99", 20, 22), measured("vxlan", "n3", "99", 90, 95), measured("vxlan", "n4", "99", 400, 420)},
		"n3": {measured("vxlan", "", "99", 70, 75), measured("vxlan", "n2", "99", 80, 85)},
	}
	for _, want := range []struct {
		node, text string
		peers      []string
		met        bool
		words      string
	}{
		{"n1", "p99 < 100us; to: n3", []string{"n3"}, true, "p99 of vxlan to n3 is at most 95 µs"},
		{"n1", "p99 < 100us; to: n9", []string{"n9"}, false, "to n9 is not measured"},
		// Measured at the other end only.
		{"n2", "p99 < 100us; to: n3", []string{"n3"}, true, "p99 of vxlan to n3 is at most 85 µs"},
		// On the peer's own node packets do not leave it.
		{"n3", "p99 < 100us; to: n3", []string{"n3"}, true, "p99 of vxlan is at most 75 µs"},
		// Each of those selected counts, and the slowest is told.
		{"n1", "p99 < 500us; to: a=b", []string{"n3", "n4"}, true, "to n4 is at most 420 µs"},
		{"n1", "p99 < 100us; to: a=b", []string{"n3", "n4"}, false, "to n4 is 400 µs"},
		{"n1", "p99 < 100us; to: a=b", nil, false, `no node matches "to: a=b"`},
	} {
		answer, sentence := c.ask(t, want.text, Node{Name: want.node}, want.peers...)
		if answer.Met != want.met || !strings.Contains(sentence, want.words) {
			t.Errorf("%s, %s: met %v, %q; want %v, %q", want.node, want.text, answer.Met, sentence, want.met, want.words)
		}
	}
}

// Two ends that contradict each other: nothing better than the worse is certain. One that is too
// old contradicts nobody.
func TestTheWorseOfTwoEndsCounts(t *testing.T) {
	fast, slow := measured("vxlan", "n2", "99", 50, 55), measured("vxlan", "n1", "99", 150, 160)
	stale := but(slow, func(f *v1alpha1.Figure) { f.ValidUntil = metav1.NewTime(now.Add(-time.Second)) })
	later := func(f v1alpha1.Figure, by time.Duration) v1alpha1.Figure {
		return but(f, func(f *v1alpha1.Figure) { f.ChangedAt = &metav1.Time{Time: f.MeasuredAt.Add(by)} })
	}
	for name, c := range map[string]struct {
		of  cluster
		met bool
	}{
		// What was measured before the other end has found a change is of another path.
		"faster since":    {cluster{"n1": {later(fast, time.Second)}, "n2": {slow}}, true},
		"slower since":    {cluster{"n1": {fast}, "n2": {later(slow, time.Second)}}, false},
		"both since":      {cluster{"n1": {later(fast, -time.Second)}, "n2": {slow}}, false},
		"both fresh":      {cluster{"n1": {fast}, "n2": {slow}}, false},
		"other order":     {cluster{"n2": {slow}, "n1": {fast}}, false},
		"worse one stale": {cluster{"n1": {fast}, "n2": {stale}}, true},
	} {
		if answer, sentence := c.of.ask(t, "p99 < 100us; to: n2", Node{Name: "n1"}, "n2"); answer.Met != c.met {
			t.Errorf("%s: met %v, want %v: %s", name, answer.Met, c.met, sentence)
		}
	}
}

func TestNearestFirst(t *testing.T) {
	c := cluster{
		"far": {measured("veth", "", "99", 900, 950)}, "near": {measured("veth", "", "99", 110, 115)},
		"unsure": {measured("veth", "", "99", 90, 105)},
	}
	var answers []Answer
	for _, node := range []string{"far", "none", "near", "unsure"} {
		answer, _ := c.ask(t, "p99 < 100us", Node{Name: node})
		answers = append(answers, answer)
	}
	SortByNearest(answers)
	var names []string
	for _, a := range answers {
		names = append(names, a.Node)
	}
	if got := strings.Join(names, " "); got != "near far unsure none" {
		t.Errorf("order is %s", got)
	}
}

// TestASlimFigureIsReadAsTheWhole: the scheduler keeps figures without their packets, and the bounds of older agents do
// not count there either.
func TestASlimFigureIsReadAsTheWhole(t *testing.T) {
	whole := but(measured("veth", "", "50", 10, 11, "99", 20, 22), func(f *v1alpha1.Figure) {
		f.Histogram, f.Spread = make([]byte, 1000), make([]byte, 1000)
	})
	older := but(whole, func(f *v1alpha1.Figure) { f.Spread = nil })
	written := but(whole, func(f *v1alpha1.Figure) { f.Histogram, f.Spread = nil, nil })
	for _, f := range []v1alpha1.Figure{whole, older, written} {
		slim := *f.DeepCopy()
		Slim(&slim)
		if kept := len(slim.Histogram) + len(slim.Spread); kept > 1 {
			t.Errorf("%d bytes are kept", kept)
		}
		got, want := Read([]v1alpha1.Figure{slim}), Read([]v1alpha1.Figure{f})
		if !reflect.DeepEqual(got, want) || (want[0].Points[1].BoundNs == 0) != (len(f.Histogram) > 0 && len(f.Spread) == 0) {
			t.Errorf("%+v, whole %+v", got, want)
		}
	}
}

package reproduce

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"nines.dev/nines/host"
)

// TestPapers: the files in the program are right, and each claim says what decides it.
func TestPapers(t *testing.T) {
	papers, err := Papers()
	if err != nil {
		t.Fatal(err)
	}
	if len(papers) < 5 {
		t.Errorf("%d papers", len(papers))
	}
	for _, p := range papers {
		if len(p.Claims) == 0 || len(p.Differs) == 0 || p.Year < 1990 {
			t.Errorf("%s: %d claims, %d differences, %d", p.ID, len(p.Claims), len(p.Differs), p.Year)
		}
	}
}

const rightPaper = `
authors: A. Doe
title: Latency
year: 2020
in: a journal
set_up: two machines
`

const rightClaim = `
source: figure 1
claim: It is fast.
kind: bound
measure: {experiment: inter-container/quick/table-1.yaml, takes: 1m}
holds: [p99 < 1ms]
`

func TestWrongFiles(t *testing.T) {
	for name, c := range map[string]struct{ paper, claim, want string }{
		"right":                    {rightPaper, rightClaim, ""},
		"a paper without a title":  {strings.Replace(rightPaper, "title: Latency\n", "", 1), rightClaim, "doe2020/paper.yaml:1:1: title: is missing"},
		"an unknown key":           {rightPaper, rightClaim + "hold: []\n", `doe2020/fast.yaml:7:1: hold: the key is not known; did you mean "holds"?`},
		"an unknown kind":          {rightPaper, strings.Replace(rightClaim, "bound", "bounds", 1), `doe2020/fast.yaml:4:1: kind: unknown kind "bounds"; allowed: ratio, order`},
		"an unknown experiment":    {rightPaper, strings.Replace(rightClaim, "table-1", "table-9", 1), "no experiment is called"},
		"a wrong set":              {rightPaper, strings.Replace(rightClaim, "takes", "set: [trafic.rate_pps=1], takes", 1), "trafic"},
		"a wrong expectation":      {rightPaper, strings.Replace(rightClaim, "p99 <", "p99", 1), "doe2020/fast.yaml:6:1: holds: p99 1ms:"},
		"nothing that has to hold": {rightPaper, strings.Replace(rightClaim, "holds: [p99 < 1ms]\n", "", 1), "says nothing that has to hold"},
		"nothing that decides":     {rightPaper, "source: figure 1\nclaim: It is fast.\nkind: bound\n", "nothing decides the claim"},
		"no time":                  {rightPaper, strings.Replace(rightClaim, ", takes: 1m", "", 1), "measure.takes: is missing"},
		"a wrong time":             {rightPaper, strings.Replace(rightClaim, "1m}", "soon}", 1), "is no time"},
		"a colon in a text":        {rightPaper, rightClaim + "differs:\n  - one: two\n", `doe2020/fast.yaml:8:5: is no text; quote a text that contains ": "`},
		"an unknown figure":        {rightPaper, rightClaim + "figure: bars\n", `doe2020/fast.yaml:7:1: figure: unknown kind "bars"; allowed: `},
		"a figure of one load":     {rightPaper, rightClaim + "figure: latency\n", "doe2020/fast.yaml:7:1: figure: latency is drawn over rates or frame sizes"},
		"a figure of two loads":    {rightPaper, strings.Replace(rightClaim, "takes", `set: ["sweep.traffic.rate_pps=[1k, 2k]"], takes`, 1) + "figure: latency\n", ""},
		"no YAML":                  {rightPaper, "source: [", "not valid YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(fstest.MapFS{"doe2020/paper.yaml": {Data: []byte(c.paper)}, "doe2020/fast.yaml": {Data: []byte(c.claim)}})
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	if _, err := Read(fstest.MapFS{}); err == nil {
		t.Error("a folder without a paper is read")
	}
}

// TestMissing: what a host lacks is told before anything runs.
func TestMissing(t *testing.T) {
	small := Host{Inventory: &host.Inventory{AllowedCPUs: []int{0, 1}, NUMANodes: make([]host.NUMANode, 1)}}
	large := Host{Inventory: &host.Inventory{AllowedCPUs: []int{0, 1, 2, 3}, NUMANodes: make([]host.NUMANode, 2), Kernel: host.Kernel{RealTime: true},
		Features: []host.Feature{{Name: host.FeatureKVM, State: host.StateYes}, {Name: host.FeatureVPP, State: host.StateYes}}}, Data: "/data"}
	c := Claim{Needs: Needs{CPUs: 4, KVM: true, RealTime: true, NUMANodes: 2, Programs: []string{host.FeatureVPP}}, Data: map[string]Data{"v1": {}}}
	if missing := c.Missing(small); len(missing) != 6 {
		t.Errorf("%q", missing)
	}
	if missing := strings.Join(c.Missing(small), "\n"); !strings.Contains(missing, "it needs vpp: install vpp from") {
		t.Errorf("%s: how to get it is not told", missing)
	}
	if missing := c.Missing(large); len(missing) != 0 {
		t.Errorf("%q", missing)
	}
	never := Claim{Needs: Needs{Boots: "two boots", Cluster: "a cluster", Hardware: "a tester", Card: true}, Open: "nobody knows"}
	if missing := never.Missing(large); len(missing) != 5 {
		t.Errorf("%q", missing)
	}
}

// TestRunsAreShared: claims whose experiments are the same are decided by one measurement.
func TestRunsAreShared(t *testing.T) {
	one := &Measure{Experiment: "a.yaml", Set: []string{"repeat=6"}}
	two := &Measure{Experiment: "a.yaml", Set: []string{"repeat=6"}, Duet: &Duet{A: []string{"x=1"}}}
	papers := []Paper{{ID: "p", Claims: []Claim{{ID: "1", Measure: one}, {ID: "2", Measure: two}, {ID: "3", Measure: one, Quick: &Quick{Set: []string{"repeat=3"}}}}}, {ID: "q", Claims: []Claim{{ID: "4", Measure: one}, {ID: "5", Open: "x"}}}}
	h := Host{Inventory: &host.Inventory{}}
	var got []string
	for _, quick := range []bool{false, true} {
		for _, r := range Runs(papers, h, quick) {
			got = append(got, r.String())
		}
	}
	if text := strings.Join(got, "; "); text != "p 1, p 3, q 4; p 2; p 1, q 4; p 2; p 3" {
		t.Error(text)
	}
}

// TestQuickFitsIntoHalfAnHour: the short forms of all claims that two CPUs can decide, with the programs that Debian has.
func TestQuickFitsIntoHalfAnHour(t *testing.T) {
	papers, err := Papers()
	if err != nil {
		t.Fatal(err)
	}
	h := Host{Inventory: &host.Inventory{AllowedCPUs: []int{0, 1}}}
	for _, name := range []string{host.FeatureTestpmd, host.FeatureOVSDPDK, host.FeatureXDPVeth} {
		h.Inventory.Features = append(h.Inventory.Features, host.Feature{Name: name, State: host.StateYes})
	}
	var sum time.Duration
	runs := Runs(papers, h, true)
	for _, r := range runs {
		sum += r.Claims[0].Claim.Takes(true)
	}
	if len(runs) < 10 || sum > 25*time.Minute { // a busy host takes longer
		t.Errorf("%d measurements in %v", len(runs), sum)
	}
}

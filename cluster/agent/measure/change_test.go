package measure

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// recording is trials of one path of a node: 20 blocks of time each, of packets by latency. They were recorded on a host
// with two CPUs, beside compilers and other labs: trials.json.gz by agents, of 2 seconds, when ten programs wanted each CPU
// most of the time; long-trials.json.gz of 5 seconds, as is the default, when it were seven.
type recording struct {
	Node, Tier string
	// Blocks are of each trial, with pairs of a latency in ns and a number of packets.
	Trials [][][][2]int64
}

func recorded(t *testing.T) (all []recording) {
	t.Helper()
	for _, name := range []string{"trials", "long-trials"} {
		file, err := os.Open("testdata/" + name + ".json.gz")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		unzipped, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		var some []recording
		if err := json.NewDecoder(unzipped).Decode(&some); err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	return all
}

// worse is what a path does to packets: each takes more, and so many percent of them, beyond that, tail longer.
type worse struct {
	more    int64
	percent int
	tail    int64
}

// trial returns a recorded trial of a path that became worse.
func (r recording) trial(t *testing.T, number int, w worse, at time.Time) Trial {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(number), 1))
	var blocks []*result.Packed
	for _, pairs := range r.Trials[number] {
		h := result.NewHistogram()
		for _, pair := range pairs {
			for range pair[1] {
				latency := pair[0] + w.more
				if random.IntN(100) < w.percent {
					latency += w.tail
				}
				h.Record(latency)
			}
		}
		blocks = append(blocks, h.Packed())
	}
	return Trial{Tier: r.Tier, At: at, Verdict: result.Clean, Level: LevelOf(blocks)}
}

// follower measures a path by recorded trials, as an agent does: a trial that lies apart is followed by another one.
type follower struct {
	recording
	t      *testing.T
	window Window
	now    time.Time
	random *rand.Rand
	worse  worse
	levels map[levelKey]Trial
}

type levelKey struct {
	number int
	worse  worse
}

func follow(t *testing.T, r recording, seed uint64) *follower {
	return &follower{
		recording: r, t: t, now: noon, random: rand.New(rand.NewPCG(seed, 0)),
		window: Window{Length: 12 * time.Minute, Valid: time.Hour}, levels: map[levelKey]Trial{},
	}
}

func (f *follower) measure() {
	f.now = f.now.Add(10 * time.Second)
	number := f.random.IntN(len(f.Trials))
	key := levelKey{number, f.worse}
	trial, known := f.levels[key]
	if !known {
		trial = f.trial(f.t, number, f.worse, f.now)
		f.levels[key] = trial
	}
	trial.At = f.now
	f.window.Add(trial)
}

// round returns what a round finds. Its second trial may be refused.
func (f *follower) round(refused bool) Direction {
	way := Way{Tier: f.Tier}
	f.now = f.now.Add(50 * time.Second)
	f.measure()
	found := f.window.Settle(way)
	if found == Same && f.window.Suspect(way) && !refused {
		f.measure()
		found = f.window.Settle(way)
	}
	for f.now.Sub(f.window.trials[0].At) > f.window.Length {
		f.window.trials = f.window.trials[1:]
	}
	return found
}

// middle is the median of what the recorded trials have.
func (f *follower) middle(of func(Level) int64) int64 {
	var all []int64
	for i := range f.Trials {
		all = append(all, of(f.trial(f.t, i, worse{}, noon).Level))
	}
	return ranked(bucketsOf(all), 0.5)
}

func bucketsOf(values []int64) (out []result.Bucket) {
	for _, v := range values {
		out = append(out, result.Bucket{LowNs: v, HighNs: v, Count: 1})
	}
	return out
}

// TestAChangeIsNoticedWithinTwoRounds has changes of 5 ms and of twice the median, to the worse and back again, after some
// rounds each.
func TestAChangeIsNoticedWithinTwoRounds(t *testing.T) {
	for _, r := range recorded(t) {
		p50 := follow(t, r, 1).middle(func(l Level) int64 { return l.P50Ns })
		for name, w := range map[string]worse{"5 ms": {more: 5e6}, "twice the median": {more: p50}} {
			noticed(t, r, name, w, 3)
		}
	}
}

// TestAChangeOfTheTailIsNoticedWithinTwoRounds has some packets of each hundred take ten times the undisturbed p99: the median
// stays what it was.
func TestAChangeOfTheTailIsNoticedWithinTwoRounds(t *testing.T) {
	some := false
	for _, r := range recorded(t) {
		f := follow(t, r, 1)
		tail := f.middle(func(l Level) int64 { return l.TailNs })
		if tail == 0 {
			continue // its trials have too few packets
		}
		some = true
		for _, percent := range []int{3, 5} {
			w := worse{percent: percent, tail: 9 * tail}
			for i := range f.Trials {
				before, after := f.trial(t, i, worse{}, noon).Level, f.trial(t, i, w, noon).Level
				if after.P50Ns > 2*before.P50Ns || after.QuietNs > before.QuietNs*11/10 {
					t.Errorf("trial %d of %s %s: the body moved as well, from %+v to %+v", i, r.Node, r.Tier, before, after)
				}
			}
			noticed(t, r, fmt.Sprintf("%d %% of packets ten times the p99", percent), w, fewTails)
		}
	}
	if !some {
		t.Error("no recording has a tail")
	}
}

// noticed has 20 changes, after at least so many rounds each. After half of them nothing confirms the first trial before the
// next round.
func noticed(t *testing.T, r recording, name string, w worse, rounds int) {
	t.Helper()
	f := follow(t, r, 2)
	const changes = 20
	late := 0
	for change := range changes {
		for range rounds + f.random.IntN(10) {
			f.round(false)
		}
		wanted := Slower
		if f.worse != (worse{}) {
			wanted = Faster
			f.worse = worse{}
		} else {
			f.worse = w
		}
		refused := change%4 < 2
		if f.round(refused) != wanted && f.round(refused) != wanted {
			late++
		}
	}
	t.Logf("%s of %s, %s: %d of %d changes were noticed within two rounds", r.Tier, r.Node, name, changes-late, changes)
	if late > 0 {
		t.Errorf("%s of %s, %s: %d of %d changes were not noticed within two rounds", r.Tier, r.Node, name, late, changes)
	}
}

// TestADisturbedTrialIsNoChange has rounds without a change, 2,000 of each path in the long form: at most one finds one.
func TestADisturbedTrialIsNoChange(t *testing.T) {
	for _, r := range recorded(t) {
		rounds := 200
		if labtest.Long() {
			rounds = 2000
		}
		f := follow(t, r, 3)
		found := 0
		for range rounds {
			if f.round(false) != Same {
				found++
			}
		}
		t.Logf("%s of %s: %d changes in %d rounds without one", r.Tier, r.Node, found, rounds)
		if found > 1 {
			t.Errorf("%s of %s: %d changes were found in %d rounds without one", r.Tier, r.Node, found, rounds)
		}
	}
}

// level is a trial of a path whose latencies all are as large.
func level(us int64, at time.Time) Trial {
	trial := trialOf("veth", at, 1000, result.Clean)
	trial.Level = Level{P50Ns: us * 1000, QuietNs: us * 1000}
	return trial
}

// TestTwoTrialsTellOfAChange: a second trial confirms or contradicts the first.
func TestTwoTrialsTellOfAChange(t *testing.T) {
	way := Way{Tier: "veth"}
	for name, test := range map[string]struct {
		first, second int64
		found         Direction
		count         int64 // of the figure afterwards
	}{
		"as before":                  {50, 51, Same, 5000},
		"slower":                     {150, 140, Slower, 2000},
		"faster":                     {20, 21, Faster, 2000},
		"one that is contradicted":   {150, 50, Same, 5000},
		"one that points both ways":  {150, 10, Same, 5000},
		"slower, but not by so much": {60, 60, Same, 5000},
	} {
		w := newWindow()
		for i := range 3 {
			w.Add(level(50, noon.Add(time.Duration(i)*time.Minute)))
		}
		w.Add(level(test.first, noon.Add(3*time.Minute)))
		if suspect := w.Suspect(way); suspect != (test.first > 100 || test.first < 30) {
			t.Errorf("%s: suspect %t", name, suspect)
		}
		if found := w.Settle(way); found != Same {
			t.Errorf("%s: one trial alone tells %d", name, found)
		}
		w.Add(level(test.second, noon.Add(4*time.Minute)))
		if found := w.Settle(way); found != test.found {
			t.Errorf("%s: %d", name, found)
		}
		f := figures(t, w, noon.Add(4*time.Minute))["veth"]
		if f.Count != test.count || (f.ChangedAt != nil) != (test.found != Same) || w.JustChanged(way) != (test.found != Same) {
			t.Errorf("%s: %d packets, changed at %v", name, f.Count, f.ChangedAt)
		}
		if f.ChangedAt != nil && !f.ChangedAt.Time.Equal(noon.Add(3*time.Minute)) {
			t.Errorf("%s: changed at %v", name, f.ChangedAt)
		}
		if f.Newest == nil || f.Newest.Count != 1000 || !f.Newest.MeasuredAt.Time.Equal(noon.Add(4*time.Minute)) || f.QuietNs != test.second*1000 {
			t.Errorf("%s: newest %+v, quiet %d", name, f.Newest, f.QuietNs)
		}
		// The next agent knows as much.
		next := newWindow()
		if err := next.Resume([]v1alpha1.Figure{f}, load, noon.Add(5*time.Minute)); err != nil {
			t.Fatal(err)
		}
		again := figures(t, next, noon.Add(5*time.Minute))["veth"]
		if (again.ChangedAt == nil) != (f.ChangedAt == nil) || again.QuietNs != f.QuietNs {
			t.Errorf("%s: resumed %+v", name, again)
		}
	}
}

// TestTwoTrialsTellOfAChangeOfTheTail: a trial whose tail alone is longer is disturbed, if the next one contradicts it.
func TestTwoTrialsTellOfAChangeOfTheTail(t *testing.T) {
	for name, test := range map[string]struct {
		before        int
		first, second int64
		found         Direction
		count         int64
	}{
		"as before":                {6, 2000, 1500, Same, 8000},
		"slower":                   {6, 10_000, 8000, Slower, 2000},
		"faster":                   {6, 100, 90, Faster, 2000},
		"a disturbed one":          {6, 300_000, 1000, Same, 8000}, // until it is outvoted
		"one that is short":        {6, 100, 1000, Same, 8000},
		"too few before":           {5, 10_000, 8000, Same, 7000},
		"a second one beyond both": {6, 10_000, 100, Same, 8000},
	} {
		w := newWindow()
		at := noon
		add := func(tail int64) {
			at = at.Add(time.Minute)
			trial := level(50, at)
			trial.Level.TailNs = tail * 1000
			w.Add(trial)
		}
		for range test.before {
			add(1000)
		}
		add(test.first)
		first := len(w.trials) - 1
		if found := w.Settle(Way{Tier: "veth"}); found != Same {
			t.Errorf("%s: one trial alone tells %d", name, found)
		}
		add(test.second)
		if found := w.Settle(Way{Tier: "veth"}); found != test.found {
			t.Errorf("%s: %d", name, found)
		}
		if f := figures(t, w, at)["veth"]; f.Count != test.count {
			t.Errorf("%s: %d packets", name, f.Count)
		}
		if test.found == Same && w.trials[first].Disturbed != (test.before == 6 && test.first == 300_000 || name == "a second one beyond both") {
			t.Errorf("%s: disturbed %t", name, w.trials[first].Disturbed)
		}
	}
}

// TestADisturbedTrialIsOutvoted: it counts until two undisturbed ones have come after it.
func TestADisturbedTrialIsOutvoted(t *testing.T) {
	w := newWindow()
	disturbed := trialOf("veth", noon, 1000, result.Clean)
	disturbed.Disturb("the node")
	w.Add(disturbed)
	for i, want := range []int64{2000, 2000, 3000} {
		at := noon.Add(time.Duration(i+1) * time.Minute)
		w.Add(trialOf("veth", at, 1000, result.Clean))
		f := figures(t, w, at)["veth"]
		if f.Count != want || (f.Verdict == v1alpha1.Noisy) != (i == 0) {
			t.Errorf("after %d undisturbed trials: %d packets, %s", i+1, f.Count, f.Verdict)
		}
	}
	// A node on which each trial is disturbed has them all.
	w = newWindow()
	for i := range 3 {
		disturbed.At = noon.Add(time.Duration(i) * time.Minute)
		w.Add(disturbed)
	}
	if f := figures(t, w, noon.Add(3*time.Minute))["veth"]; f.Count != 3000 {
		t.Errorf("%+v", f)
	}
}

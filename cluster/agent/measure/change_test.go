package measure

import (
	"compress/gzip"
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// recording is trials of one path of a node: 20 blocks of time each, of packets by latency. They were recorded by agents
// on a host with two CPUs, beside compilers and other labs, so that most of the time ten programs wanted each CPU.
type recording struct {
	Node, Tier string
	// Blocks are of each trial, with pairs of a latency in ns and a number of packets.
	Trials [][][][2]int64
}

func recorded(t *testing.T) []recording {
	t.Helper()
	file, err := os.Open("testdata/trials.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []recording
	if err := json.NewDecoder(unzipped).Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// trial returns a recorded trial, of which each packet took so much longer.
func (r recording) trial(t *testing.T, number int, more int64, at time.Time) Trial {
	t.Helper()
	var blocks []*result.Packed
	for _, pairs := range r.Trials[number] {
		h := result.NewHistogram()
		for _, pair := range pairs {
			for range pair[1] {
				h.Record(pair[0] + more)
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
	more   int64
	levels map[[2]int64]Trial
}

func follow(t *testing.T, r recording, seed uint64) *follower {
	return &follower{
		recording: r, t: t, now: noon, random: rand.New(rand.NewPCG(seed, 0)),
		window: Window{Length: 12 * time.Minute, Valid: time.Hour}, levels: map[[2]int64]Trial{},
	}
}

func (f *follower) measure() {
	f.now = f.now.Add(10 * time.Second)
	number := f.random.IntN(len(f.Trials))
	key := [2]int64{int64(number), f.more}
	trial, known := f.levels[key]
	if !known {
		trial = f.trial(f.t, number, f.more, f.now)
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

// p50 is the median of the recorded medians.
func (f *follower) p50() int64 {
	var of []int64
	for i := range f.Trials {
		of = append(of, f.trial(f.t, i, 0, noon).Level.P50Ns)
	}
	return ranked(bucketsOf(of), 0.5)
}

func bucketsOf(values []int64) (out []result.Bucket) {
	for _, v := range values {
		out = append(out, result.Bucket{LowNs: v, HighNs: v, Count: 1})
	}
	return out
}

// TestAChangeIsNoticedWithinTwoRounds has changes of 5 ms and of twice the median, to the worse and back again, after some
// rounds each. In half of them nothing confirms the first trial before the next round.
func TestAChangeIsNoticedWithinTwoRounds(t *testing.T) {
	for _, r := range recorded(t) {
		f := follow(t, r, 1)
		for name, more := range map[string]int64{"5 ms": 5e6, "twice the median": f.p50()} {
			f := follow(t, r, 2)
			const changes = 20
			late := 0
			for change := range changes {
				for range 3 + f.random.IntN(10) {
					f.round(false)
				}
				wanted := Slower
				if f.more > 0 {
					wanted = Faster
				}
				f.more = more - f.more
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

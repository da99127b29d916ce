package method_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/measure/method"
	"nines.dev/nines/measure/method/simulate"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// searches has one quick search of each kind.
var searches = map[string]spec.Method{
	"tst009":    {Kind: spec.MethodTST009, Quick: true},
	"mlrsearch": {Kind: spec.MethodMLRsearch, Quick: true, Goals: goals("ndr", "pdr", "rfc2544", "tst009")},
	"rfc2544":   {Kind: spec.MethodRFC2544, Quick: true},
	"rfc8219":   {Kind: spec.MethodRFC8219, Quick: true},
	"y1564":     {Kind: spec.MethodY1564, Quick: true, CommittedPPS: 5e5, ExcessPPS: 5e5, Limits: &spec.Limits{LossRatio: new(float64)}},
}

// hostileSetting is the setting of every search in these tests.
var hostileSetting = method.Setting{CeilingPPS: 1e6, LinePPS: 2e6, FrameBytes: 64}

// sane checks what must hold for any result: it can be written as JSON, a missing figure has a
// reason, and bounds are in order.
func sane(t *testing.T, s result.Search) {
	t.Helper()
	if _, err := json.Marshal(s); err != nil { // NaN and infinity have no JSON
		t.Error(err)
	}
	for _, f := range s.Findings {
		if f.Value == nil && f.Reason == "" {
			t.Errorf("%s has neither value nor reason", f.Name)
		}
		if f.Low != nil && f.High != nil && *f.Low > *f.High {
			t.Errorf("%s is from %g to %g", f.Name, *f.Low, *f.High)
		}
	}
	if len(s.Findings) == 0 {
		t.Error("no finding")
	}
	if s.Conformant != (len(s.Deviations) == 0) {
		t.Errorf("conformant is %v with %v", s.Conformant, s.Deviations)
	}
}

// each runs every search with a trial function.
func each(t *testing.T, trial method.Trial, check func(t *testing.T, s result.Search, err error)) {
	for name, m := range searches {
		t.Run(name, func(t *testing.T) {
			run, err := method.New(m, hostileSetting)
			if err != nil {
				t.Fatal(err)
			}
			found, err := run(t.Context(), trial)
			sane(t, found)
			check(t, found, err)
		})
	}
}

// said reports whether a finding has the text in its reason.
func said(s result.Search, text string) bool {
	for _, f := range s.Findings {
		if strings.Contains(f.Reason, text) {
			return true
		}
	}
	return false
}

// device is an ordinary one, for trials of which some go wrong.
func device() *simulate.Device {
	return &simulate.Device{Seed: 1, CapacityPPS: 7e5, QueuePackets: 100, Latency: time.Microsecond}
}

func TestTrialsThatFail(t *testing.T) {
	broken := errors.New("the engine died")
	each(t, func(context.Context, method.Load) (method.Outcome, error) { return method.Outcome{}, broken },
		func(t *testing.T, s result.Search, err error) {
			if !errors.Is(err, broken) || !said(s, "the engine died") {
				t.Errorf("%v: %+v", err, s.Findings)
			}
		})
}

// TestCancelledSearches cancels every search after a few trials: known results stay, and no further
// trial begins.
func TestCancelledSearches(t *testing.T) {
	for name, m := range searches {
		t.Run(name, func(t *testing.T) {
			run, err := method.New(m, hostileSetting)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			d, trials := device(), 0
			found, err := run(ctx, func(ctx context.Context, load method.Load) (method.Outcome, error) {
				if trials++; trials == 3 {
					cancel()
				}
				return d.Trial(context.WithoutCancel(ctx), load)
			})
			sane(t, found)
			if !errors.Is(err, context.Canceled) || trials != 3 || len(found.Trials) != 3 || !said(found, "context canceled") {
				t.Errorf("%v after %d trials, %d in the result: %+v", err, trials, len(found.Trials), found.Findings)
			}
		})
	}
}

func TestTrialsWithoutPackets(t *testing.T) {
	each(t, func(context.Context, method.Load) (method.Outcome, error) { return method.Outcome{ID: "0001"}, nil },
		func(t *testing.T, s result.Search, err error) {
			if err != nil || !said(s, "they had no packet to send") || len(s.Trials) != 3 {
				t.Errorf("%v in %d trials: %+v", err, len(s.Trials), s.Findings)
			}
		})
}

func TestInvalidTrialsAreRepeated(t *testing.T) {
	d, trials := device(), 0
	each(t, func(ctx context.Context, load method.Load) (method.Outcome, error) {
		o, err := d.Trial(ctx, load)
		if trials++; trials%3 != 0 { // two out of three
			o.Invalid, o.Received = "the clock was lost", 0
		}
		return o, err
	}, func(t *testing.T, s result.Search, err error) {
		if err != nil || said(s, "invalid") {
			t.Errorf("%v: %+v", err, s.Findings)
		}
		used := 0
		for _, trial := range s.Trials {
			if !strings.Contains(trial.Purpose, "not used: the clock was lost") {
				used++
			}
		}
		if used*3 != len(s.Trials) {
			t.Errorf("%d of %d trials used", used, len(s.Trials))
		}
	})
}

func TestTrialsThatStayInvalid(t *testing.T) {
	d := device()
	each(t, func(ctx context.Context, load method.Load) (method.Outcome, error) {
		o, err := d.Trial(ctx, load)
		o.Invalid = "the clock was lost"
		return o, err
	}, func(t *testing.T, s result.Search, err error) {
		if err != nil || !said(s, "3 trials") || !said(s, "the clock was lost") {
			t.Errorf("%v: %+v", err, s.Findings)
		}
	})
}

// TestUnsentCountsAsLoss: a generator that cannot send more than 400,000 packets a second limits
// the result, and the finding says so.
func TestUnsentCountsAsLoss(t *testing.T) {
	const most = 4e5
	d := device()
	weak := func(ctx context.Context, load method.Load) (method.Outcome, error) {
		o, err := d.Trial(ctx, load)
		if can := uint64(most * load.Duration.Seconds()); o.Intended > can {
			o.Unsent, o.Invalid = o.Intended-can, "the generator could not keep up"
			o.Received = min(o.Received, can)
		}
		return o, err
	}
	each(t, weak, func(t *testing.T, s result.Search, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if !said(s, "which counts as loss") {
			t.Errorf("nobody says that it was the generator: %+v", s.Findings)
		}
		for _, f := range s.Findings {
			if f.Unit == "packets/s" && f.Name != "PDR" && f.Name != "received rate" && number(f.Value) > most*1.001 {
				t.Errorf("%s is %g", f.Name, *f.Value)
			}
		}
	})
}

// TestLatencyIsRepeated: a latency trial is repeated if the generator was delayed. If that
// persists, its latency is used, with a reason.
func TestLatencyIsRepeated(t *testing.T) {
	for held, want := range map[int]struct {
		trials int
		reason bool
	}{0: {4, false}, 1: {5, false}, 2: {6, false}, 3: {6, true}} {
		d, still := device(), held
		m := spec.Method{Kind: spec.MethodTST009, Quick: true}
		run, err := method.New(m, hostileSetting)
		if err != nil {
			t.Fatal(err)
		}
		found, err := run(t.Context(), func(ctx context.Context, load method.Load) (method.Outcome, error) {
			o, err := d.Trial(ctx, load)
			if strings.HasPrefix(load.Purpose, "latency at 50 %") && still > 0 {
				still--
				o.Invalid, o.Unsent = "other work held the generator up", 10
			}
			return o, err
		})
		sane(t, found)
		trials := 0
		for _, trial := range found.Trials {
			if strings.HasPrefix(trial.Purpose, "latency at") {
				trials++
			}
		}
		if err != nil || trials != want.trials || said(found, "did not send all") != want.reason {
			t.Errorf("held up %d times: %v, %d trials for latency, want %d: %+v", held, err, trials, want.trials, found.Findings)
		}
	}
}

func TestMoreReceivedThanIntended(t *testing.T) {
	d := device()
	each(t, func(ctx context.Context, load method.Load) (method.Outcome, error) {
		o, err := d.Trial(ctx, load)
		o.Received = o.Intended + 10
		return o, err
	}, func(t *testing.T, s result.Search, err error) {
		if err != nil || !said(s, "counts as no loss") {
			t.Errorf("%v: %+v", err, s.Findings)
		}
		for _, trial := range s.Trials {
			if trial.LossRatio != 0 {
				t.Errorf("a loss of %g", trial.LossRatio)
			}
		}
	})
}

func TestDevicesBeyondTheRange(t *testing.T) {
	slow := &simulate.Device{CapacityPPS: 10, Latency: time.Microsecond}
	each(t, slow.Trial, func(t *testing.T, s result.Search, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range s.Findings {
			if f.Unit == "packets/s" && f.Passed == nil && (f.Value != nil || f.Low != nil || !strings.Contains(f.Reason, "lowest rate")) {
				t.Errorf("a device below the lowest rate: %+v", f)
			}
		}
	})
	fast := &simulate.Device{CapacityPPS: 1e8, Latency: time.Microsecond}
	each(t, fast.Trial, func(t *testing.T, s result.Search, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range s.Findings {
			if f.Unit == "packets/s" && f.Passed == nil && (number(f.Value) != 1e6 || f.High != nil || !strings.Contains(f.Reason, "highest rate")) {
				t.Errorf("a device above the highest rate: %+v", f)
			}
		}
	})
}

// TestOptionsThatCannotBe: invalid options are refused before any trial.
func TestOptionsThatCannotBe(t *testing.T) {
	bad := -0.5
	for name, test := range map[string]struct {
		method spec.Method
		at     method.Setting
		want   string
	}{
		"no ceiling":       {spec.Method{Kind: spec.MethodTST009}, method.Setting{}, "set max_rate_pps"},
		"NaN":              {spec.Method{Kind: spec.MethodTST009}, method.Setting{CeilingPPS: math.NaN()}, "set max_rate_pps"},
		"infinite":         {spec.Method{Kind: spec.MethodMLRsearch}, method.Setting{CeilingPPS: math.Inf(1)}, "set max_rate_pps"},
		"upside down":      {spec.Method{Kind: spec.MethodMLRsearch, MinRatePPS: 10, MaxRatePPS: 5}, method.Setting{}, "change min_rate_pps"},
		"NaN as a minimum": {spec.Method{Kind: spec.MethodMLRsearch, MinRatePPS: math.NaN(), MaxRatePPS: 5}, method.Setting{}, "change min_rate_pps"},
		"width":            {spec.Method{Kind: spec.MethodRFC2544, Width: 2}, hostileSetting, "width"},
		"negative loss":    {spec.Method{Kind: spec.MethodMLRsearch, Goals: []*spec.Goal{{Name: "x", LossRatio: &bad}}}, hostileSetting, "loss ratio"},
		"sum below trial": {spec.Method{Kind: spec.MethodMLRsearch, Goals: []*spec.Goal{{Name: "x", FinalTrial: spec.Duration(time.Hour), DurationSum: spec.Duration(time.Second)}}},
			hostileSetting, "duration sum"},
		"goals of one name": {spec.Method{Kind: spec.MethodMLRsearch, Goals: goals("ndr", "ndr")}, hostileSetting, "another name"},
		"loads":             {spec.Method{Kind: spec.MethodTST009, Loads: []float64{-1}}, hostileSetting, "change loads"},
		"test":              {spec.Method{Kind: spec.MethodRFC2544, Tests: []spec.RFC2544Test{"thrust"}}, hostileSetting, "thrust"},
		"no rate":           {spec.Method{Kind: spec.MethodY1564}, hostileSetting, "committed_pps"},
		"percentile":        {spec.Method{Kind: spec.MethodY1564, CommittedPPS: 1, Limits: &spec.Limits{Percentile: 100}}, hostileSetting, "percentile"},
		"no search":         {spec.Method{Kind: spec.MethodSweep}, hostileSetting, "no search"},
	} {
		if _, err := method.New(test.method, test.at); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if _, err := method.SoakOf(spec.Method{}, 0); err == nil {
		t.Error("a soak at rate 0")
	}
}

// TestLimitOfTime: against a device that answers at random, a search stops at its time limit and
// reports the known bounds.
func TestLimitOfTime(t *testing.T) {
	o, err := method.MLRsearchOf(spec.Method{Kind: spec.MethodMLRsearch, Loads: none}, hostileSetting)
	if err != nil {
		t.Fatal(err)
	}
	o.Limit = 20 * time.Second
	found, err := o.Search(t.Context(), device().Trial)
	sane(t, found)
	if err != nil || len(found.Trials) != 20 || !said(found, "more than the search's limit, 20s") {
		t.Errorf("%v after %d trials: %+v", err, len(found.Trials), found.Findings)
	}
}

// TestDiceEnd: every search ends even with random answers.
func TestDiceEnd(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		trials := 0
		each(t, func(context.Context, method.Load) (method.Outcome, error) {
			if trials++; trials > 100_000 {
				t.Fatal("a search without end")
			}
			return method.Outcome{Intended: 1000, Received: uint64(random.IntN(1002))}, nil
		}, func(t *testing.T, _ result.Search, err error) {
			if err != nil {
				t.Error(err)
			}
			trials = 0
		})
	}
}

// FuzzSearches feeds searches random outcomes: their results must be sane.
func FuzzSearches(f *testing.F) {
	f.Add(uint8(0), []byte{})
	f.Add(uint8(1), []byte{0, 255, 0, 255, 1, 2, 3, 4})
	f.Add(uint8(2), []byte{255, 255, 255, 255, 255, 255, 0, 0, 0, 1})
	f.Add(uint8(3), []byte{8, 0, 0, 0, 0, 0, 0, 0, 1, 1})
	f.Add(uint8(4), []byte{1, 2, 3, 4, 5, 6, 7, 8, 9})
	names := []string{"tst009", "mlrsearch", "rfc2544", "rfc8219", "y1564"}
	histogram := result.NewHistogram()
	for ns := range int64(1000) {
		histogram.Record(ns * ns)
	}
	f.Fuzz(func(t *testing.T, kind uint8, dice []byte) {
		m := searches[names[int(kind)%len(names)]]
		run, err := method.New(m, hostileSetting)
		if err != nil {
			t.Fatal(err)
		}
		trials := 0
		found, _ := run(t.Context(), func(_ context.Context, load method.Load) (method.Outcome, error) {
			if trials++; trials > 500 { // TestDiceEnd has longer ones
				return method.Outcome{}, errors.New("enough")
			}
			if !(load.RatePPS > 0) || math.IsInf(load.RatePPS, 0) || load.Duration <= 0 {
				t.Fatalf("a load of %+v", load)
			}
			var die [8]byte
			for i := range die {
				if len(dice) > 0 {
					die[i] = dice[(trials*len(die)+i)%len(dice)]
				}
			}
			o := method.Outcome{Intended: 1000, Received: uint64(binary.LittleEndian.Uint16(die[0:])) % 1010}
			switch {
			case die[2] < 128: // roughly a device
				o.Received = uint64(1000 * min(1, (3e5+float64(die[3])*100)/load.RatePPS))
			case die[2] == 255:
				return o, errors.New("the engine died")
			case die[2] == 254:
				o.Intended = 0
			case die[2] == 253:
				o.Invalid, o.Unsent = "weak", uint64(die[4])
			}
			if die[5] < 250 {
				o.Latency = histogram
			}
			return o, nil
		})
		sane(t, found)
	})
}

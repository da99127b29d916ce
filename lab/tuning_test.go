package lab

import (
	"context"
	"strings"
	"testing"

	"nines.dev/nines/host/tune"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/dryrun"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

func TestALabTunesTheHostWhileItIsUp(t *testing.T) {
	labtest.Root(t)
	before := traces.Tunable(t)
	lab := up(t, labs.Tuned)
	in, err := lab.Inspect(context.Background())
	if err != nil || in.Tuning == nil {
		t.Fatalf("%+v, %v", in, err)
	}
	if in.Tuning.Profile != "throughput" || len(in.Tuning.Settings) == 0 {
		t.Errorf("%+v", in.Tuning)
	}
	for _, s := range in.Tuning.Settings {
		if s.Standing != tune.InForce || strings.TrimSpace(before[s.Path]) == s.Set {
			t.Errorf("%+v", s)
		}
	}
	other := strings.NewReplacer("tbtune", "tbtunetoo").Replace(labs.Tuned)
	_, err = Up(context.Background(), UpOptions{Plan: labs.Plan(t, other), Experiment: []byte(other)})
	if err == nil || !strings.Contains(err.Error(), `lab "tbtune" holds this host's settings`) {
		t.Errorf("a second lab: %v", err)
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	traces.SameTunable(t, before)
	if holder, err := tune.Holder(state.Root()); holder != "" || err != nil {
		t.Errorf("still held by %q, %v", holder, err)
	}
}

func TestApplyChangesTheHostsTuning(t *testing.T) {
	labtest.Root(t)
	before := traces.Tunable(t)
	lab := up(t, labs.Tuned)
	untuned := strings.Replace(labs.Tuned, "tuning: throughput\n", "", 1)
	change := func(text string) {
		t.Helper()
		changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
		if err != nil || !changes.Tuning {
			t.Fatalf("%+v, %v", changes, err)
		}
	}
	change(untuned)
	traces.SameTunable(t, before)
	if holder, err := tune.Holder(state.Root()); holder != "" || err != nil {
		t.Errorf("still held by %q, %v", holder, err)
	}
	change(labs.Tuned)
	state, err := lab.TuningNow()
	if err != nil || state == nil || len(state.Settings) == 0 {
		t.Errorf("%+v, %v", state, err)
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	traces.SameTunable(t, before)
}

func TestTheHostsTuningIsPlannedAndListed(t *testing.T) {
	p := labs.Plan(t, labs.Tuned)
	if p.Tuning != "throughput" {
		t.Errorf("the plan's tuning: %q", p.Tuning)
	}
	if steps := strings.Join(dryrun.Steps(p), "\n"); !strings.Contains(steps, "host: settings of the profile throughput") {
		t.Errorf("the steps do not say it:\n%s", steps)
	}
	none := labs.Plan(t, strings.Replace(labs.Tuned, "throughput", "none", 1))
	if steps := strings.Join(dryrun.Steps(none), "\n"); strings.Contains(steps, "host: settings") || none.Tuning != "" {
		t.Errorf("tuning: none is %q in the plan:\n%s", none.Tuning, steps)
	}
}

// TestATuningThatOthersUndidIsSetAgain: check, ls and apply see it.
func TestATuningThatOthersUndidIsSetAgain(t *testing.T) {
	labtest.Root(t)
	before := traces.Tunable(t)
	lab := up(t, labs.Tuned)
	tuned, err := lab.TuningNow()
	if err != nil || len(tuned.Settings) == 0 {
		t.Fatalf("%+v, %v", tuned, err)
	}
	if faults := statusOf(lab.Name()).Faults; len(faults) > 0 {
		t.Errorf("before: %q", faults)
	}
	undone := tuned.Settings[0]
	if err := setting.Write(undone.Path, undone.Old); err != nil {
		t.Fatal(err)
	}
	if faults := statusOf(lab.Name()).Faults; len(faults) != 1 || !strings.Contains(faults[0], undone.Path) {
		t.Errorf("the list of labs has the faults %q", faults)
	}
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
		t.Errorf("a trial would lose its network over it: %v, %v", faults, err)
	}
	changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, labs.Tuned), Experiment: []byte(labs.Tuned)})
	if err != nil || !changes.Tuning || len(changes.ReplacedNodes)+len(changes.AddedNodes) > 0 {
		t.Fatalf("%+v, %v", changes, err)
	}
	if bad, err := check.Untuned(lab.Lab); bad != nil || err != nil {
		t.Errorf("after apply: %v, %v", bad, err)
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	traces.SameTunable(t, before)
}

package lab

import (
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/host/tune"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// A lab with both isolation and tuning: both change interrupts and workqueues.
func TestLabIsolationAndTuningTogether(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootMain, labtest.BootV1)
	labtest.Root(t)
	before, files := traces.TakeSnapshot(t), traces.Tunable(t)
	text := strings.Replace(labs.Isolated, "isolation: isolated", "isolation: isolated\ntuning: realtime", 1)
	lab := up(t, text)
	state, err := lab.TuningNow()
	if err != nil || state == nil || !slices.ContainsFunc(state.Settings, func(s tune.ChangedSetting) bool {
		return s.Path == "/proc/sys/vm/stat_interval" && s.Standing == tune.InForce
	}) {
		t.Errorf("%+v, %v", state, err)
	}
	if err := lab.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if changes := before.Changes(traces.TakeSnapshot(t)); len(changes) > 0 {
		t.Errorf("after down:\n%s", strings.Join(changes, "\n"))
	}
	traces.SameTunable(t, files)
}

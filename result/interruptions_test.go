package result

import (
	"errors"
	"io/fs"
	"reflect"
	"testing"
)

func TestInterruptionsAreReadAsTheyWereWritten(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	r := record(1, 100)
	r.Trial.Interruptions = &Interruptions{Witnesses: []Witness{{Thread: "forward dut", Node: "dut", CPU: 1, Count: 2, TotalNs: 60_000, ThresholdNs: 8000}}}
	r.Interruptions = []Interruption{
		{Thread: "forward dut", Node: "dut", CPU: 1, Kind: "turn 0", BeginNs: -5, LengthNs: 40_000},
		{Thread: "forward dut", Node: "dut", CPU: 1, Kind: "turn 1", BeginNs: 1 << 40, LengthNs: 20_000},
	}
	trial := mustAdd(t, w, r)
	opened := mustOpen(t, w.Dir())
	rows, err := opened.TrialFolder(trial.ID).Interruptions()
	if err != nil || !reflect.DeepEqual(rows, r.Interruptions) {
		t.Errorf("%+v, %v", rows, err)
	}
	if got := opened.Summary.Trials[0].Interruptions; !reflect.DeepEqual(got, r.Trial.Interruptions) {
		t.Errorf("the summary has %+v", got)
	}
}

// A trial whose witnesses saw nothing has a file without rows; one without witnesses has none.
func TestTrialsWithoutInterruptions(t *testing.T) {
	for _, witnessed := range []bool{true, false} {
		w := mustCreate(t, t.TempDir())
		r := record(1, 100)
		if witnessed {
			r.Trial.Interruptions = &Interruptions{Witnesses: []Witness{{Thread: "loop", CPU: 1}}}
		}
		trial := mustAdd(t, w, r)
		rows, err := mustOpen(t, w.Dir()).TrialFolder(trial.ID).Interruptions()
		if len(rows) > 0 || errors.Is(err, fs.ErrNotExist) == witnessed {
			t.Errorf("witnessed %v: %d rows, %v", witnessed, len(rows), err)
		}
	}
}

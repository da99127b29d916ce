package measure

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// A traced trial says what happened around its slowest packets; an untraced one and a baseline do
// not.
func TestTrialsAreTraced(t *testing.T) {
	labtest.Experiment(t)
	for name, test := range map[string]struct {
		network string
		roles   []string
		// driven is how often each packet reaches a driver, and received how often it leaves one: a
		// reader may or may not find it before the end of the trial.
		driven uint64
	}{
		"traced-loop": {loopNetwork, []string{result.RoleForwarder, result.RoleReceiver, result.RoleSender}, 2},
		"traced-pair": {pairNetwork, []string{result.RoleReceiver, result.RoleSender}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			experiment, writer := prepare(t, name, test.network, "sweep.trace=[true, false]")
			done := finish(t, experiment, writer)
			for _, trial := range done.Summary.Trials {
				folder := done.TrialFolder(trial.ID)
				details, err := folder.Details()
				if err != nil {
					t.Fatal(err)
				}
				if trial.Variables["trace"] != true {
					if _, err := folder.Events(); details.Trace != nil || !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("not traced, and yet: %+v, %v", details.Trace, err)
					}
					continue
				}
				holdTrace(t, folder, details, trial, test.roles, test.driven)
			}
			for _, b := range done.Baselines {
				if details, err := done.BaselineFolder(b.ID).Details(); err != nil || details.Trace != nil {
					t.Errorf("a baseline was traced: %+v, %v", details.Trace, err)
				}
			}
		})
	}
}

func holdTrace(t *testing.T, folder result.Folder, details result.Details, trial result.Trial, roles []string, driven uint64) {
	t.Helper()
	trace := details.Trace
	if trace == nil {
		t.Fatalf("nothing was recorded: %v", details.Notes)
	}
	var got []string
	for _, thread := range trace.Threads {
		got = append(got, thread.Role)
		if thread.TID <= 0 || thread.Name == "" || thread.Node == "" {
			t.Errorf("%+v", thread)
		}
	}
	if slices.Sort(got); !slices.Equal(got, roles) {
		t.Errorf("threads %v, want %v; %v", got, roles, details.Notes)
	}
	events, err := folder.Events()
	if err != nil || len(events) == 0 || uint64(len(events)) != trace.Kept || trace.Events < trace.Kept/2 {
		t.Fatalf("%d events, %v: %+v", len(events), err, trace)
	}
	// Around each of the slowest and each ordinary packet there are events of the receiving thread.
	receiver := trace.Threads[slices.IndexFunc(trace.Threads, func(t result.TracedThread) bool { return t.Role == result.RoleReceiver })]
	slow, err := folder.Outliers()
	if err != nil {
		t.Fatal(err)
	}
	ordinary, err := folder.Ordinary()
	if err != nil || len(ordinary) == 0 || uint64(len(ordinary)) != min(trial.RxPackets, 200) {
		t.Fatalf("%d ordinary packets of %d, %v", len(ordinary), trial.RxPackets, err)
	}
	for _, o := range append(slow, ordinary...) {
		begin, end := details.StartedNs+o.IntendedNs, details.StartedNs+o.RxNs
		if !slices.ContainsFunc(trace.Stretches, func(s [2]int64) bool { return s[0] <= begin && end <= s[1] }) {
			t.Errorf("nothing is kept of packet %d, from %d to %d ns; kept are %v; %d events were lost, of %d", o.ID, begin, end, trace.Stretches, trace.Lost, trace.Events)
			continue
		}
		if !slices.ContainsFunc(events, func(e result.Event) bool {
			return e.Kind == result.EventThread && e.TID == int32(receiver.TID) && e.BeginNs <= end && end <= e.EndNs
		}) {
			t.Errorf("the receiver is not seen to run when packet %d arrived", o.ID)
		}
	}
	var toDriver uint64
	for _, s := range trace.Stages {
		if s.To == "driver" {
			toDriver += s.Delay.Count
		}
	}
	if toDriver > driven*trial.TxPackets || toDriver < driven*trial.TxPackets*9/10 {
		t.Errorf("%d packets came %d times to drivers: %+v", trial.TxPackets, toDriver, trace.Stages)
	}
}

// TestRawPacketsAreFollowedFromTheirSend: raw sockets bypass the tracepoints of the queueing
// discipline and the driver, and packets dropped behind the engine's filter are no loss. At this
// rate every other packet is followed.
func TestRawPacketsAreFollowedFromTheirSend(t *testing.T) {
	labtest.Experiment(t)
	experiment, writer := prepare(t, "traced-raw", pairNetwork, "trace=true",
		"traffic.backend=raw", "traffic.rate_pps=30000")
	done := finish(t, experiment, writer)
	folder := done.TrialFolder(done.Summary.Trials[0].ID)
	details, err := folder.Details()
	if err != nil || details.Trace == nil || details.Trace.StagesEvery != 2 {
		t.Fatalf("no trace of every other packet: %v, %v", details.Notes, err)
	}
	trial := done.Summary.Trials[0]
	var counted uint64
	for _, s := range details.Trace.Stages {
		if s.From == "send" && s.To == "stack" {
			counted += s.Delay.Count
		}
	}
	if counted > trial.TxPackets/2+1 || counted < trial.RxPackets/2*9/10 {
		t.Errorf("of %d packets sent and %d received %d are counted from send to stack", trial.TxPackets, trial.RxPackets, counted)
	}
	events, err := folder.Events()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == result.EventDrop && e.Name == "TC_INGRESS" {
			t.Fatalf("frames that the engine has taken are said to be dropped: %+v", e)
		}
	}
}

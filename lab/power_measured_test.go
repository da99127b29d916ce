package lab

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/power"
	"nines.dev/nines/test/labtest"
)

// TestPowerOfAMeasuredLab: the process that measures does it, for those who ask it at its socket, and
// tells the trial; a node that is off makes each trial invalid.
func TestPowerOfAMeasuredLab(t *testing.T) {
	labtest.Root(t)
	needClient(t, "ipmitool")
	text, password := powerText(t, "netns", "127.77.4.1")
	lab := upMeasured(t, text)
	c := console{t: t, address: "127.77.4.1", password: password, port: 6001}
	pid := lab.PID("dut")
	if said, code := c.ipmitool(17, "power", "reset"); code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	var told []Restarted
	labtest.Eventually(t, "the node is reset by the measuring process", func() bool {
		told = append(told, lab.TakeRestarts()...)
		return lab.Alive("dut") && lab.PID("dut") != pid && len(told) > 0
	})
	if len(told) != 1 || told[0].Node != "dut" || told[0].How != "restarted" || !strings.Contains(told[0].Why, "power reset, asked for by IPMI from user 0 of this host") {
		t.Errorf("told: %+v", told)
	}
	silent := func(string) {}
	if err := Power(context.Background(), lab.Name(), "dut", power.Off, PowerOptions{By: "a test", Progress: silent}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if told := lab.TakeRestarts(); len(told) != 1 || told[0].How != wasStopped || !strings.Contains(told[0].Why, "power off") {
			t.Errorf("while the node is off: %+v", told)
		}
	}
	if err := Power(context.Background(), lab.Name(), "dut", power.On, PowerOptions{By: "a test", Progress: silent}); err != nil {
		t.Fatal(err)
	}
	lab.TakeRestarts()
	if told := lab.TakeRestarts(); len(told) > 0 {
		t.Errorf("when it is on again: %+v", told)
	}
	if err := Power(context.Background(), lab.Name(), "nobody", power.On, PowerOptions{By: "a test", Progress: silent}); err == nil || !strings.Contains(err.Error(), "dut, far, load") {
		t.Errorf("a node that is not there: %v", err)
	}
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
		t.Errorf("in the end: %v, %v", faults, err)
	}
}

// TestAMeasuredLabIsChangedByThoseWhoKnow: without the flag, a call changes nothing, and its error names the
// measurement and the flag; with it, the call changes nodes, and the trial says who did.
func TestAMeasuredLabIsChangedByThoseWhoKnow(t *testing.T) {
	labtest.Root(t)
	text, _ := powerText(t, "netns", "127.77.5.1")
	text, _, _ = strings.Cut(text, "power:")
	lab, ctx := upMeasured(t, text), context.Background()
	power := func(knows bool) error {
		return Power(ctx, lab.Name(), "dut", power.Reset, PowerOptions{By: "a test", DuringMeasurement: knows, Progress: func(string) {}})
	}
	change := func(do Do) func(bool) error {
		return func(knows bool) error {
			return ChangeNodes(ctx, lab.Name(), do, []string{"dut", "far"}, ChangeOptions{By: "a test", DuringMeasurement: knows})
		}
	}
	for _, c := range []struct {
		what string
		do   func(knows bool) error
		runs bool
		told []Restarted
	}{
		{"a reset", power, true, []Restarted{{Node: "dut", How: "restarted", Why: "power reset, asked for by a test"}}},
		{"a restart", change(DoRestart), true, []Restarted{{Node: "dut", How: "restarted", Why: "asked for by a test"}, {Node: "far", How: "restarted", Why: "asked for by a test"}}},
		{"a stop", change(DoStop), false, []Restarted{{Node: "dut", How: wasStopped, Why: "asked for by a test"}, {Node: "far", How: wasStopped, Why: "asked for by a test"}}},
		{"a start", change(DoStart), true, []Restarted{{Node: "dut", How: "started", Why: "asked for by a test"}, {Node: "far", How: "started", Why: "asked for by a test"}}},
	} {
		was := lab.PID("dut")
		if err := c.do(false); err == nil || !strings.Contains(err.Error(), "is being measured by process") || !strings.Contains(err.Error(), "--during-measurement") {
			t.Errorf("%s without knowing: %v", c.what, err)
		}
		lab.TakeRestarts() // a node that is off is told each time
		if lab.PID("dut") != was {
			t.Errorf("%s without knowing: process %d is %d", c.what, was, lab.PID("dut"))
		}
		if err := c.do(true); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if lab.Alive("dut") != c.runs || lab.PID("dut") == was {
			t.Errorf("%s: it runs: %v, process %d was %d", c.what, lab.Alive("dut"), lab.PID("dut"), was)
		}
		told := lab.TakeRestarts()
		for i := range told {
			told[i].At, told[i].Took = time.Time{}, 0
		}
		if !slices.Equal(told, c.told) {
			t.Errorf("%s: told %+v", c.what, told)
		}
	}
	if err := ChangeNodes(ctx, lab.Name(), DoStop, []string{"nobody"}, ChangeOptions{DuringMeasurement: true}); exit.Code(err) != exit.Wrong {
		t.Errorf("a node that is not there: %v", err)
	}
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
		t.Errorf("in the end: %v, %v", faults, err)
	}
}

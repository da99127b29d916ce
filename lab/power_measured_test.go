package lab

import (
	"context"
	"strings"
	"testing"

	"nines.dev/nines/power"
	"nines.dev/nines/test/labtest"
)

// TestPowerOfAMeasuredLab: the process that measures does it, for those who come through its door, and
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
	eventually(t, "the node is reset by the measuring process", func() bool {
		told = append(told, lab.TakeRestarts()...)
		return lab.Alive("dut") && lab.PID("dut") != pid && len(told) > 0
	})
	if len(told) != 1 || told[0].Node != "dut" || told[0].How != "restarted" || !strings.Contains(told[0].Why, "power reset, asked for by IPMI from 127.") {
		t.Errorf("told: %+v", told)
	}
	silent := func(string) {}
	if err := Power(context.Background(), lab.Name(), "dut", power.Off, "a test", silent); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if told := lab.TakeRestarts(); len(told) != 1 || told[0].How != wasStopped || !strings.Contains(told[0].Why, "power off") {
			t.Errorf("while the node is off: %+v", told)
		}
	}
	if err := Power(context.Background(), lab.Name(), "dut", power.On, "a test", silent); err != nil {
		t.Fatal(err)
	}
	lab.TakeRestarts()
	if told := lab.TakeRestarts(); len(told) > 0 {
		t.Errorf("when it is on again: %+v", told)
	}
	if err := Power(context.Background(), lab.Name(), "nobody", power.On, "a test", silent); err == nil || !strings.Contains(err.Error(), "dut, far, load") {
		t.Errorf("a node that is not there: %v", err)
	}
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
		t.Errorf("in the end: %v, %v", faults, err)
	}
}

// TestAMeasuredLabWithoutPowerHasNoDoor.
func TestAMeasuredLabWithoutPowerHasNoDoor(t *testing.T) {
	labtest.Root(t)
	text, _ := powerText(t, "netns", "127.77.5.1")
	text, _, _ = strings.Cut(text, "power:")
	p := planOf(t, text)
	m := begin(t, p)
	lab, err := Up(context.Background(), UpOptions{Plan: p, Experiment: []byte(text), Measurement: m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := Power(context.Background(), lab.Name(), "dut", power.Reset, "a test", func(string) {}); err == nil || !strings.Contains(err.Error(), "with the section power") {
		t.Errorf("a reset: %v", err)
	}
}

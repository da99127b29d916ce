package lab

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/disturb"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// a ──veth── b, which reflects and is disturbed in two ways.
const disturbedLab = `
name: tbdisturb
topology:
  nodes:
    a:
    b: {app: {kind: reflect}}
  links:
    - {name: v, endpoints: ["a:v", "b:v"]}
disturb:
  others: {kind: softirq, node: b, period: 5ms, length: 100us}
  halt: {kind: stop, node: b, period: 50ms, length: 5ms}
`

func disturbances(t *testing.T, lab *Lab) map[string]disturb.State {
	t.Helper()
	list, err := disturb.States(lab.Lab)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]disturb.State{}
	for _, d := range list {
		found[d.Name] = d
	}
	return found
}

// Disturbances end with the lab, and Apply restarts only those that change.
func TestDisturbancesComeAndGoWithTheLab(t *testing.T) {
	labtest.Root(t)
	lab := up(t, disturbedLab)
	first := disturbances(t, lab)
	if len(first) != 2 || !first["others"].Alive || !first["halt"].Alive {
		t.Fatalf("they are %+v", first)
	}
	again, err := Open("tbdisturb")
	if err != nil || !disturbances(t, again)["halt"].Alive {
		t.Errorf("the lab is opened without them: %v", err)
	}
	text := strings.Replace(disturbedLab, "length: 100us", "length: 200us", 1)
	changes, err := lab.Apply(t.Context(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
	second := disturbances(t, lab)
	if err != nil || !changes.Disturbances || len(changes.ReplacedNodes) > 0 || second["others"].PID == first["others"].PID || !second["others"].Alive {
		t.Errorf("another length: %+v, %v, %+v", changes, err, second)
	}
	id, err := proc.Of(second["others"].PID)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ = strings.Cut(disturbedLab, "disturb:")
	changes, err = lab.Apply(t.Context(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
	if err != nil || !changes.Disturbances || len(disturbances(t, lab)) != 0 || id.Alive() {
		t.Errorf("none: %+v, %v, alive %v", changes, err, id.Alive())
	}
	// The engine that was stopped runs again.
	state := lab.inspectApp(t.Context(), *lab.Plan().Node("b"), true)
	for until := time.Now().Add(10 * time.Second); state.Engine != "serving" && time.Now().Before(until); {
		state = lab.inspectApp(t.Context(), *lab.Plan().Node("b"), true)
	}
	if state.Engine != "serving" {
		t.Errorf("the engine is %s", state.Engine)
	}
}

// A disturbance that has ended is a fault, and the next Apply starts it again.
func TestEndedDisturbanceIsAFault(t *testing.T) {
	labtest.Root(t)
	lab := up(t, disturbedLab)
	id, err := proc.Of(disturbances(t, lab)["others"].PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := id.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for id.Alive() {
		time.Sleep(time.Millisecond)
	}
	id.Reap()
	faults, err := lab.Faults()
	if err != nil || !slices.ContainsFunc(faults, func(fault check.Fault) bool { return fault.Of == "disturb.others" }) {
		t.Errorf("faults: %v, %v", faults, err)
	}
	changes, err := lab.Apply(t.Context(), ApplyOptions{Plan: labs.Plan(t, disturbedLab), Experiment: []byte(disturbedLab)})
	if err != nil || !changes.Disturbances || !disturbances(t, lab)["others"].Alive {
		t.Errorf("it is not there again: %+v, %v", changes, err)
	}
}

// A lab that is measured returns each injection once; other labs do not record them.
func TestInjectionsOfAMeasuredLab(t *testing.T) {
	labtest.Root(t)
	p := labs.Plan(t, disturbedLab)
	right, err := BeginMeasurement(t.Context(), "tbdisturb", []*plan.Plan{p})
	if err != nil {
		t.Fatal(err)
	}
	lab, err := Up(t.Context(), UpOptions{Plan: p, Measurement: right})
	if err != nil {
		t.Fatal(errors.Join(err, right.End()))
	}
	defer func() {
		if err := errors.Join(lab.Down(context.Background()), right.End()); err != nil {
			t.Error(err)
		}
	}()
	var begin, end unix.Timespec
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(unix.ClockGettime(unix.CLOCK_MONOTONIC, &begin))
	var list []disturb.Injection
	for until := time.Now().Add(20 * time.Second); len(list) == 0 && time.Now().Before(until); {
		time.Sleep(50 * time.Millisecond)
		check(unix.ClockGettime(unix.CLOCK_MONOTONIC, &end))
		list, err = disturb.TakeInjections(lab.Lab, "others", begin.Nano(), end.Nano())
		check(err)
	}
	if len(list) == 0 {
		t.Fatal("none is known")
	}
	for _, i := range list {
		if i.EndNs <= begin.Nano() || i.BeginNs >= end.Nano() || i.BusyNs < 100_000 || i.Events != 1 {
			t.Errorf("between %d and %d: %+v", begin.Nano(), end.Nano(), i)
		}
	}
	if again, err := disturb.TakeInjections(lab.Lab, "others", begin.Nano(), end.Nano()); err != nil || len(again) > 1 {
		t.Errorf("they are told again: %v, %v", again, err) // one may have ended only now
	}
}

func TestDisturberThatTheHostRefuses(t *testing.T) {
	labtest.Root(t)
	p := labs.Plan(t, disturbedLab)
	p.Disturbances[0].CPU, p.Disturbances[0].Node, p.Disturbances[0].Kind = 4000, "", "spin"
	_, err := Up(t.Context(), UpOptions{Plan: p})
	var coded interface{ ExitCode() int }
	if !errors.As(err, &coded) || coded.ExitCode() != 3 || !strings.Contains(err.Error(), "disturb.halt") || !strings.Contains(err.Error(), "CPU 4000") {
		t.Errorf("%v", err)
	}
	if left := traces.Left(t, p.Prefix, state.Root()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

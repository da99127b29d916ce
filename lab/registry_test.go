package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestALabThatCannotBeReadIsUp: one whose plan another nines has written is no remains of a start, and goes
// only by down.
func TestALabThatCannotBeReadIsUp(t *testing.T) {
	labtest.Root(t)
	const text = "name: tbforeign\ntopology: {nodes: {a: {}}}\n"
	lab := up(t, text)
	if err := os.WriteFile(lab.State().Plan(), []byte(`{"nodes": 7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	status := statusOf(lab.Name())
	if status.Condition != ConditionUp || len(status.Faults) != 1 || !strings.Contains(status.Faults[0], "nines down tbforeign") {
		t.Errorf("it is listed as %+v", status)
	}
	if _, err := Up(context.Background(), UpOptions{Plan: labs.Plan(t, text)}); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "is up already") {
		t.Errorf("another of that name: %v", err)
	}
	other := labs.Plan(t, "name: tbunheard\ntopology: {nodes: {a: {}}}\n")
	other.Isolation = spec.IsolationPartition
	if err := vacant(other); err == nil || !strings.Contains(err.Error(), lab.State().Plan()) {
		t.Errorf("another that isolates: %v", err)
	}
	if !lab.Alive("a") {
		t.Error("its node has ended")
	}
	if _, err := Down(context.Background(), lab.Name()); err != nil {
		t.Error(err)
	}
}

// TestOthersDoNotWaitForAHostTeardown: what a killed nines left is undone by the next up of the same name,
// or by the next measurement, and its host_teardown may take minutes. Meanwhile other labs come and go.
func TestOthersDoNotWaitForAHostTeardown(t *testing.T) {
	const text = "name: tbslow\ntopology: {nodes: {a: {}}}\nscripts: {host_teardown: down.sh}\n"
	for what, clean := range map[string]func(*Lab, UpOptions) error{
		"up again": func(old *Lab, options UpOptions) error {
			if err := os.Remove(old.State().Settings()); err != nil { // as a killed up leaves it
				return err
			}
			_, err := Up(context.Background(), options)
			return err
		},
		"a measurement": func(old *Lab, _ UpOptions) error {
			// As a measurement leaves it that was killed before this boot.
			if err := state.WriteJSON(old.State().Measured(), state.Owner{PID: 1, BootID: "another"}); err != nil {
				return err
			}
			m, err := BeginMeasurement(context.Background(), "other.yaml", []*plan.Plan{labs.Plan(t, labs.Star("veth", 2, 1500))})
			if err != nil {
				return err
			}
			return m.End()
		},
	} {
		t.Run(what, func(t *testing.T) {
			labtest.Root(t)
			dir := t.TempDir()
			begun, end := filepath.Join(dir, "begun"), filepath.Join(dir, "end")
			options := UpOptions{Plan: labs.Plan(t, text), Experiment: []byte(text), Scripts: spec.ScriptTexts{
				"down.sh": fmt.Sprintf("touch %s\nwhile ! test -e %s; do sleep 0.05; done\n", begun, end),
			}}
			old, err := Up(context.Background(), options)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				// However the test ends, the script must.
				if err := os.WriteFile(end, nil, 0o600); err != nil {
					t.Error(err)
				}
				if _, err := Down(context.Background(), "tbslow"); err != nil && !errors.As(err, new(*state.NotFoundError)) {
					t.Error(err)
				}
			})
			done := make(chan error, 1)
			go func() { done <- clean(old, options) }()
			labtest.Eventually(t, "the host_teardown of the old lab runs", func() bool {
				_, err := os.Stat(begun)
				return err == nil
			})
			other := up(t, "name: tbquick\ntopology: {nodes: {a: {}}}\n")
			if err := other.Down(context.Background()); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-done:
				t.Errorf("the old lab was gone before its host_teardown ended: %v", err)
			default:
			}
			if err := os.WriteFile(end, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

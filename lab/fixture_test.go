package lab

import (
	"context"
	"strings"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// planOf plans an experiment for this host.
func planOf(t testing.TB, text string) *plan.Plan {
	t.Helper()
	return planOn(t, text, func(*host.Inventory) {})
}

// planOn plans for this host after change has edited its inventory.
func planOn(t testing.TB, text string, change func(*host.Inventory)) *plan.Plan {
	t.Helper()
	p, err := tryPlan(t, text, change)
	if err != nil {
		t.Fatal(err)
	}
	labtest.Named(t, p.Prefix)
	return p
}

// tryPlan is planOn for plans that may be refused.
func tryPlan(t testing.TB, text string, change func(*host.Inventory)) (*plan.Plan, error) {
	t.Helper()
	file, err := spec.Load("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	experiment, err := file.Experiment()
	if err != nil {
		t.Fatal(err)
	}
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	if inventory, err = link.WithUplinks(inventory, experiment); err != nil {
		t.Fatal(err)
	}
	change(inventory)
	return plan.Make(experiment, inventory)
}

// up brings a lab up and takes it down with the test.
func up(t testing.TB, text string) *Lab {
	t.Helper()
	lab, err := Up(context.Background(), UpOptions{Plan: planOf(t, text), Experiment: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Down(context.Background()); err != nil && !strings.Contains(err.Error(), "does not exist") {
			t.Error(err)
		}
	})
	return lab
}

// in runs a command in a node and returns what it prints.
func in(t testing.TB, lab *Lab, node string, argv ...string) string {
	t.Helper()
	cmd, err := lab.Command(context.Background(), node, argv, running.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %v: %s", node, argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

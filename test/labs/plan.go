package labs

import (
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// Plan plans an experiment for this host.
func Plan(t testing.TB, text string) *plan.Plan {
	t.Helper()
	return PlanOn(t, text, func(*host.Inventory) {})
}

// PlanOn plans for this host after change has edited its inventory.
func PlanOn(t testing.TB, text string, change func(*host.Inventory)) *plan.Plan {
	t.Helper()
	p, err := TryPlan(t, text, change)
	if err != nil {
		t.Fatal(err)
	}
	labtest.Named(t, p.Prefix)
	return p
}

// Change plans the change of a running lab, on this host.
func Change(t testing.TB, running *plan.Plan, text string) *plan.Plan {
	t.Helper()
	p, err := tryChange(t, running, text, func(*host.Inventory) {})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TryPlan is PlanOn for plans that may be refused.
func TryPlan(t testing.TB, text string, change func(*host.Inventory)) (*plan.Plan, error) {
	t.Helper()
	return tryChange(t, nil, text, change)
}

func tryChange(t testing.TB, running *plan.Plan, text string, change func(*host.Inventory)) (*plan.Plan, error) {
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
	return plan.Change(running, experiment, inventory)
}

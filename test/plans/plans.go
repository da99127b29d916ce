// Package plans makes plans for pure tests, on a machine that need not be there.
package plans

import (
	"os"
	"path/filepath"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// Of plans an experiment for a machine of the virtual laboratory.
func Of(t testing.TB, text string) *plan.Plan {
	t.Helper()
	file, err := spec.Load("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	experiment, err := file.Experiment()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(labtest.Module(), "host", "testdata", "hosts", "laboratory.json"))
	if err != nil {
		t.Fatal(err)
	}
	inventory, err := host.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Make(experiment, inventory)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

package lab

import (
	"os"
	"testing"

	"nines.dev/nines/plan"
)

// TestOnlyTheOwnerReadsWhatALabKeeps: the plan and the experiment have the env of nodes.
func TestOnlyTheOwnerReadsWhatALabKeeps(t *testing.T) {
	s := state{t.TempDir()}
	if err := s.writePlan(&plan.Plan{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(s.experiment(), []byte("name: x\n")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{s.plan(), s.experiment()} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %v", path, mode)
		}
	}
}

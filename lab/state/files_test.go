package state

import (
	"os"
	"testing"

	"nines.dev/nines/plan"
)

// TestOnlyTheOwnerReadsWhatALabKeeps: the plan and the experiment have the env of nodes.
func TestOnlyTheOwnerReadsWhatALabKeeps(t *testing.T) {
	s := Folder{t.TempDir()}
	if err := s.WritePlan(&plan.Plan{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(s.Experiment(), []byte("name: x\n")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{s.Plan(), s.Experiment()} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %v", path, mode)
		}
	}
}

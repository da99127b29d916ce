package watch

import (
	"errors"
	"os"
	"testing"

	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// TestAWaitEndsWithTheLabsJournal: one that cannot be read, as of a lab that is being removed, is an
// error of the wait. It is pure.
func TestAWaitEndsWithTheLabsJournal(t *testing.T) {
	l := running.New(state.Folder{Dir: t.TempDir()}, &plan.Plan{Nodes: []plan.Node{{Name: "a", Restart: spec.RestartAlways}}})
	if err := os.Mkdir(l.State().Journal(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := watcherEnded(l); err == nil || errors.As(err, new(check.Fault)) {
		t.Errorf("a journal that cannot be read is told as %v", err)
	}
}

package engine

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// TestAnEngineThatDoesNotAnswer: the error names how long nines waited, and what the engine wrote.
func TestAnEngineThatDoesNotAnswer(t *testing.T) {
	l := running.New(state.Folder{Dir: t.TempDir()}, &plan.Plan{})
	for _, folder := range []string{filepath.Dir(l.EngineSocket("b")), filepath.Dir(l.EngineLog("b"))} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(l.EngineLog("b"), []byte("EAL: probing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", l.EngineSocket("b")) // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	engine, err := proc.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	err = (Maker{Lab: l}).serve(context.Background(), plan.Node{Name: "b"}, engine, 50*time.Millisecond)
	if err == nil || !strings.HasPrefix(err.Error(), "it did not answer within 50ms") || !strings.Contains(err.Error(), "it said: EAL: probing") {
		t.Errorf("the error is %v", err)
	}
}

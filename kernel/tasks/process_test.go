package tasks

import (
	"testing"

	"nines.dev/nines/kernel/proc"
)

// TestBindMovesAProcessAlone: its child keeps its CPUs, and a process that has ended is an error that tells so.
func TestBindMovesAProcessAlone(t *testing.T) {
	parent, child := sleeper(t)
	cpus := parent.CPUs[:1]
	if err := Bind(parent.ID, cpus); err != nil {
		t.Fatal(err)
	}
	if got := now(t, parent); got != cpus.String() {
		t.Errorf("the process may use the CPUs %s, want %s", got, cpus)
	}
	if got := now(t, child); got != child.CPUs.String() {
		t.Errorf("its child may use the CPUs %s, want %s", got, child.CPUs)
	}
	const noProcess = 1 << 22 // PID_MAX_LIMIT, include/linux/threads.h: no process has it
	if err := Bind(noProcess, cpus); !proc.IsGone(err) {
		t.Errorf("a process that has ended: %v", err)
	}
}

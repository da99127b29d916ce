package main

import (
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/vm/vlab"
)

// TestVlabCopiesAreLookedAtFirst: a missing file to copy makes a wrong call, reported before
// anything is made.
func TestVlabCopiesAreLookedAtFirst(t *testing.T) {
	there := t.TempDir()
	flags := laboratoryFlags{kernel: "debian", cgroup: "v2", memoryMiB: vlab.DefaultMemoryMiB, copy: []string{there}}
	if err := flags.check(); err != nil {
		t.Errorf("a folder that is there: %v", err)
	}
	flags.copy = append(flags.copy, filepath.Join(there, "nothing"))
	if err := flags.check(); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("one that is not: %v", err)
	}
}

package vm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
)

// fakeQEMU puts a program with QEMU's name first into PATH. test/vm starts the real one.
func fakeQEMU(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), Program)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(path)+":"+os.Getenv("PATH"))
	return path
}

const says = `[ "$1" = --version ] && { echo "QEMU emulator version %s (Debian)"; exit 0; }` + "\n"

func TestAnOldQEMUIsRefused(t *testing.T) {
	path := fakeQEMU(t, fmt.Sprintf(says, "7.2.11"))
	_, err := FindProgram()
	if exit.Code(err) != exit.Lacks || !strings.Contains(err.Error(), path+" is QEMU 7.2.11, and virtual machines need 9.0") || !strings.Contains(err.Error(), "make setup-vm") {
		t.Errorf("got %v", err)
	}
	path = fakeQEMU(t, fmt.Sprintf(says, "10.0.2"))
	if found, err := FindProgram(); found != path || err != nil {
		t.Errorf("got %q, %v", found, err)
	}
	fakeQEMU(t, "exit 127")
	if _, err := FindProgram(); exit.Code(err) != exit.Lacks || !strings.Contains(err.Error(), "exit status 127") {
		t.Errorf("of one that does not start: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := FindProgram(); !errors.Is(err, ErrNoQEMU) {
		t.Errorf("without any: %v", err)
	}
}

func TestAMachineTellsTheSignalThatEndedIt(t *testing.T) {
	fakeQEMU(t, fmt.Sprintf(says, "10.0.2")+"echo about to fail >&2; kill -SEGV $$\n")
	dir := t.TempDir()
	kernel := filepath.Join(dir, "kernel")
	if err := os.WriteFile(kernel, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Config{Dir: dir, Kernel: kernel, Accelerator: TCG, Memory: Memory{MiB: 512}})
	var died *DiedError
	if !errors.As(err, &died) || !strings.Contains(err.Error(), "segmentation fault") || !strings.Contains(err.Error(), "about to fail") {
		t.Errorf("got %v", err)
	}
}

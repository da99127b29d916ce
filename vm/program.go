package vm

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/vm/qemuversion"
)

// Program is QEMU's program.
const Program = "qemu-system-x86_64"

// ErrNoQEMU says that the host has no QEMU.
var ErrNoQEMU = exit.Lacksf("virtual machines need %s: %s", Program, qemuversion.Remedy)

// versionPatience is how long QEMU may take to print its version.
const versionPatience = 20 * time.Second

// checked are the programs that are new enough, by path: each is asked once.
var checked sync.Map

// FindProgram finds QEMU, and refuses one that is too old.
func FindProgram() (string, error) {
	program, err := exec.LookPath(Program)
	if err != nil {
		return "", ErrNoQEMU
	}
	if _, done := checked.Load(program); done {
		return program, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionPatience)
	defer cancel()
	output, err := exec.CommandContext(ctx, program, "--version").Output()
	switch {
	case exit.IsExhausted(err):
		return "", fmt.Errorf("%s --version: %w", program, err)
	case err != nil:
		return "", exit.With(exit.Lacks, fmt.Errorf("%s --version: %w; %s", program, err, qemuversion.Remedy))
	}
	version, works, err := qemuversion.Of(string(output))
	if err != nil {
		return "", exit.With(exit.Lacks, fmt.Errorf("%s: %w; %s", program, err, qemuversion.Remedy))
	}
	if !works {
		return "", exit.Lacksf("%s is QEMU %s, and virtual machines need %s or newer: %s", program, version, qemuversion.Oldest, qemuversion.Remedy)
	}
	checked.Store(program, true)
	return program, nil
}

package node

import (
	"context"
	"fmt"
	"math/big"
	"os/exec"

	"golang.org/x/sys/unix"

	"nines.dev/nines/plan"
)

// guestCommand is a command that runs in the guest of a node: nines-node represents it on the host,
// with its input, output and exit code, as nines-init does for other nodes. file is the machine's
// file. The entry's CPUs are the plan's; taskset gets the guest's own numbers.
func guestCommand(ctx context.Context, program, file string, n plan.Node, e Entry) *exec.Cmd {
	arguments := []string{"enter", "--machine", file}
	if e.InGroup {
		arguments = append(arguments, "--group")
	}
	if e.Dir != "" {
		arguments = append(arguments, "--dir", e.Dir)
	}
	for _, list := range [][]string{baseEnv, e.Env} {
		for _, word := range list {
			arguments = append(arguments, "--env", word)
		}
	}
	arguments = append(arguments, "--")
	if cpus := n.GuestCPUs(e.CPUs); n.VM.Pinned && len(cpus) > 0 && len(cpus) < n.VM.VCPUs {
		arguments = append(arguments, "taskset", CPUMask(cpus))
	}
	cmd := exec.CommandContext(ctx, program, append(arguments, e.Argv...)...)
	cmd.Env = append(append([]string{}, baseEnv...), e.Env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = KillDelay
	return cmd
}

// CPUMask is a set of CPUs as a hexadecimal number.
func CPUMask(cpus []int) string {
	mask := new(big.Int)
	for _, cpu := range cpus {
		mask.SetBit(mask, cpu, 1)
	}
	return fmt.Sprintf("0x%x", mask)
}

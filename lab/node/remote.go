package node

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/plan"
)

// Remote is a runtime of nodes on a cluster. Addresses are known when a node runs (Place.Pod), and
// its app's engine is a process there, which a process here stands for.
type Remote interface {
	Runtime
	// ServeEngine makes the command of a process that starts the engine in the node, serves its
	// control socket at a path of this host, and ends when the engine does.
	ServeEngine(p Place, n plan.Node, socket string) (*exec.Cmd, error)
}

// RemoteOf is the runtime of a node on a cluster; nil for others.
func RemoteOf(n plan.Node) Remote {
	r, _ := RuntimeOf(n).(Remote)
	return r
}

// Spawn starts a process of the host that outlives its starter, with a token in its environment and
// its output going to log.
func Spawn(cmd *exec.Cmd, token string, log *os.File) (proc.Identity, error) {
	cmd.Env = append(os.Environ(), "NINES_TOKEN="+token)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // else a Ctrl-C would end it
	if err := cmd.Start(); err != nil {
		return proc.Identity{}, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	id, err := proc.Of(cmd.Process.Pid)
	if err != nil {
		return proc.Identity{}, err
	}
	// It belongs to the journal; nines does not wait for it.
	return id, cmd.Process.Release()
}

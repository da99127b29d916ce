package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/spec"
)

// Entry says how a command is run in a node.
type Entry struct {
	Argv []string
	// Env is added to the base environment, in order; later ones win.
	Env []string
	// Dir is the working folder in the node; empty is /.
	Dir string
	// CPUs the command may use; nil: all that its control group allows.
	CPUs []int
	// Scheduling is the policy that it starts with; nil: the starter's.
	Scheduling *spec.Scheduling
	// Files are open in the command, from descriptor 3 on.
	Files []*os.File
	// Detach lets the command outlive its starter; its process id is printed.
	Detach string
	// Engine is set for nines' engine: it has the rights that it needs, and is the program of the host,
	// whatever the node has in its place.
	Engine bool
	// User runs it, by the node's own files; empty is root.
	User string
	// InGroup is set where signals go to the whole process group, so that none is to be forwarded.
	InGroup bool
	// walls are options of nines-init.
	walls []string
}

// BasePath is where commands in a node are looked for.
const BasePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/nines"

// baseEnv is a command's environment, independent of the caller's, so that a lab behaves the same
// for all users.
var baseEnv = []string{
	"PATH=" + BasePath,
	"HOME=/root",
	"LANG=C.UTF-8",
}

// KillDelay is the time between SIGTERM and SIGKILL for a cancelled command.
const KillDelay = 2 * time.Second

// Enter makes a command that runs inside the node: in its control groups, all its namespaces, its
// root file system. Signals sent to it reach the command, and its exit code is the command's; when
// ctx ends it gets SIGTERM. The caller may also execve(cmd.Path, cmd.Args, cmd.Env).
func (r *Running) Enter(ctx context.Context, initPath string, e Entry) (*exec.Cmd, error) {
	if len(e.Argv) == 0 {
		return nil, fmt.Errorf("node %q: no command given", r.Name)
	}
	if !r.Alive() {
		why := "no process runs in it"
		if r.PID != 0 {
			why = fmt.Sprintf("its first process, %d, has ended", r.PID)
		}
		return nil, r.gone(why)
	}
	arguments := []string{
		"enter", "--pid", strconv.Itoa(r.PID), "--start", strconv.FormatUint(r.StartTicks, 10),
	}
	groups, err := cgroupsOf(r.PID)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", r.Name, err)
	}
	if e.Scheduling != nil && e.Scheduling.Policy.RealTime() {
		if groups, err = withRealTime(groups); err != nil {
			return nil, fmt.Errorf("node %q: %w", r.Name, err)
		}
	}
	for _, group := range groups {
		arguments = append(arguments, "--cgroup", filepath.Join(group, "cgroup.procs"))
	}
	if len(e.CPUs) > 0 {
		arguments = append(arguments, "--cpus", cpulist.Format(e.CPUs))
	}
	if e.Dir != "" {
		arguments = append(arguments, "--dir", e.Dir)
	}
	if e.Scheduling != nil {
		arguments = append(arguments, "--scheduling", schedulingOption(e.Scheduling))
	}
	if e.Detach != "" {
		arguments = append(arguments, "--detach", e.Detach)
	}
	home := ""
	if e.User != "" {
		option := ""
		if option, home, err = r.userOption(e.User); err != nil {
			return nil, fmt.Errorf("node %q: %w", r.Name, err)
		}
		arguments = append(arguments, "--user", option)
	}
	arguments = append(arguments, e.walls...)
	if e.InGroup {
		arguments = append(arguments, "--signals", "group")
	}
	arguments = append(append(arguments, "--"), e.Argv...)
	cmd := exec.CommandContext(ctx, initPath, arguments...)
	cmd.Env = slices.Clone(baseEnv)
	if home != "" {
		cmd.Env = append(cmd.Env, "HOME="+home)
	}
	cmd.Env = append(cmd.Env, e.Env...)
	if r.Token != "" {
		cmd.Env = append(cmd.Env, tokenVariable+"="+r.Token)
	}
	cmd.ExtraFiles = e.Files
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = KillDelay
	return cmd, nil
}

// cgroupsOf lists the control group directories of a process that differ from ours: those that a
// command has to join.
func cgroupsOf(pid int) ([]string, error) {
	theirs, err := cgroup.DirsOf(pid)
	if err != nil {
		return nil, err
	}
	ours, err := cgroup.DirsOf(os.Getpid())
	if err != nil {
		return nil, err
	}
	var dirs []string
	for mount, dir := range theirs {
		if ours[mount] != dir {
			dirs = append(dirs, workloadGroup(dir))
		}
	}
	sort.Strings(dirs)
	return dirs, nil
}

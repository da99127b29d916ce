package node

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/testbed/host"
)

// Entry says how a command is run in a node.
type Entry struct {
	Argv []string
	// Env is added to the base environment, in order; later ones win.
	Env []string
	// Dir is the working folder in the node; empty is /.
	Dir string
	// CPUs the command may use; nil leaves what its control group allows.
	CPUs []int
	// Detach lets the command outlive its starter; its process id is printed.
	Detach string
}

// baseEnv is what a command has whatever the caller's environment is, so that a
// lab behaves alike for everybody.
var baseEnv = []string{
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/nines",
	"HOME=/root",
	"LANG=C.UTF-8",
}

// killDelay is what a cancelled command has between SIGTERM and SIGKILL.
const killDelay = 2 * time.Second

// Enter makes a command that runs inside the node: in its control groups, all its
// namespaces, its root file system. Signals sent to it reach the command, and its
// exit code is the command's; when ctx ends it gets SIGTERM. It can be replaced by
// execve(cmd.Path, cmd.Args, cmd.Env) too.
func (r *Running) Enter(ctx context.Context, initPath string, e Entry) (*exec.Cmd, error) {
	if len(e.Argv) == 0 {
		return nil, fmt.Errorf("node %q: no command given", r.Name)
	}
	if !r.Alive() {
		return nil, fmt.Errorf("node %q is dead: its first process, %d, has ended; nines down and up make it anew",
			r.Name, r.PID)
	}
	arguments := []string{
		"enter", "--pid", strconv.Itoa(r.PID), "--start", strconv.FormatUint(r.StartTicks, 10),
	}
	groups, err := cgroupsOf(r.PID)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", r.Name, err)
	}
	for _, group := range groups {
		arguments = append(arguments, "--cgroup", filepath.Join(group, "cgroup.procs"))
	}
	if len(e.CPUs) > 0 {
		arguments = append(arguments, "--cpus", host.FormatCPUList(e.CPUs))
	}
	if e.Dir != "" {
		arguments = append(arguments, "--dir", e.Dir)
	}
	if e.Detach != "" {
		arguments = append(arguments, "--detach", e.Detach)
	}
	arguments = append(append(arguments, "--"), e.Argv...)
	cmd := exec.CommandContext(ctx, initPath, arguments...)
	cmd.Env = append(append([]string{}, baseEnv...), e.Env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = killDelay
	return cmd, nil
}

// cgroupsOf lists the control group directories of a process that differ from
// ours, so the ones that a command has to join.
func cgroupsOf(pid int) ([]string, error) {
	theirs, err := cgroupPaths(strconv.Itoa(pid))
	if err != nil {
		return nil, err
	}
	ours, err := cgroupPaths("self")
	if err != nil {
		return nil, err
	}
	mounts, err := cgroupMounts()
	if err != nil {
		return nil, err
	}
	var dirs []string
	for controllers, path := range theirs {
		if mount, ok := mounts[controllers]; ok && ours[controllers] != path {
			dirs = append(dirs, filepath.Join(mount, path))
		}
	}
	sort.Strings(dirs)
	return dirs, nil
}

// cgroupPaths reads /proc/PID/cgroup: "4:memory:/path", "0::/path"; cgroups(7).
func cgroupPaths(pid string) (map[string]string, error) {
	text, err := os.ReadFile("/proc/" + pid + "/cgroup")
	if err != nil {
		return nil, fmt.Errorf("read control groups: %w", err)
	}
	paths := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 {
			paths[parts[1]] = parts[2]
		}
	}
	return paths, nil
}

// cgroupMounts maps the controllers, as in /proc/PID/cgroup, to mount points.
func cgroupMounts() (map[string]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	mounts := map[string]string{}
	for line := range bytes.Lines(text) {
		before, after, _ := strings.Cut(string(line), " - ")
		point, kind := strings.Fields(before), strings.Fields(after)
		if len(point) < 5 || len(kind) < 3 {
			continue
		}
		switch kind[0] {
		case "cgroup2":
			mounts[""] = point[4]
		case "cgroup":
			mounts[controllersOf(kind[2])] = point[4]
		}
	}
	return mounts, nil
}

// controllersOf leaves out the mount options that are no controllers.
func controllersOf(options string) string {
	var controllers []string
	for _, option := range strings.Split(options, ",") {
		switch {
		case option == "rw", option == "ro", option == "xattr", option == "noprefix",
			option == "clone_children", strings.HasPrefix(option, "release_agent="):
		default:
			controllers = append(controllers, option)
		}
	}
	return strings.Join(controllers, ",")
}

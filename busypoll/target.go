package busypoll

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/netns"
)

// ErrNoContainer says that no runtime knows the container.
var ErrNoContainer = errors.New("no container of that name runs")

// containerRuntime asks one container runtime for a container's first process. It runs the
// runtime's program directly, without a shell.
type containerRuntime struct {
	name    string
	program string
	ask     func(container string) []string
}

var runtimes = []containerRuntime{
	{"docker", "docker", func(c string) []string {
		return []string{"inspect", "--type", "container", "--format", "{{.State.Pid}}", c}
	}},
	{"podman", "podman", func(c string) []string {
		return []string{"inspect", "--type", "container", "--format", "{{.State.Pid}}", c}
	}},
	{"lxc", "lxc-info", func(c string) []string { return []string{"--name", c, "--pid", "--no-humanize"} }},
	{"crictl", "crictl", func(c string) []string {
		return []string{"inspect", "--output", "go-template", "--template", "{{.info.pid}}", c}
	}},
}

// ContainerPID asks the installed container runtimes for the first process of the container
// with a name or ID, "web". A prefix selects one runtime: "docker:web", "podman:", "lxc:"
// or "crictl:".
func ContainerPID(ctx context.Context, container string) (int, error) {
	wanted, name, one := strings.Cut(container, ":")
	if !one {
		wanted, name = "", container
	}
	if name == "" || strings.HasPrefix(name, "-") {
		return 0, exit.Wrongf("%q is not a container's name; write NAME, or RUNTIME:NAME such as docker:web", container)
	}
	if one && !slices.ContainsFunc(runtimes, func(r containerRuntime) bool { return r.name == wanted }) {
		return 0, exit.Wrongf("%q: unknown container runtime %q; allowed: docker, podman, lxc, crictl", container, wanted)
	}
	var asked []string
	for _, r := range runtimes {
		if one && r.name != wanted {
			continue
		}
		path, err := exec.LookPath(r.program)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, path, r.ask(name)...).Output()
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if pid, wrong := strconv.Atoi(strings.TrimSpace(string(out))); err == nil && wrong == nil && pid > 0 {
			return pid, nil
		}
		asked = append(asked, r.name+said(err))
	}
	if len(asked) == 0 {
		return 0, &exit.MissingError{
			Capability: "container runtime", Reason: "none of docker, podman, lxc-info and crictl is in PATH" + only(wanted),
			Remedy: "name the container's first process by --pid, or its network namespace by --netns",
		}
	}
	return 0, exit.Wrongf("container %q: %w; asked: %s; name a process in it by --pid", name, ErrNoContainer, strings.Join(asked, ", "))
}

// said is a runtime's message on standard error, in brackets: that it does not know the
// container, or why it cannot tell.
func said(err error) string {
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) {
		return ""
	}
	text := strings.Join(strings.Fields(string(exit.Stderr)), " ")
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func only(wanted string) string {
	if wanted == "" {
		return ""
	}
	return " that is " + wanted
}

// NamespacePath is the path of a network namespace that a user names by a path, or by a
// name of ip-netns(8).
func NamespacePath(name string) (string, error) {
	if strings.Contains(name, "/") {
		return filepath.Abs(name)
	}
	if name == "" || name == "." || name == ".." {
		return "", fmt.Errorf("%q is not a name of a network namespace", name)
	}
	return filepath.Join(netns.Dir, name), nil
}

// OpenNamespace opens the network namespace at a path from NamespacePath or PathOfPID.
func OpenNamespace(path string) (*netns.Namespace, error) {
	ns, err := netns.Open(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return ns, err
	}
	dir, name := filepath.Split(path)
	if process, found := strings.CutSuffix(path, "/ns/net"); found && strings.HasPrefix(path, "/proc/") {
		return nil, exit.Wrongf("process %s does not exist; name one that runs in the container", filepath.Base(process))
	}
	if filepath.Clean(dir) != netns.Dir {
		return nil, exit.Wrongf("network namespace %s does not exist", path)
	}
	names := []string{}
	entries, _ := os.ReadDir(netns.Dir) // the folder is missing before the first name
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if len(names) == 0 {
		return nil, exit.Wrongf("network namespace %q does not exist, and 'ip netns' lists no other; name a process in it by --pid", name)
	}
	return nil, exit.Wrongf("network namespace %q does not exist; the named ones are %s; if it has no name, name a process in it by --pid", name, strings.Join(names, ", "))
}

// PathOfPID is the path of a process's network namespace.
func PathOfPID(pid int) string { return filepath.Join("/proc", strconv.Itoa(pid), "ns/net") }

package busypoll

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"nines.dev/nines/testbed/host"
)

// ErrNoContainer is a container that none of the runtimes knows.
var ErrNoContainer = errors.New("no container of that name runs")

// containerRuntime asks one container runtime for the first process of a container. All of them
// are asked by an argument list, without a shell.
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

// ContainerPID asks the container runtimes that are installed for the first process of a
// container, of the name or id "web", or of one runtime only: "docker:web", "podman:",
// "lxc:" or "crictl:".
func ContainerPID(ctx context.Context, container string) (int, error) {
	wanted, name, one := strings.Cut(container, ":")
	if !one {
		wanted, name = "", container
	}
	if name == "" || strings.HasPrefix(name, "-") {
		return 0, fmt.Errorf("%q is no container's name", container)
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
		asked = append(asked, r.name)
		out, err := exec.CommandContext(ctx, path, r.ask(name)...).Output()
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if pid, wrong := strconv.Atoi(strings.TrimSpace(string(out))); err == nil && wrong == nil && pid > 0 {
			return pid, nil
		}
	}
	if len(asked) == 0 {
		return 0, &host.MissingError{
			Capability: "container runtime", Reason: "there is none of docker, podman, lxc-info and crictl in PATH" + only(wanted),
			Remedy: "name the container's first process by --pid, or its network namespace by --netns",
		}
	}
	return 0, fmt.Errorf("container %q: %w; asked: %s", name, ErrNoContainer, strings.Join(asked, ", "))
}

func only(wanted string) string {
	if wanted == "" {
		return ""
	}
	return " that is " + wanted
}

// NamespacePath is the path of a network namespace that a user names: a path, or a name
// of ip-netns(8).
func NamespacePath(name string) (string, error) {
	if strings.Contains(name, "/") {
		return filepath.Abs(name)
	}
	if name == "" || name == "." || name == ".." {
		return "", fmt.Errorf("%q is no name of a network namespace", name)
	}
	return filepath.Join("/run/netns", name), nil
}

// PathOfPID is the path of a process's network namespace.
func PathOfPID(pid int) string { return filepath.Join("/proc", strconv.Itoa(pid), "ns/net") }

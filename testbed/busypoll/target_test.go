package busypoll

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"nines.dev/nines/testbed/host"
)

// runtimesWith puts programs of these names, which are shell scripts, alone into PATH.
func runtimesWith(t *testing.T, scripts map[string]string) {
	dir := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

func TestContainersAreAskedFor(t *testing.T) {
	// Each says no but to the arguments that it has to get.
	runtimesWith(t, map[string]string{
		"docker":   `[ "$*" = "inspect --type container --format {{.State.Pid}} web" ] && echo 41 || { echo no such container >&2; exit 1; }`,
		"lxc-info": `[ "$*" = "--name db --pid --no-humanize" ] && echo 42 || exit 1`,
		"crictl":   `[ "$*" = "inspect --output go-template --template {{.info.pid}} web" ] && echo 43 || exit 1`,
	})
	for name, want := range map[string]int{"web": 41, "docker:web": 41, "db": 42, "lxc:db": 42, "crictl:web": 43} {
		if pid, err := ContainerPID(context.Background(), name); pid != want || err != nil {
			t.Errorf("%s: %d, %v", name, pid, err)
		}
	}
	for _, name := range []string{"mail", "lxc:web", "docker:$(reboot)"} {
		if pid, err := ContainerPID(context.Background(), name); !errors.Is(err, ErrNoContainer) {
			t.Errorf("%s: %d, %v", name, pid, err)
		}
	}
	for _, name := range []string{"", "-f", "docker:", "docker:--help"} {
		if pid, err := ContainerPID(context.Background(), name); err == nil || errors.Is(err, ErrNoContainer) {
			t.Errorf("%q: %d, %v", name, pid, err)
		}
	}
}

// A container that is stopped has process 0.
func TestAStoppedContainerDoesNotRun(t *testing.T) {
	runtimesWith(t, map[string]string{"docker": "echo 0"})
	if pid, err := ContainerPID(context.Background(), "web"); !errors.Is(err, ErrNoContainer) {
		t.Errorf("%d, %v", pid, err)
	}
}

func TestAHostWithoutRuntimesSaysSo(t *testing.T) {
	runtimesWith(t, nil)
	if _, err := ContainerPID(context.Background(), "web"); !errors.As(err, new(*host.MissingError)) {
		t.Error(err)
	}
}

func TestNamespacesAreNamedByNameOrPath(t *testing.T) {
	for name, want := range map[string]string{"blue": "/run/netns/blue", "/proc/7/ns/net": "/proc/7/ns/net"} {
		if path, err := NamespacePath(name); path != want || err != nil {
			t.Errorf("%s: %s, %v", name, path, err)
		}
	}
	if path, err := NamespacePath(".."); err == nil {
		t.Errorf("..: %s", path)
	}
}

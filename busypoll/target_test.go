package busypoll

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/exit"
)

// runtimesWith makes PATH contain only these programs, which are shell scripts.
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
	// Each fails unless it gets exactly these arguments.
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
	for _, name := range []string{"", "-f", "docker:", "docker:--help", "dokcer:web"} {
		if pid, err := ContainerPID(context.Background(), name); !wrongCall(err) || errors.Is(err, ErrNoContainer) {
			t.Errorf("%q: %d, %v", name, pid, err)
		}
	}
}

// wrongCall is true for errors with the exit code of a wrong call.
func wrongCall(err error) bool {
	return exit.Code(err) == exit.Wrong
}

// A runtime without its daemon does not know the container, and says why.
func TestWhatARuntimeSaysIsTold(t *testing.T) {
	runtimesWith(t, map[string]string{"docker": "echo Cannot connect to the daemon >&2; exit 1", "lxc-info": "exit 1"})
	_, err := ContainerPID(context.Background(), "web")
	if !wrongCall(err) || !strings.Contains(err.Error(), "asked: docker (Cannot connect to the daemon), lxc;") {
		t.Error(err)
	}
}

func TestANamespaceThatIsNotThereIsToldWithTheOthers(t *testing.T) {
	for path, words := range map[string]string{
		"/run/netns/nines-nosuch": `network namespace "nines-nosuch" does not exist`,
		"/proc/99999999/ns/net":   "process 99999999 does not exist",
		"/nowhere/blue":           "network namespace /nowhere/blue does not exist",
	} {
		if _, err := OpenNamespace(path); !wrongCall(err) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", path, err)
		}
	}
	ns, err := OpenNamespace("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	_ = ns.Close()
}

func TestInterfacesAreSelected(t *testing.T) {
	link := func(name string, flags net.Flags) netlink.Link {
		return &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name, Flags: flags}}
	}
	lo := &netlink.Device{LinkAttrs: netlink.LinkAttrs{Name: "lo", Flags: net.FlagUp | net.FlagLoopback}}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0", Flags: net.FlagUp}}
	all := []netlink.Link{lo, bridge, link("eth0", net.FlagUp), link("eth1", 0)}
	for _, c := range []struct {
		all   []netlink.Link
		names []string
		want  string
		words string
	}{
		{all, nil, "eth0", ""},
		{all, []string{"eth0"}, "eth0", ""},
		{all, []string{"nope"}, "", `interface "nope" does not exist; the interfaces are lo, br0, eth0, eth1 (down)`},
		{all, []string{"lo"}, "", "is the loopback"},
		{all, []string{"eth0", "eth1"}, "", "ip link set eth1 up"},
		{[]netlink.Link{lo, link("eth1", 0)}, nil, "", "its interfaces: lo, eth1 (down)"},
	} {
		links, err := selectLinks(c.all, c.names)
		var names []string
		for _, l := range links {
			names = append(names, l.Attrs().Name)
		}
		if strings.Join(names, " ") != c.want || (err != nil) != (c.words != "") || err != nil && (!wrongCall(err) || !strings.Contains(err.Error(), c.words)) {
			t.Errorf("%q: %q, %v", c.names, names, err)
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
	if _, err := ContainerPID(context.Background(), "web"); !errors.As(err, new(*exit.MissingError)) {
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

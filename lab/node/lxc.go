package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/plan"
)

// lxcRuntime starts LXC system containers, with nines-init or systemd as pid 1. LXC makes the
// control groups.
type lxcRuntime struct{ Process }

func (lxcRuntime) StartStep(plan.Node) string {
	return "make a root file system and start an LXC container in that network"
}

// Check checks that the LXC tools are installed.
func (lxcRuntime) Check(n plan.Node) error {
	for _, tool := range []string{lxcStarter, "lxc-info"} {
		if _, err := exec.LookPath(tool); err != nil {
			return &exit.MissingError{
				Capability: host.FeatureLXC, Reason: "there is no " + tool,
				Remedy: "apt-get install lxc busybox-static, or use runtime: netns",
			}
		}
	}
	if n.Image != nil {
		if err := checkImage(n); err != nil {
			return err
		}
	}
	return checkInit(n)
}

// checkAgain wants the image only if what the node was made of is gone.
func (r lxcRuntime) checkAgain(p Place, n plan.Node) error {
	if n.Image == nil {
		return r.Check(n)
	}
	if of, err := readImage(p.lxcImageFile(n)); err != nil || !isDir(of.Root) {
		return r.Check(n)
	}
	return checkInit(n)
}

func checkInit(n plan.Node) error {
	if !UsesSystemd(n) {
		return nil
	}
	_, err := checkSystemd()
	return err
}

func (lxcRuntime) Seen(Files) Files {
	return Files{
		Engine: containerEngine, Sockets: containerSockets,
		ScriptCommand: containerScriptCommand, Scripts: containerScripts,
	}
}

// groups are the control groups of a container, relative to the hierarchies' roots.
type groups struct {
	// container is the group of the container's processes, monitor that of LXC's monitor process.
	container, monitor string
	// limits are written to the container's group, in order.
	limits []isolate.VersionedLimit
}

func (p Place) containerGroups(n plan.Node) (groups, error) {
	limits, err := isolate.NodeLimits(p.Plan, n)
	return groups{
		container: filepath.Join(isolate.Parent(p.Plan, n), n.HostName),
		monitor:   filepath.Join(isolate.MonitorParent(p.Plan), n.HostName+".monitor"),
		limits:    limits,
	}, err
}

// lxcPath is LXC's folder of containers in a lab. It occurs in the arguments of the LXC tools and
// monitors of this lab.
func (p Place) lxcPath() string { return filepath.Join(p.StateDir, containersFolder) }

// KindContainer is an LXC container: Path is its LXC path, Name its name. The undo ends its init
// and its monitor.
var KindContainer = process.Register("container", process.Traits{More: true, Monitor: func(e journal.Entry, id proc.Identity) (bool, error) {
	return isMonitor(id, e.Path, e.Name)
}})

// isMonitor is true for LXC's monitor of a container: a child of lxc-start, which gives itself a title if
// it may (do_lxcapi_start in LXC's lxccontainer.c). Others that name the container, such as a user's
// lxc-attach, are not ours to end.
func isMonitor(id proc.Identity, lxcPath, name string) (bool, error) {
	if names, err := id.HasArguments(lxcPath, name); !names || err != nil {
		return false, err
	}
	arguments, err := id.Arguments()
	if err != nil || len(arguments) > 0 && arguments[0] == fmt.Sprintf("[lxc monitor] %s %s", lxcPath, name) {
		return err == nil, err
	}
	program, err := id.Executable()
	return filepath.Base(program) == lxcStarter, err
}

const lxcStarter = "lxc-start"

func (lxcRuntime) Start(ctx context.Context, p Place, n plan.Node) (*Running, error) {
	groups, err := p.containerGroups(n)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Name, err)
	}
	root, err := p.makeRootfs(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("node %q: make its root file system: %w", n.Name, err)
	}
	if err := isolate.Reserve(p.Journal, n.Name, groups.container, groups.monitor); err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Name, err)
	}
	if err := p.noteLXCTraces(n.Name, n.HostName); err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Name, err)
	}
	token := p.Journal.Token(n.Name)
	dir := filepath.Join(p.lxcPath(), n.HostName)
	profile, err := writeProfile(WallsOf(n), dir)
	if err != nil {
		return nil, fmt.Errorf("node %q: write its seccomp profile: %w", n.Name, err)
	}
	config, err := p.lxcConfig(n, root, groups, token, profile)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Name, err)
	}
	configPath := filepath.Join(dir, "config")
	if err := os.WriteFile(configPath, []byte(config), 0o644); err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Name, err)
	}
	var systemd *net.UnixConn
	if UsesSystemd(n) {
		if systemd, err = p.listenSystemd(n); err != nil {
			return nil, fmt.Errorf("node %q: listen to its systemd: %w", n.Name, err)
		}
		defer func() { _ = systemd.Close() }() // its message was read
	}
	step, err := p.Journal.Begin(journal.Step{
		Kind: KindContainer, Node: n.Name, Path: p.lxcPath(), Name: n.HostName, Token: token,
	})
	if err != nil {
		return nil, err
	}
	id, err := p.lxcStart(ctx, n.HostName, configPath, filepath.Join(dir, "log"))
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Name, err)
	}
	running := &Running{Name: n.Name, Step: step, Identity: id}
	if p.Network != nil {
		running.Network = *p.Network
	}
	if err := p.Journal.Done(step, p.learnt(id)); err != nil || systemd == nil {
		return running, err
	}
	if err := p.awaitSystemd(ctx, running, systemd); err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Name, err)
	}
	return running, nil
}

// lxcStart runs lxc-start, which returns when the container runs, and asks for the
// container's pid 1. Go opens files close-on-exec, so LXC inherits none of ours.
func (p Place) lxcStart(ctx context.Context, name, config, log string) (proc.Identity, error) {
	start := exec.CommandContext(ctx, lxcStarter, "-P", p.lxcPath(), "-n", name, "-f", config,
		"-d", "-o", log, "-l", "ERROR")
	// Not CombinedOutput: the monitor would keep the pipe open.
	output, err := os.Create(log + ".start")
	if err != nil {
		return proc.Identity{}, err
	}
	defer output.Close()
	start.Stdout, start.Stderr = output, output
	if err := start.Run(); err != nil {
		return proc.Identity{}, fmt.Errorf("lxc-start: %w: %s", err, LastLines(log, log+".start"))
	}
	out, err := exec.CommandContext(ctx, "lxc-info", "-P", p.lxcPath(), "-n", name, "-p", "-H").Output()
	if err != nil {
		return proc.Identity{}, fmt.Errorf("lxc-info: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		return proc.Identity{}, errors.Join(errors.New("the container ended at once: "+LastLines(log)), err)
	}
	return proc.Of(pid)
}

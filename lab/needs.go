package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/bmc"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/receive"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/script/wire"
	"nines.dev/nines/spec"
)

// programs are the paths of what nines starts.
type programs struct{ init, engine, disturb, poller, nines, script string }

// Check checks, without making anything, that the host has what this package needs for a lab, and a cluster what
// its pods claim.
func Check(p *plan.Plan) error {
	if _, err := checkNeeds(p); err != nil {
		return err
	}
	if err := node.CheckClasses(p, state.Of(p.Name).Dir); err != nil {
		return err
	}
	return isolate.CheckHugepages(p)
}

// checkNeeds checks, before anything is made, that the host has what this package needs for the plan,
// and returns the paths of the programs.
func checkNeeds(p *plan.Plan) (programs, error) {
	found, err := findPrograms(p)
	if err != nil {
		return found, err
	}
	if err := isolate.Check(p); err != nil {
		return found, err
	}
	if err := link.Check(p); err != nil {
		return found, err
	}
	if err := checkManagement(p); err != nil {
		return found, err
	}
	if err := checkSockets(p); err != nil {
		return found, err
	}
	if err := bmc.Check(p); err != nil {
		return found, err
	}
	for _, n := range p.Nodes {
		if err := checkNode(n, node.RuntimeOf(n).Check); err != nil {
			return found, err
		}
	}
	return found, nil
}

// findPrograms returns the paths of the programs that the plan needs.
func findPrograms(p *plan.Plan) (programs, error) {
	var found programs
	if err := state.CheckName(p.Name); err != nil {
		return found, err
	}
	if err := checkRights(); err != nil {
		return found, err
	}
	if err := leaveCaller(); err != nil {
		return found, err
	}
	var err error
	if found.init, err = node.Program("nines-init"); err != nil {
		return found, err
	}
	if found.poller, err = receive.Check(p); err != nil {
		return found, err
	}
	needsEngine := p.Traffic != nil
	for _, n := range p.Nodes {
		needsEngine = needsEngine || n.App.Handling().HasEngine()
		if n.Scripts.Any() && found.script == "" {
			if found.script, err = node.Program(wire.Command); err != nil {
				return found, err
			}
		}
	}
	for _, l := range p.Links {
		needsEngine = needsEngine || l.HasEngine()
	}
	if len(p.Disturbances) > 0 {
		if found.disturb, err = node.Program("nines-disturb"); err != nil {
			return found, err
		}
	}
	if p.Watched() || p.Power != nil || p.HasServices() {
		if found.nines, err = node.Program("nines"); err != nil {
			return found, err
		}
	}
	found.engine, err = node.Program("nines-engine")
	if err != nil && needsEngine {
		return found, err
	}
	return found, nil
}

// checkNode checks that the host can run a node; runtime is the check of its runtime.
func checkNode(n plan.Node, runtime func(plan.Node) error) error {
	if err := checkMounts(n); err != nil {
		return err
	}
	if err := checkSysctls(n); err != nil {
		return err
	}
	if err := checkDevices(n); err != nil {
		return err
	}
	err := node.CheckScheduling(n.Scheduling)
	for _, s := range n.Services {
		if err == nil {
			err = node.CheckScheduling(s.Scheduling)
		}
	}
	if err == nil {
		err = runtime(n)
	}
	if err != nil {
		return fmt.Errorf("node %q: %w", n.Name, err)
	}
	return nil
}

// checkDevices finds devices that the host does not have.
func checkDevices(n plan.Node) error {
	if !n.Runtime.Descriptor().Takes("devices") {
		return nil
	}
	for _, path := range n.Devices {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("node %q: %w", n.Name, &exit.MissingError{
				Capability: path, Reason: "the host has no such device", Remedy: "load the kernel's module for it (tun for /dev/net/tun), or correct the node's devices",
			})
		case err != nil:
			return fmt.Errorf("node %q: %w", n.Name, err)
		case info.Mode()&fs.ModeDevice == 0:
			return exit.Wrongf("node %q: %s is no device; correct the node's devices, or list it under mounts", n.Name, path)
		}
	}
	return nil
}

// checkSysctls finds sysctls that the kernel does not have, or does not let a node have for itself: it looks into a new
// network namespace. It skips guests, which have their own kernel, and sysctls of an interface, which exist only with the
// interface.
func checkSysctls(n plan.Node) error {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(n.Sysctls)), func(name string) bool { return ofInterface.MatchString(netns.SysctlPath(name)) })
	if n.Guest() || len(names) == 0 {
		return nil
	}
	fresh, err := netns.New()
	if err != nil {
		return err
	}
	defer fresh.Close()
	return fresh.Do(func() error {
		for _, name := range names {
			path := netns.SysctlPath(name)
			info, err := os.Stat(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return exit.Wrongf("node %q: this kernel has no sysctl %s in a node's network (%s is not there); correct its name in the node's sysctls, load the kernel module that has it, or set it on the host if it is the host's",
					n.Name, name, path)
			case err == nil && info.Mode()&0o200 == 0:
				return exit.Wrongf("node %q: this kernel lets a node only read the sysctl %s; remove it from the node's sysctls, and set it on the host", n.Name, name)
			}
		}
		return nil
	})
}

// ofInterface are the sysctls below a folder of one interface.
var ofInterface = regexp.MustCompile(`^/proc/sys/net/[^/]+/(conf|neigh)/`)

// checkMounts finds impossible mounts, which the kernel would report only when the lab is built,
// and without saying which of the two paths is missing.
func checkMounts(n plan.Node) error {
	for _, m := range n.Mounts {
		_, err := os.Stat(m.Source)
		if errors.Is(err, fs.ErrNotExist) {
			return exit.Wrongf("node %q: the source of a mount, %s, is not on this host; make it, or correct the node's mounts", n.Name, m.Source)
		}
		if err != nil {
			return fmt.Errorf("node %q: the source of a mount: %w", n.Name, err)
		}
	}
	if n.Runtime.Descriptor().OwnRoot {
		return nil // nines makes the targets
	}
	for i, m := range n.Mounts {
		source, err := os.Stat(m.Source)
		if err != nil {
			return fmt.Errorf("node %q: the source of a mount: %w", n.Name, err)
		}
		target, err := os.Stat(underMounts(n.Mounts[:i], m.Target))
		if err != nil || target.IsDir() != source.IsDir() {
			kind := "file"
			if source.IsDir() {
				kind = "directory"
			}
			return exit.Wrongf("node %q: the target of a mount, %s, is no %s of this host, whose files a node of the runtime %s uses; make it, or correct the node's mounts", n.Name, m.Target, kind, n.Runtime)
		}
	}
	return nil
}

// underMounts is the host's path of what a node sees at path after its mounts.
func underMounts(mounts []spec.Mount, path string) string {
	path = filepath.Clean(path)
	for _, m := range slices.Backward(mounts) {
		below, err := filepath.Rel(m.Target, path)
		if err == nil && filepath.IsLocal(below) {
			path = filepath.Join(m.Source, below)
		}
	}
	return path
}

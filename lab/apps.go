package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"nines.dev/nines/lab/running"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// engineTimeout bounds the wait for a started engine's answers. They take some milliseconds, and more
// than 30 s on a busy emulated machine with DPDK; nines does not wait for a dead engine.
const engineTimeout = 2 * time.Minute

// sysctls writes a node's sysctls, after those that its app needs.
func (b *builder) sysctls(n plan.Node) error {
	wanted := n.AppSysctls()
	var names []string
	for name := range wanted {
		names = append(names, name)
	}
	sort.Strings(names)
	var users []string
	for name, value := range n.Sysctls {
		wanted[name] = value
		users = append(users, name)
	}
	sort.Strings(users)
	if len(wanted) == 0 {
		return nil
	}
	ns, err := b.Running(n.Name).Namespace()
	if err != nil {
		return err
	}
	defer ns.Close()
	err = ns.Do(func() error {
		for _, name := range append(names, users...) {
			if !strings.HasPrefix(netns.SysctlPath(name), "/proc/sys/net/") {
				continue
			}
			if err := netns.WriteSysctl(name, wanted[name]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("node %q: %w", n.Name, err)
	}
	return b.otherSysctls(n, users)
}

// otherSysctls writes the sysctls of the ipc and uts namespaces, from inside the node. A node that is
// stopped has none of these, and gets them when it is started.
func (b *builder) otherSysctls(n plan.Node, names []string) error {
	if b.Stopped(n.Name) {
		return nil
	}
	for _, name := range names {
		path := netns.SysctlPath(name)
		if strings.HasPrefix(path, "/proc/sys/net/") {
			continue
		}
		if !namespaced(path) {
			return fmt.Errorf("node %q: sysctl %s belongs to the whole host, not to a node; only net.*, fs.mqueue.*, kernel.msg*, kernel.sem and kernel.shm* are a node's own", n.Name, name)
		}
		// By nines itself: a root file system may have no program for it, and a node may not.
		if err := node.WriteInside(b.Running(n.Name), path, n.Sysctls[name]); err != nil {
			return fmt.Errorf("node %q: sysctl %s: write %q: %w", n.Name, name, n.Sysctls[name], err)
		}
	}
	return nil
}

// namespaced reports whether a sysctl below /proc/sys belongs to an ipc namespace; see
// namespaces(7).
func namespaced(path string) bool {
	for _, prefix := range []string{
		"/proc/sys/fs/mqueue/", "/proc/sys/kernel/msg", "/proc/sys/kernel/sem", "/proc/sys/kernel/shm",
	} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// startApps starts the engines of new nodes, and of those whose app changed.
func (b *builder) startApps(ctx context.Context, w work) error {
	for _, n := range append(append([]plan.Node{}, w.nodes...), w.apps...) {
		if n.App == nil || !n.App.Kind.HasEngine() {
			continue
		}
		if err := b.startEngine(ctx, n); err != nil {
			return fmt.Errorf("engine of node %q: %w", n.Name, err)
		}
	}
	return nil
}

// startEngine starts a node's engine and its app.
func (b *builder) startEngine(ctx context.Context, n plan.Node) error {
	if g := node.GuestOf(n); g != nil {
		r := b.Running(n.Name)
		return g.StartEngine(ctx, b.place(), r, running.EntryFor(n, nil, running.ExecOptions{}).Env, func() error {
			return b.serve(ctx, n, r.QEMU, node.GuestPatience)
		})
	}
	if r := node.RemoteOf(n); r != nil {
		return b.startRemoteEngine(ctx, n, r)
	}
	program, err := b.EnginePath(n.Name)
	if err != nil {
		return err
	}
	runtime, socket := node.RuntimeOf(n), b.EngineSocket(n.Name)
	inside := filepath.Join(runtime.Seen(b.Files()).Engines, filepath.Base(socket))
	if err := state.AbsentIsFine(os.Remove(socket)); err != nil {
		return err
	}
	token := b.journal.Token("engine/" + n.Name)
	// Its Name distinguishes it from the node's first process.
	step := journal.Step{Node: n.Name, Name: running.EngineStep, Token: token}
	var engine proc.Identity
	err = process.Make(b.journal, step, func() (proc.Identity, error) {
		log, err := os.Create(b.EngineLog(n.Name))
		if err != nil {
			return proc.Identity{}, err
		}
		defer log.Close()
		entry := running.EntryFor(n, []string{program, "--socket", inside}, running.ExecOptions{
			CPUs: appCPUs(n), Env: []string{"NINES_TOKEN=" + token}, Scheduled: true,
		})
		entry.Detach = token
		cmd, err := runtime.Command(ctx, b.place(), n, b.Running(n.Name), entry)
		if err == nil {
			engine, err = node.Detach(cmd, log)
		}
		return engine, err
	})
	if err != nil {
		return err
	}
	return b.serve(ctx, n, engine, engineTimeout)
}

// appCPUs are the CPUs for an engine's threads that do not handle packets, such as DPDK's interrupt
// thread; the packet thread pins itself. Where a node has one CPU, they share it.
func appCPUs(n plan.Node) []int {
	others := slices.DeleteFunc(slices.Clone(n.CPUs), func(cpu int) bool { return cpu == n.App.CPU })
	if len(others) == 0 {
		return n.CPUs
	}
	return others
}

// serve starts the app in a node's engine, as soon as the engine answers.
func (b *builder) serve(ctx context.Context, n plan.Node, engine proc.Identity, patience time.Duration) error {
	late := fmt.Errorf("it did not answer within %v", patience)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, late)
	defer cancel()
	go func() { // a dead engine never answers
		for engine.Alive() && ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
		}
		cancel()
	}()
	err := b.configureEngine(ctx, n)
	if err != nil {
		if errors.Is(context.Cause(ctx), late) { // its connection was closed for that, of which err tells
			err = late
		}
		if text, _ := os.ReadFile(b.EngineLog(n.Name)); len(text) > 0 {
			err = errors.Join(err, fmt.Errorf("it said: %s", strings.TrimSpace(string(text))))
		}
	}
	return err
}

func (b *builder) configureEngine(ctx context.Context, n plan.Node) error {
	c, err := client.Dial(ctx, b.EngineSocket(n.Name))
	if err != nil {
		return err
	}
	defer c.Close()
	// When an engine in a guest dies, its socket on this side stays open.
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if _, err := c.Hello(); err != nil {
		return err
	}
	if _, err := b.StartDPDK(c, n.Name, n.App.CPU); err != nil {
		return err
	}
	serve := client.Serve{Role: string(n.App.Kind), CPU: n.GuestCPU(n.App.CPU)}
	for _, p := range n.App.Ports {
		port := client.Port{
			Name: p.Interface, Backend: string(n.App.Backend), Interface: p.Interface,
			IO: string(n.App.IO), Wait: string(n.App.Wait),
			LocalMAC: p.LocalMAC, LocalIP: p.LocalIP, PeerMAC: p.PeerMAC, PeerIP: p.PeerIP,
			UDPPort: p.UDPPort,
		}
		if b.Plan().Traffic != nil {
			port.FrameBytes = b.Plan().Traffic.Stream.FrameBytes
		}
		if err := b.UseDevice(&port, n.Name); err != nil {
			return err
		}
		if _, err := c.Open(port); err != nil {
			return err
		}
		serve.Ports = append(serve.Ports, p.Interface)
	}
	return c.Serve(serve)
}

// runExecs runs the commands that the file gives new nodes.
func (b *builder) runExecs(ctx context.Context, w work) error {
	for _, n := range w.nodes {
		for _, argv := range n.Exec {
			cmd, err := b.Command(ctx, n.Name, argv, running.ExecOptions{Scheduled: true})
			if err != nil {
				return err
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				said := strings.TrimSpace(string(out))
				if said == "" {
					said = "it printed nothing"
				}
				return fmt.Errorf("node %q: exec %q: %w: %s; correct the command in the node's exec, or let it end with 0", n.Name, argv, err, said)
			}
		}
	}
	return nil
}

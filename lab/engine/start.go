package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/lab/running"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// timeout bounds the wait for a started engine's answers. They take some milliseconds, and more
// than 30 s on a busy emulated machine with DPDK; nines does not wait for a dead engine.
const timeout = 2 * time.Minute

// Maker starts engines of nodes.
type Maker struct {
	*running.Lab
	// Place is where the nodes are made.
	Place node.Place
}

// Start starts a node's engine and its app.
func (m Maker) Start(ctx context.Context, n plan.Node) error {
	if g := node.GuestOf(n); g != nil {
		r := m.Running(n.Name)
		return g.StartEngine(ctx, m.Place, r, running.EntryFor(n, nil, running.ExecOptions{}).Env, func() error {
			return m.serve(ctx, n, r.QEMU, node.GuestPatience)
		})
	}
	if r := node.RemoteOf(n); r != nil {
		return m.startRemote(ctx, n, r)
	}
	program, err := m.EnginePath(n.Name)
	if err != nil {
		return err
	}
	listener, err := node.ListenForEngine(m.State().Dir, n.Name)
	if err != nil {
		return fmt.Errorf("listen for its engine: %w", err)
	}
	defer listener.Close()
	token := m.Place.Journal.Token("engine/" + n.Name)
	// Its Name distinguishes it from the node's first process.
	step := journal.Step{Node: n.Name, Name: running.EngineStep, Token: token}
	var engine proc.Identity
	err = process.Make(m.Place.Journal, step, func() (proc.Identity, error) {
		log, err := os.Create(m.EngineLog(n.Name))
		if err != nil {
			return proc.Identity{}, err
		}
		defer log.Close()
		entry := running.EntryFor(n, []string{program, "--listener", "3"}, running.ExecOptions{
			CPUs: appCPUs(n), Env: []string{"NINES_TOKEN=" + token}, Scheduled: true, Engine: true,
		})
		entry.Detach, entry.Files = token, []*os.File{listener}
		cmd, err := node.RuntimeOf(n).Command(ctx, m.Place, n, m.Running(n.Name), entry)
		if err == nil {
			engine, err = node.Detach(cmd, log)
		}
		return engine, err
	})
	if err != nil {
		return err
	}
	return m.serve(ctx, n, engine, timeout)
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
func (m Maker) serve(ctx context.Context, n plan.Node, engine proc.Identity, patience time.Duration) error {
	late := fmt.Errorf("it did not answer within %v", patience)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, late)
	defer cancel()
	go func() { // a dead engine never answers
		_ = engine.AwaitEnd(ctx)
		cancel()
	}()
	err := m.configure(ctx, n)
	if err != nil {
		if errors.Is(context.Cause(ctx), late) { // its connection was closed for that, of which err tells
			err = late
		}
		if text, _ := os.ReadFile(m.EngineLog(n.Name)); len(text) > 0 {
			err = errors.Join(err, fmt.Errorf("it said: %s", strings.TrimSpace(string(text))))
		}
	}
	return err
}

// Serve is what a node's engine does, but for its ports.
func Serve(n plan.Node, hello client.Hello) client.Serve {
	serve := client.Serve{Role: string(n.App.Kind), CPU: n.GuestCPU(n.App.CPU)}
	for _, work := range n.App.Work {
		serve.WorkCycles = append(serve.WorkCycles, int64(time.Duration(work).Seconds()*hello.TSC.Hz))
	}
	return serve
}

func (m Maker) configure(ctx context.Context, n plan.Node) error {
	c, err := client.Dial(ctx, m.EngineSocket(n.Name))
	if err != nil {
		return err
	}
	defer c.Close()
	// When an engine in a guest dies, its socket on this side stays open.
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	hello, err := c.Hello()
	if err != nil {
		return err
	}
	if _, err := StartDPDK(ctx, m.Lab, c, n.Name, n.App.CPU); err != nil {
		return err
	}
	serve := Serve(n, hello)
	for _, p := range n.App.Ports {
		port := client.Port{
			Name: p.Interface, Backend: string(n.App.Backend), Interface: p.Interface,
			IO: string(n.App.IO), Wait: string(n.App.Wait),
			LocalMAC: p.LocalMAC, LocalIP: p.LocalIP, PeerMAC: p.PeerMAC, PeerIP: p.PeerIP,
			UDPPort: p.UDPPort,
		}
		if m.Plan().Traffic != nil {
			port.FrameBytes = m.Plan().Traffic.Stream.FrameBytes
		}
		if err := UseDevice(m.Lab, &port, n.Name); err != nil {
			return err
		}
		if _, err := c.Open(port); err != nil {
			return err
		}
		serve.Ports = append(serve.Ports, p.Interface)
	}
	return c.Serve(serve)
}

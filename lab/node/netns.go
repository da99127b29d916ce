package node

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// netnsFlags are the namespaces of a netns node.
const netnsFlags = unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID |
	unix.CLONE_NEWUTS | unix.CLONE_NEWIPC

// netnsRuntime starts nodes that are processes in their own namespaces.
type netnsRuntime struct{ Process }

func (netnsRuntime) StartStep(plan.Node) string {
	return "start nines-init in namespaces of its own, and in that network"
}

func (netnsRuntime) Start(_ context.Context, p Place, n plan.Node) (*Running, error) {
	r, err := p.StartNetns(n.Name, n.HostName, WallsOf(n), append(p.nameMounts(n), n.Mounts...)...)
	if err != nil {
		return nil, err
	}
	return r, p.Confine(n, r)
}

// Confine puts a node's first process into its control groups.
func (p Place) Confine(n plan.Node, r *Running) error {
	err := p.Groups.Confine(n, r.PID)
	if err == nil {
		err = p.Groups.Restrict(n, r.PID)
	}
	if err != nil {
		return fmt.Errorf("node %q: %w", n.Name, err)
	}
	return nil
}

// Unwalled are the walls of what is nines' own: its processes may do what root may.
var Unwalled = Walls{Privileged: true}

// StartNetns starts nines-init as pid 1 of new namespaces on the host's file system. nines-init
// waits on a pipe until its process id is journalled, and exits if nines dies before that;
// nines-init/node.c is the other side. Where the node's network waits for it (Place.Network), it joins
// that.
func (p Place) StartNetns(name, hostName string, walls Walls, mounts ...spec.Mount) (*Running, error) {
	arguments := walls.arguments()
	for _, m := range mounts {
		mode := "rw"
		if m.ReadOnly {
			mode = "ro"
		}
		arguments = append(arguments, mode, m.Source, m.Target)
	}
	step := journal.Step{Kind: process.Kind, Node: name, Name: hostName, Token: p.Journal.Token(name)}
	flags := uintptr(netnsFlags)
	if p.Network != nil {
		flags &^= unix.CLONE_NEWNET
	}
	return p.startInit(step, flags, "node", arguments...)
}

// startInit starts nines-init in a role that holds new namespaces. s is its journal step.
func (p Place) startInit(s journal.Step, flags uintptr, role string, arguments ...string) (*Running, error) {
	name := cmp.Or(s.Node, s.Name)
	step, err := p.Journal.Begin(s)
	if err != nil {
		return nil, err
	}
	control, child, err := controlPair()
	if err != nil {
		return nil, err
	}
	defer control.Close()
	cmd := exec.Command(p.InitPath, append([]string{role, s.Token, s.Name}, arguments...)...)
	cmd.Env = []string{}
	cmd.ExtraFiles = []*os.File{child}
	// Its own session, as Ctrl-C in the terminal would otherwise end the node.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Setsid: true}
	err = p.inNetwork(cmd.Start)
	child.Close()
	if err != nil {
		return nil, fmt.Errorf("node %q: start %s: %w", name, p.InitPath, err)
	}
	id, err := proc.Of(cmd.Process.Pid)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", name, err)
	}
	// From here on the process belongs to the journal; nines does not wait for it.
	_ = cmd.Process.Release()
	running := &Running{Name: name, Step: step, Identity: id}
	if p.Network != nil {
		running.Network = *p.Network
	}
	if s.Kind == KindHostNode {
		running.Token = s.Token
	}
	if err := p.Journal.Done(step, p.learnt(id)); err != nil {
		return nil, err
	}
	return running, running.begin(control)
}

// begin lets the node's pid 1 continue, and waits until it has.
func (r *Running) begin(control *os.File) error {
	if _, err := control.Write([]byte{'g'}); err != nil {
		return fmt.Errorf("node %q: %w", r.Name, err)
	}
	answer, err := bufio.NewReader(control).ReadString('\n')
	switch {
	case answer == "ok\n":
		return nil
	case answer != "":
		return fmt.Errorf("node %q: %s", r.Name, strings.TrimSpace(answer))
	case errors.Is(err, io.EOF):
		return fmt.Errorf("node %q: its first process ended at once", r.Name)
	}
	return fmt.Errorf("node %q: %w", r.Name, err)
}

func controlPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	return os.NewFile(uintptr(fds[0]), "node control"), os.NewFile(uintptr(fds[1]), "node control"), nil
}

package lab

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"nines.dev/nines/lab/running"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/script/wire"
)

// makeScriptFolders gives each new node with scripts a folder, which is in the PATH of its scripts:
// the command that they call by its names, the scripts, and, while nines runs them, the socket that
// the command speaks to.
func (b *builder) makeScriptFolders(_ context.Context, w work) error {
	for _, n := range w.nodes {
		if !n.Scripts.Any() || n.Guest() { // a guest's is made when nines serves its scripts
			continue
		}
		folder := b.scriptFolder(n.Name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("make the folder of a node's scripts: %w", err)
		}
		here := b.Files()
		here.ScriptCommand = b.programs.script
		target := node.RuntimeOf(n).Seen(here).ScriptCommand
		for _, name := range append(slices.Sorted(maps.Keys(wire.Aliases)), wire.Command, wire.CommandInNodes) {
			if err := nameCommand(target, filepath.Join(folder, name)); err != nil {
				return fmt.Errorf("name the command of scripts: %w", err)
			}
		}
	}
	return nil
}

// nameCommand makes a link to a command, in the place of one to where a node of another runtime sees it.
func nameCommand(target, path string) error {
	if now, err := os.Readlink(path); err == nil && now == target {
		return nil
	}
	if err := state.AbsentIsFine(os.Remove(path)); err != nil {
		return err
	}
	return os.Symlink(target, path)
}

// scriptFolder is a node's folder of scripts on the host.
func (l *Lab) scriptFolder(nodeName string) string {
	return filepath.Join(l.State().Scripts(), nodeName)
}

// ScriptSocket is the socket, on the host, that the scripts of a node speak to.
func (l *Lab) ScriptSocket(nodeName string) string {
	return filepath.Join(l.scriptFolder(nodeName), wire.SocketFile)
}

// Leashed is a process of a node that ends, with all that it started and that is still in its
// process group, when it is cancelled and when this process is gone.
type Leashed struct {
	*exec.Cmd
	leash []*os.File
}

// Release closes the files that the process was started with. Call it when it has ended, or was not
// started.
func (l *Leashed) Release() {
	for _, file := range l.leash {
		_ = file.Close() // a pipe that nothing is written to
	}
}

// Script makes the process of a node's script: its text is put into the node, and run by the
// interpreter that its first line names.
func (l *Lab) Script(ctx context.Context, nodeName, kind, text string) (*Leashed, error) {
	n, _, err := l.Node(nodeName)
	if err != nil {
		return nil, err
	}
	seen := filepath.Join(l.seenScripts(n), kind)
	if n.Guest() {
		err = l.putInGuest(ctx, nodeName, seen, text)
	} else {
		err = state.WriteFile(filepath.Join(l.scriptFolder(nodeName), kind), []byte(text))
	}
	if err != nil {
		return nil, err
	}
	return l.ScriptCommand(ctx, nodeName, interpreted(text, seen), "", nil)
}

// ScriptCommand makes the process of a command that a script of a node starts, in a folder and with
// an environment of the node; nil is that of scripts.
func (l *Lab) ScriptCommand(ctx context.Context, nodeName string, argv []string, dir string, env []string) (*Leashed, error) {
	n, _, err := l.Node(nodeName)
	if err != nil {
		return nil, err
	}
	if env == nil {
		folder := l.seenScripts(n)
		path := node.BasePath
		if own := n.Env["PATH"]; own != "" {
			path = own
		}
		env = []string{"PATH=" + folder + ":" + path, wire.Environment + "=" + filepath.Join(folder, wire.SocketFile)}
	}
	cmd, err := l.Command(ctx, nodeName, argv, running.ExecOptions{Dir: dir, Env: env, Scheduled: true, InGroup: true})
	if err != nil {
		return nil, err
	}
	initPath, err := node.Program("nines-init")
	if err != nil {
		return nil, err
	}
	return leash(ctx, initPath, cmd)
}

// leash puts a command on a leash (programs/nines-init/leash.c). The leash is in a process group of its
// own: a terminal's Ctrl-C reaches nines, which then decides what becomes of the command.
func leash(ctx context.Context, initPath string, cmd *exec.Cmd) (*Leashed, error) {
	end, held, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	leashed := exec.CommandContext(ctx, initPath, append([]string{"leash", cmd.Path}, cmd.Args[1:]...)...)
	leashed.Env, leashed.ExtraFiles = cmd.Env, []*os.File{end}
	leashed.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	leashed.Cancel = func() error { return leashed.Process.Signal(os.Interrupt) }
	leashed.WaitDelay = leashDelay
	return &Leashed{leashed, []*os.File{end, held}}, nil
}

// interpreted is the command that runs a script at a path: by the interpreter of its first line, with
// its one argument, as the kernel does it (fs/binfmt_script.c). The file itself is not executed, since it may be in a file
// system that forbids it, as Debian's /run does.
func interpreted(text, path string) []string {
	first, _, _ := strings.Cut(text, "\n")
	line, ok := strings.CutPrefix(first, "#!")
	interpreter, argument := strings.TrimSpace(line), ""
	if at := strings.IndexAny(interpreter, " \t"); at >= 0 {
		interpreter, argument = interpreter[:at], strings.TrimSpace(interpreter[at:])
	}
	switch {
	case !ok || interpreter == "":
		return []string{"sh", path}
	case argument == "":
		return []string{interpreter, path}
	}
	return []string{interpreter, argument, path}
}

// scriptSockets are the sockets of the nodes with scripts, for a check of their length.
func scriptSockets(l *Lab, p *plan.Plan) []string {
	var paths []string
	for _, n := range p.Nodes {
		if n.Scripts.Any() {
			paths = append(paths, l.ScriptSocket(n.Name))
		}
	}
	return paths
}

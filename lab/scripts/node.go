package scripts

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"nines.dev/nines/lab/running"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/script/wire"
)

// MakeFolders gives each node with scripts a folder, which is in the PATH of its scripts:
// the command that they call by its names, the scripts, and, while nines runs them, the socket that
// the command speaks to.
func MakeFolders(l *running.Lab, nodes []plan.Node, command string) error {
	for _, n := range nodes {
		if !n.Scripts.Any() || n.Guest() { // a guest's is made when nines serves its scripts
			continue
		}
		folder := In(l, n.Name).folder()
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("make the folder of a node's scripts: %w", err)
		}
		here := l.Files()
		here.ScriptCommand = command
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

// Node is a node of a lab, in which scripts run.
type Node struct {
	lab  *running.Lab
	name string
}

// In is the node with a name.
func In(l *running.Lab, nodeName string) Node { return Node{l, nodeName} }

// folder is the node's folder of scripts on the host.
func (n Node) folder() string {
	return filepath.Join(n.lab.State().Scripts(), n.name)
}

// Socket is the socket, on the host, that the scripts of the node speak to.
func (n Node) Socket() string {
	return filepath.Join(n.folder(), wire.SocketFile)
}

// Script makes the process of a node's script: its text is put into the node, and run by the
// interpreter that its first line names.
func (n Node) Script(ctx context.Context, kind, text string) (*Leashed, error) {
	planned, _, err := n.lab.Node(n.name)
	if err != nil {
		return nil, err
	}
	seen := filepath.Join(n.seen(planned), kind)
	if planned.Guest() {
		err = n.putInGuest(ctx, seen, text)
	} else {
		err = state.WriteFile(filepath.Join(n.folder(), kind), []byte(text))
	}
	if err != nil {
		return nil, err
	}
	return n.Command(ctx, interpreted(text, seen), "", nil)
}

// Command makes the process of a command that a script of a node starts, in a folder and with
// an environment of the node; nil is that of scripts.
func (n Node) Command(ctx context.Context, argv []string, dir string, env []string) (*Leashed, error) {
	planned, _, err := n.lab.Node(n.name)
	if err != nil {
		return nil, err
	}
	if env == nil {
		folder := n.seen(planned)
		path := node.BasePath
		if own := planned.Env["PATH"]; own != "" {
			path = own
		}
		env = []string{"PATH=" + folder + ":" + path, wire.Environment + "=" + filepath.Join(folder, wire.SocketFile)}
	}
	cmd, err := n.lab.Command(ctx, n.name, argv, running.ExecOptions{Dir: dir, Env: env, Scheduled: true, InGroup: true})
	if err != nil {
		return nil, err
	}
	initPath, err := node.Program("nines-init")
	if err != nil {
		return nil, err
	}
	return leash(ctx, initPath, cmd)
}

// Sockets are the sockets of the nodes with scripts, for a check of their length.
func Sockets(l *running.Lab) []string {
	var paths []string
	for _, n := range l.Plan().Nodes {
		if n.Scripts.Any() {
			paths = append(paths, In(l, n.Name).Socket())
		}
	}
	return paths
}

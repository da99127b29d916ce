package running

import (
	"fmt"
	"path/filepath"
	"slices"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// EngineStep is the Name of an engine's step in the journal.
const EngineStep = "nines-engine"

// Engines are the processes of apps' engines, by node, dead ones included.
func (l *Lab) Engines() (map[string]proc.Identity, error) {
	if !slices.ContainsFunc(l.Plan().Nodes, func(n plan.Node) bool { return n.App != nil }) {
		return nil, nil
	}
	j, err := journal.Read(l.State().Journal())
	if err != nil {
		return nil, err
	}
	engines := map[string]proc.Identity{}
	for _, entry := range j.Entries() {
		if entry.Kind == process.Kind && entry.Name == EngineStep && entry.Link == "" && entry.Learnt != nil {
			engines[entry.Node] = process.Of(entry)
		}
	}
	return engines, nil
}

// EngineOf is the engine of a node's app.
func (l *Lab) EngineOf(nodeName string) (proc.Identity, error) {
	engines, err := l.Engines()
	if err != nil {
		return proc.Identity{}, err
	}
	id, has := engines[nodeName]
	if !has {
		return proc.Identity{}, fmt.Errorf("node %q has no engine", nodeName)
	}
	return id, nil
}

// EngineLog is the file to which the app engine of a node writes its errors. It is not in the
// sockets' folder: containers see that, and could place a symbolic link there for nines to write
// through.
func (l *Lab) EngineLog(nodeName string) string {
	return filepath.Join(l.State().Logs(), nodeName+".log")
}

// EnginePath is the path of nines-engine as commands in a node see it.
func (l *Lab) EnginePath(nodeName string) (string, error) {
	n, _, err := l.Node(nodeName)
	if err != nil {
		return "", err
	}
	here := l.Files()
	if here.Engine, err = node.Program("nines-engine"); err != nil {
		return "", err
	}
	return node.RuntimeOf(n).Seen(here).Engine, nil
}

// EngineSocket is the control socket of a node's app engine, as the host sees it.
func (l *Lab) EngineSocket(nodeName string) string {
	return l.state.EngineSocket(nodeName)
}

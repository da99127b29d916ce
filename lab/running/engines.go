package running

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"nines.dev/nines/engine/client"
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
	old := node.OldEngineSocket(l.state.Dir, nodeName)
	if _, err := os.Lstat(old); err == nil {
		return old
	}
	return l.state.EngineSocket(nodeName)
}

// EngineState is what an engine says of itself.
type EngineState string

// An engine serves; or serves nothing, as it was told to stop; or takes no connections; or does not answer,
// as it has another client, or hangs.
const (
	EngineServing EngineState = "serving"
	EngineStopped EngineState = "stopped"
	EngineDead    EngineState = "dead"
	EngineBusy    EngineState = "busy"
)

// AskEngine asks the engine of a node's app for its counters.
func (l *Lab) AskEngine(ctx context.Context, n plan.Node) (EngineState, client.Stats) {
	patience := InspectPatience
	if n.Apart() {
		patience *= 10 // under TCG, and over a cluster's API server, its answer takes longer
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := client.Dial(ctx, l.EngineSocket(n.Name))
	if err != nil {
		return EngineDead, client.Stats{}
	}
	defer closeAt(ctx, c)()
	stats, err := c.Stats()
	switch {
	case err != nil:
		return EngineBusy, client.Stats{}
	case !stats.Serving():
		return EngineStopped, stats
	}
	return EngineServing, stats
}

// closeAt closes a connection when a context ends, or when the function is called that it returns: an
// engine takes one client at a time, and while it has another, this one waits for ever.
func closeAt(ctx context.Context, c *client.Client) func() {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	return func() {
		if stop() {
			_ = c.Close()
		}
	}
}

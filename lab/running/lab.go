package running

import (
	"errors"
	"fmt"
	"io/fs"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/folder"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// Lab is a lab that is up, or that is made just now. Its nodes may be read by any goroutine.
type Lab struct {
	name     string
	state    state.Folder
	plan     *plan.Plan
	index    *plan.Index
	settings []link.Setting
	running  *nodes
	fabric   *node.Running
}

// FabricNode names the fabric namespace in the journal; no node can have that name.
const FabricNode = "."

// New is a lab that is to be made in a folder, and has no nodes yet.
func New(folder state.Folder, p *plan.Plan) *Lab {
	return &Lab{name: p.Name, state: folder, plan: p, index: p.Index(), running: newNodes(nil)}
}

// Open reads a lab by its name.
func Open(name string) (*Lab, error) {
	if err := state.CheckName(name); err != nil {
		return nil, err
	}
	s := state.Of(name)
	if err := folder.Check(s.Place()); err != nil {
		return nil, state.ExplainUnseen(err, name)
	}
	j, err := journal.Read(s.Journal())
	if errors.Is(err, journal.ErrEmpty) {
		return nil, state.NotFound(name)
	}
	if err != nil {
		return nil, state.ExplainUnseen(err, name)
	}
	p, err := s.ReadPlan()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("lab %q was not finished: %w; nines down %s removes it", name, err, name)
	}
	if err != nil {
		return nil, fmt.Errorf("lab %q: %w; use the version that made it, or remove it with nines down %s", name, err, name)
	}
	l := &Lab{name: name, state: s, plan: p, index: p.Index()}
	l.Take(j)
	if err := l.readSettings(); err != nil {
		return nil, err
	}
	return l, nil
}

// Take finds the nodes' processes in the journal.
func (l *Lab) Take(j *journal.Journal) {
	found := node.Find(j)
	if r := found[FabricNode]; r != nil {
		l.fabric = r
		delete(found, FabricNode)
	}
	l.running = newNodes(found)
}

func (l *Lab) readSettings() (err error) {
	l.settings, err = replace.ReadIfThere[[]link.Setting](l.state.Settings())
	return err
}

// Name is the lab's name.
func (l *Lab) Name() string { return l.name }

// Plan is the plan that the lab follows.
func (l *Lab) Plan() *plan.Plan { return l.plan }

// Index finds parts of the plan by name.
func (l *Lab) Index() *plan.Index { return l.index }

// State is the lab's folder.
func (l *Lab) State() state.Folder { return l.state }

// Settings lists what was set on the lab's devices, so that a result can record its conditions.
func (l *Lab) Settings() []link.Setting { return l.settings }

// Follow has the lab follow another plan.
func (l *Lab) Follow(p *plan.Plan) { l.plan, l.index = p, p.Index() }

// Record replaces what was set on the lab's devices.
func (l *Lab) Record(settings []link.Setting) { l.settings = settings }

// Running is the node with a name; nil if it has neither a process nor a network.
func (l *Lab) Running(nodeName string) *node.Running { return l.running.of(nodeName) }

// AllRunning are the nodes that have a process or a network.
func (l *Lab) AllRunning() []*node.Running { return l.running.all() }

// SetRunning puts a node in the place of the one with its name. What readers have of the old one stays as it is.
func (l *Lab) SetRunning(n *node.Running) { l.running.set(n) }

// Fabric is what holds the fabric's namespace; nil without one.
func (l *Lab) Fabric() *node.Running { return l.fabric }

// SetFabric sets what holds the fabric's namespace.
func (l *Lab) SetFabric(r *node.Running) { l.fabric = r }

// Finished is true once all of the lab has been made.
func (l *Lab) Finished() bool { return l.state.Finished() }

// Alive is true while a node runs.
func (l *Lab) Alive(nodeName string) bool {
	n, r, err := l.Node(nodeName)
	return err == nil && node.RuntimeOf(n).Alive(r)
}

// Stopped is true for a node that someone has stopped.
func (l *Lab) Stopped(nodeName string) bool {
	_, r, err := l.Node(nodeName)
	return err == nil && r.Stopped && !r.Alive()
}

// FabricDead is true once the fabric's first process has left its namespaces: a lab that was said to have no fabric is
// not to be taken for whole just after that.
func (l *Lab) FabricDead() bool { return l.fabric == nil || !l.fabric.InNamespaces() }

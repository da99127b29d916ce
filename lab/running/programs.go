package running

import (
	"context"
	"slices"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
	"nines.dev/nines/terminal"
)

// ProgramState is the current state of a process that a link needs.
type ProgramState struct {
	Link  string `json:"link"`
	Name  string `json:"name"`
	PID   int    `json:"pid"`
	Alive bool   `json:"alive"`
	// Ending is what the kernel tells about the end of a dead one.
	Ending string `json:"ending,omitempty"`
	// Log is the file with its output; LastLines are the last lines of a dead one.
	Log       string `json:"log"`
	LastLines string `json:"last_lines,omitempty"`
}

// Programs are the processes that the lab's links have started, in that order, including dead ones.
func (l *Lab) Programs() ([]ProgramState, error) {
	if !l.Plan().HasPrograms() {
		return nil, nil
	}
	j, err := journal.Read(l.State().Journal())
	if err != nil {
		return nil, err
	}
	var list []ProgramState
	var endings proc.Endings
	for _, entry := range j.Entries() {
		if entry.Kind != process.Kind || entry.Link == "" || entry.Learnt == nil {
			continue
		}
		id := process.Of(entry)
		p := ProgramState{
			Link: entry.Link, Name: entry.Name, PID: id.PID, Alive: id.Alive(),
			Log: link.LogPath(l.State().Dir, entry.Link, entry.Name),
		}
		if !p.Alive {
			p.LastLines, p.Ending = node.LastLines(p.Log), endings.Of(id)
		}
		list = append(list, p)
	}
	return list, nil
}

// AwaitGuests returns when the programs of the lab's links forward for all engines,
// which have already opened their ports. A stopped node's port stays closed.
func (l *Lab) AwaitGuests(ctx context.Context) error {
	for _, planned := range l.Plan().Links {
		stopped := slices.ContainsFunc(planned.Endpoints, func(e plan.Endpoint) bool { return l.Stopped(e.Node) })
		if await := link.Of(planned.Kind).Await; await != nil && !stopped {
			if err := await(ctx, l.State().Dir, planned); err != nil {
				return err
			}
		}
	}
	return nil
}

// SwitchSocket is the control socket of the switch of a link, as the host sees it.
func (l *Lab) SwitchSocket(linkName string) (string, error) {
	made := l.Index().Link(linkName)
	if made == nil || !made.HasEngine() {
		var names []string
		for _, other := range l.Plan().Links {
			if other.HasEngine() {
				names = append(names, other.Name)
			}
		}
		if len(names) == 0 {
			return "", exit.Wrongf("lab %q has no link of the kind switch", l.Name())
		}
		return "", exit.Wrongf("lab %q has no link %q of the kind switch; %s", l.Name(), linkName, terminal.Choose(linkName, "it has", names))
	}
	return link.SwitchSocket(l.State().Dir, linkName), nil
}

// SwitchStats asks the switch of a link for its counters. The error is a client.Error if it runs no
// switch; with any other it has not answered.
func (l *Lab) SwitchStats(ctx context.Context, planned plan.Link) (*client.SwitchStats, error) {
	ctx, cancel := context.WithTimeout(ctx, InspectPatience)
	defer cancel()
	c, err := client.Dial(ctx, link.SwitchSocket(l.State().Dir, planned.Name))
	if err != nil {
		return nil, err
	}
	defer closeAt(ctx, c)()
	stats, err := c.SwitchStats()
	if err != nil {
		return nil, err
	}
	return &stats, nil
}

// Holders are the processes that hold network namespaces for links.
type Holders struct {
	held   map[string][]int
	fabric uint64
}

// Holders finds them.
func (l *Lab) Holders() (Holders, error) {
	j, err := journal.Read(l.State().Journal())
	if err != nil {
		return Holders{}, err
	}
	h := Holders{held: map[string][]int{}}
	for _, e := range j.Entries() {
		if e.Kind != node.KindNetwork || e.Link == "" || e.Learnt == nil {
			continue
		}
		if id := process.Of(e); id.Alive() {
			h.held[e.Link] = append(h.held[e.Link], id.PID)
		}
	}
	if l.Fabric() != nil {
		h.fabric = l.Fabric().NetInode()
	}
	return h, nil
}

// Of are processes in a link's own network namespaces, one for each: who holds it for the link, or the first of its
// programs that is there and not in the fabric.
func (h Holders) Of(linkName string, programs []ProgramState) []int {
	holders := slices.Clone(h.held[linkName])
	seen := map[uint64]bool{h.fabric: h.fabric != 0}
	for _, p := range programs {
		id, err := proc.Of(p.PID)
		if inode := id.NetInode(); p.Alive && err == nil && !seen[inode] {
			seen[inode] = true
			holders = append(holders, p.PID)
		}
	}
	return holders
}

// InspectPatience is how long to wait for an engine that has another client.
const InspectPatience = 500 * time.Millisecond

package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// ProgramState is the current state of a process that a link needs.
type ProgramState struct {
	Link  string `json:"link"`
	Name  string `json:"name"`
	PID   int    `json:"pid"`
	Alive bool   `json:"alive"`
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
			p.LastLines = node.LastLines(p.Log)
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

// deadPrograms says which programs of links have ended.
func (l *Lab) deadPrograms() ([]check.Fault, error) {
	var faults []check.Fault
	programs, err := l.Programs()
	for _, p := range programs {
		if p.Alive {
			continue
		}
		fault := fmt.Sprintf("%s of link %s has died (process %d)", p.Name, p.Link, p.PID)
		if p.LastLines != "" {
			fault += "; its last output was: " + p.LastLines
			if why := l.explain(p); why != "" {
				fault += "; " + why
			}
		} else {
			fault += "; it printed nothing, so it was killed or crashed: see dmesg (out of memory, segmentation fault)"
		}
		faults = append(faults, check.Fault{
			Of: p.Name + " of link " + p.Link, Part: "link " + p.Link, Problem: fault, Remedy: check.RemakeLink, Target: p.Link,
		})
	}
	return faults, err
}

// explain says what a dead program's last output means, where its link's kind knows.
func (l *Lab) explain(p ProgramState) string {
	planned := l.Plan().Link(p.Link)
	if planned == nil {
		return ""
	}
	if explain := link.Of(planned.Kind).Explain; explain != nil {
		return explain(p.LastLines)
	}
	return ""
}

// engineProcesses are the processes of apps' engines, by node, dead ones included.
func (l *Lab) engineProcesses() (map[string]proc.Identity, error) {
	if !slices.ContainsFunc(l.Plan().Nodes, func(n plan.Node) bool { return n.App != nil }) {
		return nil, nil
	}
	j, err := journal.Read(l.State().Journal())
	if err != nil {
		return nil, err
	}
	engines := map[string]proc.Identity{}
	for _, entry := range j.Entries() {
		if entry.Kind == process.Kind && entry.Name == engineStep && entry.Link == "" && entry.Learnt != nil {
			engines[entry.Node] = process.Of(entry)
		}
	}
	return engines, nil
}

// deadEngines says which app engines have ended while their node still runs.
func (l *Lab) deadEngines() ([]check.Fault, error) {
	engines, err := l.engineProcesses()
	var faults []check.Fault
	for _, n := range l.Plan().Nodes {
		id, has := engines[n.Name]
		if !has || id.Alive() || !l.Alive(n.Name) {
			continue
		}
		fault := fmt.Sprintf("the engine of node %s has died (process %d)", n.Name, id.PID)
		if said := node.LastLines(l.EngineLog(n.Name)); said != "" {
			fault += "; its last output was: " + said
		}
		faults = append(faults, check.Fault{
			Of: "the engine of node " + n.Name, Part: "node " + n.Name, Problem: fault, Remedy: check.RestartApp, Target: n.Name,
		})
	}
	return faults, err
}

// SwitchSocket is the control socket of the switch of a link, as the host sees it.
func (l *Lab) SwitchSocket(linkName string) (string, error) {
	made := l.Plan().Link(linkName)
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
		return "", exit.Wrongf("lab %q has no link %q of the kind switch; it has %s", l.Name(), linkName, strings.Join(names, ", "))
	}
	return link.SwitchSocket(l.State().Dir, linkName), nil
}

// switchStats asks the switch of a link for its counters; nil if it does not answer.
func (l *Lab) switchStats(ctx context.Context, planned plan.Link) *client.SwitchStats {
	if !planned.HasEngine() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, inspectPatience)
	defer cancel()
	c, err := client.Dial(ctx, link.SwitchSocket(l.State().Dir, planned.Name))
	if err != nil {
		return nil
	}
	// The switch takes one client at a time: it may have another.
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	stats, err := c.SwitchStats()
	if err != nil {
		return nil
	}
	_ = c.Close()
	return &stats
}

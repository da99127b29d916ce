package lab

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"nines.dev/nines/lab/health"
	"nines.dev/nines/lab/service"
	"nines.dev/nines/plan"
)

// restartLog is what this process has restarted, stopped and started in a lab that it measures or
// changes, and which nodes it has seen unhealthy.
type restartLog struct {
	// changing lets one change of nodes follow the other: all write the same journal.
	changing sync.Mutex

	mu   sync.Mutex
	made []Restarted
	// off are the nodes that are stopped, by name: no trial measures what the file describes until
	// they are started.
	off map[string]Restarted
	// ends are the ends of services that TakeRestarts has told, by "node:service" and keeper.
	ends map[string]int
}

// Restarted is a node that was restarted, stopped or started, or was unhealthy, or a service that its policy has started
// again.
type Restarted struct {
	Node string
	// Service is the service that has ended; empty for a node. Its node is as it was.
	Service string
	// How is "restarted", "stopped", "started" or "unhealthy".
	How string
	// At is when it began, and Took how long it took; 0 for a node that is unhealthy still.
	At   time.Time
	Took time.Duration
	// Why is the reason; empty: someone asked for it.
	Why string
}

// String says it in one line, for the reasons of a trial.
func (r Restarted) String() string {
	if r.Service != "" {
		return fmt.Sprintf("service %s of node %s ended at %s and was started again%s", r.Service, r.Node, r.At.Format("15:04:05.000"), r.Why)
	}
	text := fmt.Sprintf("node %s was %s at %s", r.Node, r.How, r.At.Format("15:04:05.000"))
	if r.Took > 0 {
		format := ", which took %s"
		if r.How == wasUnhealthy {
			format = ", for %s"
		}
		text += fmt.Sprintf(format, r.Took.Round(time.Millisecond))
	}
	if r.Why != "" {
		text += ": " + r.Why
	}
	return text
}

// Ended is true if what had run in the node ended.
func (r Restarted) Ended() bool { return r.How != wasUnhealthy && r.Service == "" }

// servicesAgain are the services that have ended and serve again since the last call. Those that do not serve are
// faults.
func (l *restartLog) servicesAgain(all []service.State) []Restarted {
	var list []Restarted
	for _, s := range all {
		key := fmt.Sprintf("%s:%s %d", s.Node, s.Name, s.Keeper)
		if s.Status == service.Ready && s.Ends > l.ends[key] {
			list = append(list, Restarted{Node: s.Node, Service: s.Name, At: s.LastEnd, Why: s.Why()})
		}
		if l.ends == nil {
			l.ends = map[string]int{}
		}
		l.ends[key] = s.Ends
	}
	return list
}

func (l *restartLog) note(nodes []plan.Node, how string, begun time.Time, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range nodes {
		r := Restarted{Node: n.Name, How: how, At: begun, Took: time.Since(begun), Why: why}
		l.made = append(l.made, r)
		delete(l.off, n.Name)
		if how == wasStopped {
			if l.off == nil {
				l.off = map[string]Restarted{}
			}
			l.off[n.Name] = r
		}
	}
}

// wasStopped is the How of a node that was stopped.
const wasStopped = "stopped"

// wasUnhealthy is the How of a node that was unhealthy.
const wasUnhealthy = "unhealthy"

// noteHealth tells the measurement of a node that is unhealthy from now on, or until now.
func (l *restartLog) noteHealth(nodeName string, before, now health.Health) {
	switch health.Unhealthy {
	case now.Status:
		l.ill(nodeName, now.Since, now.Said)
	case before.Status:
		l.well(nodeName, before.Since, before.Said)
	}
}

// ill notes that a node has become unhealthy.
func (l *restartLog) ill(nodeName string, since time.Time, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made = append(l.made, Restarted{Node: nodeName, How: wasUnhealthy, At: since, Why: why})
}

// well notes that a node is unhealthy no more: also one that was so before the last TakeRestarts.
func (l *restartLog) well(nodeName string, since time.Time, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	took := time.Since(since)
	at := slices.IndexFunc(l.made, func(r Restarted) bool { return r.Node == nodeName && r.How == wasUnhealthy && r.At.Equal(since) })
	if at >= 0 {
		l.made[at].Took = took
		return
	}
	l.made = append(l.made, Restarted{Node: nodeName, How: wasUnhealthy, At: since, Took: took, Why: why})
}

// take is TakeRestarts, with the services as they are now.
func (l *restartLog) take(services []service.State) []Restarted {
	l.mu.Lock()
	defer l.mu.Unlock()
	made := append(slices.Clone(l.made), l.servicesAgain(services)...)
	l.made = nil
	for _, name := range slices.Sorted(maps.Keys(l.off)) {
		if !slices.ContainsFunc(made, func(r Restarted) bool { return r.Node == name }) {
			made = append(made, l.off[name])
		}
	}
	return made
}

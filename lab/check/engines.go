package check

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
)

// askedAtOnce is how many engines are asked at a time. Each answers in less than a millisecond, or not at
// all.
const askedAtOnce = 32

// Engines says which app engines have ended while their node still runs. With ask, it also asks each that
// runs, and each of a link, whether it does what it was started for.
func Engines(l *running.Lab, ask bool) ([]Fault, error) {
	engines, err := l.Engines()
	if err != nil {
		return nil, err
	}
	faults := make([]*Fault, len(l.Plan().Nodes)+len(l.Plan().Links))
	var endings proc.Endings
	var asked errgroup.Group
	asked.SetLimit(askedAtOnce)
	for i, n := range l.Plan().Nodes {
		id, has := engines[n.Name]
		switch {
		case !has || !l.Alive(n.Name):
		case !id.Alive():
			faults[i] = deadEngine(l, n, id, &endings)
		case ask:
			asked.Go(func() error { faults[i] = askApp(l, n, id, &endings); return nil })
		}
	}
	for i, planned := range l.Plan().Links {
		if ask && planned.HasEngine() {
			asked.Go(func() error { faults[len(l.Plan().Nodes)+i] = askSwitch(l, planned); return nil })
		}
	}
	_ = asked.Wait() // none of them returns an error
	var list []Fault
	for _, fault := range faults {
		if fault != nil {
			list = append(list, *fault)
		}
	}
	return list, nil
}

func engineFault(n plan.Node, problem string) *Fault {
	of := "the engine of node " + n.Name
	return &Fault{Of: of, Part: "node " + n.Name, Problem: of + " " + problem, Remedy: RestartApp, Target: n.Name}
}

func deadEngine(l *running.Lab, n plan.Node, id proc.Identity, endings *proc.Endings) *Fault {
	problem := fmt.Sprintf("has died (process %d)", id.PID)
	if ending := endingIn(l, n, id, endings); ending != "" {
		problem += ": " + ending
	}
	if said := node.LastLines(l.EngineLog(n.Name)); said != "" {
		problem += "; its last output was: " + said
	}
	return engineFault(n, problem)
}

func askApp(l *running.Lab, n plan.Node, id proc.Identity, endings *proc.Endings) *Fault {
	state, _ := l.AskEngine(context.Background(), n)
	if state == running.EngineServing {
		return nil
	}
	// One that is dying closes its connections first.
	ctx, cancel := context.WithTimeout(context.Background(), running.InspectPatience)
	defer cancel()
	if id.AwaitEnd(ctx) == nil {
		return deadEngine(l, n, id, endings)
	}
	return engineFault(n, map[running.EngineState]string{
		running.EngineStopped: "serves nothing: it was told to stop",
		running.EngineDead:    "takes no commands: its socket is gone",
		running.EngineBusy:    "does not answer: it hangs, or another program has a connection to it",
	}[state])
}

// askSwitch finds no fault with one that does not answer: it takes one client, and a program that
// copies its packets is one.
func askSwitch(l *running.Lab, planned plan.Link) *Fault {
	_, err := l.SwitchStats(context.Background(), planned)
	if !errors.As(err, new(*client.Error)) {
		return nil
	}
	of := "the engine of link " + planned.Name
	return &Fault{
		Of: of, Part: "link " + planned.Name, Problem: of + " runs no switch: it was told to stop", Remedy: RemakeLink, Target: planned.Name,
	}
}

package receive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"nines.dev/nines/busypoll"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
)

// The kernel of a virtual machine receives for its node. So nines-node sets the receive modes up inside, with
// what this package does on the host, and is asked there what receives now.

// The verbs of nines-node for it: GuestSetUp takes a plan.Node and prints its []Record, GuestNow takes these and
// prints their []State.
const (
	GuestSetUp = "receive"
	GuestNow   = "received"
)

// setUpGuest has the receive modes of a virtual machine set up.
func (m Maker) setUpGuest(ctx context.Context, g node.Guest, n plan.Node) ([]Record, error) {
	var list []Record
	if err := ask(ctx, m.Lab, g, n.Name, GuestSetUp, n, &list); err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Guest = true
		list[i].Notes = append(list[i].Notes, "the threads and CPUs are the guest's own")
	}
	return list, nil
}

// ask has nines-node in a guest answer.
func ask(ctx context.Context, l *running.Lab, g node.Guest, nodeName, verb string, question, answer any) error {
	input, err := json.Marshal(question)
	if err != nil {
		return err
	}
	output, err := g.Ask(ctx, l.Place(""), l.Running(nodeName), verb, input)
	if err != nil {
		return err
	}
	return json.Unmarshal(output, answer)
}

// guestStates asks the guests what receives there now.
func guestStates(l *running.Lab, records []Record) []State {
	var list []State
	for len(records) > 0 {
		name, count := records[0].Node, 0
		for count < len(records) && records[count].Node == name {
			count++
		}
		states, err := statesIn(l, name, records[:count])
		if err != nil {
			for _, r := range records[:count] {
				r.Problem = err.Error()
				list = append(list, r.State)
			}
		}
		list = append(list, states...)
		records = records[count:]
	}
	return list
}

func statesIn(l *running.Lab, nodeName string, records []Record) (states []State, err error) {
	n := l.Index().Node(nodeName)
	if n == nil || !l.Alive(nodeName) {
		return nil, errDead
	}
	// As other readings of a lab, it takes no context: node.GuestPatience bounds it.
	err = ask(context.Background(), l, node.GuestOf(*n), nodeName, GuestNow, records, &states)
	return states, err
}

// insideFolder has the sessions of busypoll in a guest.
const insideFolder = "/run/nines"

// SetUpInside sets up the receive modes of a virtual machine from inside, with the program that polls. It undoes
// first what an earlier call has set up.
func SetUpInside(ctx context.Context, n plan.Node, program string) ([]Record, error) {
	ns, err := namespaceInside()
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	records := []Record{}
	for _, way := range plan.ReceiveOrder {
		session := busypoll.Session{Root: insideFolder, Name: string(way)}
		if err := session.Stop(ctx, nil); err != nil && !errors.Is(err, busypoll.ErrNoSession) {
			return nil, err
		}
		interfaces := n.ReceivedBy(way)
		if len(interfaces) == 0 {
			continue
		}
		made, err := session.Start(ctx, ns, busypoll.Begin{Target: n.Name, Program: program, Request: receiveRequest(n, way, interfaces)})
		if err != nil {
			return nil, fmt.Errorf("rx: %s: %w", way, err)
		}
		records = append(records, recordsOf(n.Name, interfaces, made.Running)...)
	}
	return records, nil
}

// namespaceInside is the network namespace of a guest, by its first process: its path outlives the caller.
func namespaceInside() (*netns.Namespace, error) {
	return busypoll.OpenNamespace(busypoll.PathOfPID(1))
}

// StatesInside returns what receives now, inside of the virtual machine that the records are of.
func StatesInside(records []Record) []State {
	list := []State{}
	for _, r := range records {
		r.readNow(namespaceInside)
		list = append(list, r.State)
	}
	return list
}

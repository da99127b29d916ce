package local

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/local/inside"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/lab/node"
)

// Condition is where a cluster is in its life.
type Condition string

// ConditionUp is a cluster that was made whole, with all its parts; ConditionBroken one of which a
// part has died; ConditionIncomplete one whose start was killed; ConditionChanging one that a
// process is making or removing.
const (
	ConditionUp         Condition = "up"
	ConditionBroken     Condition = "broken"
	ConditionIncomplete Condition = "incomplete"
	ConditionChanging   Condition = "changing"
)

// Status is how a cluster does.
type Status struct {
	Record
	Condition Condition    `json:"condition"`
	Parts     []PartStatus `json:"parts"`
	// API is why the API server does not answer; empty if it does.
	API string `json:"api,omitempty"`
}

// PartStatus is how a part does.
type PartStatus struct {
	Name string `json:"name"`
	// Alive is true while its first process runs, whose number is PID.
	Alive bool `json:"alive"`
	PID   int  `json:"pid,omitempty"`
	inside.Status
	// Ready and Pods are of a node, as the API server has it.
	Ready bool `json:"ready"`
	Pods  int  `json:"pods"`
}

// Status reads how the cluster does. An API server that does not answer is no error.
func (s Session) Status(ctx context.Context) (*Status, error) {
	record, err := s.Record()
	if err != nil {
		return nil, err
	}
	status := &Status{Record: *record, Condition: ConditionIncomplete}
	j, err := journal.Read(s.journal())
	if err != nil {
		return nil, err
	}
	running := node.Find(j)
	layout, err := NewLayout(s.Name, record.Nodes)
	if err != nil {
		return nil, err
	}
	parts := []string{ControlName}
	for _, n := range layout.Nodes {
		parts = append(parts, n.Name)
	}
	whole := true
	for _, name := range parts {
		part := PartStatus{Name: name}
		if r := running[name]; r != nil {
			part.Alive, part.PID = r.Alive(), r.PID
		}
		if part.Status, err = inside.ReadStatus(s.part(name)); err != nil {
			return nil, err
		}
		whole = whole && part.Alive && part.Status.Failed == ""
		status.Parts = append(status.Parts, part)
	}
	held, err := flock.IsHeld(s.lockPath())
	if err != nil {
		return nil, fmt.Errorf("find out whether another program changes the cluster: %w", err)
	}
	switch {
	case held:
		status.Condition = ConditionChanging
	case record.Done && whole:
		status.Condition = ConditionUp
	case record.Done:
		status.Condition = ConditionBroken
	}
	if err := s.ask(ctx, status); err != nil {
		status.API = err.Error()
	}
	return status, nil
}

// patience is how long status waits for the API server.
const patience = 5 * time.Second

// ask adds what the API server knows about the nodes.
func (s Session) ask(ctx context.Context, status *Status) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := s.Client()
	if err != nil {
		return err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range status.Parts {
		part := &status.Parts[i]
		for k := range nodes.Items {
			if nodes.Items[k].Name == part.Name {
				part.Ready = isReady(&nodes.Items[k])
			}
		}
		for k := range pods.Items {
			if pods.Items[k].Spec.NodeName == part.Name {
				part.Pods++
			}
		}
	}
	return nil
}

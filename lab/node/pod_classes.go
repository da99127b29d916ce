package node

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/plan"
)

// ClassesAsked asks nines-cluster which of some DeviceClasses a cluster lacks.
type ClassesAsked struct {
	PodPlace
	Classes []string `json:"classes"`
}

// classesPatience bounds the wait for a cluster's answer.
const classesPatience = 20 * time.Second

// CheckClasses returns an exit.MissingError of a link's kind where pods are to claim ports of a class that their
// cluster does not have. It ignores a cluster that does not answer: starting the pods fails with the reason.
func CheckClasses(p *plan.Plan, stateDir string) error {
	asked := ClassesAsked{}
	for _, n := range p.Nodes {
		if n.Pod == nil {
			continue
		}
		for _, port := range n.Pod.Ports {
			asked.Classes = append(asked.Classes, port.Class)
		}
	}
	if p.Cluster == nil || len(asked.Classes) == 0 {
		return nil
	}
	lacks, err := asked.lacking(Place{Plan: p, StateDir: stateDir})
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	for _, n := range p.Nodes {
		if n.Pod == nil {
			continue
		}
		for _, port := range n.Pod.Ports {
			if !slices.Contains(lacks, port.Class) {
				continue
			}
			return &exit.MissingError{
				Capability: string(p.Link(port.Link).Kind), Reason: "its cluster has no DeviceClass " + port.Class + ", which link " + port.Link + " names",
				Remedy: "install the driver of that class; kubectl get deviceclasses lists those that the cluster has",
			}
		}
	}
	return nil
}

// lacking asks the cluster of a plan.
func (a ClassesAsked) lacking(p Place) (lacks []string, err error) {
	if a.PodPlace, err = p.clusterOf(p.Plan.Cluster); err != nil {
		return nil, err
	}
	program, err := ClusterProgram()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), classesPatience)
	defer cancel()
	command := exec.CommandContext(ctx, program, "pod", "lacks")
	command.Stdin = bytes.NewReader(text)
	out, err := command.Output()
	if err == nil {
		err = json.Unmarshal(out, &lacks)
	}
	return lacks, err
}

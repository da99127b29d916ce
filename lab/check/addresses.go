package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Readdressed is an interface that has other addresses than planned, in a node where commands, scripts or services of
// the experiment may set them.
type Readdressed struct {
	Node    string
	Planned plan.Interface
	MAC     string
	// Addresses are in CIDR form, without link-local ones.
	Addresses []string
}

// Addresses lists the interfaces that have been readdressed.
func Addresses(l *running.Lab) ([]Readdressed, error) {
	var list []Readdressed
	var failures []error
	for _, n := range l.Plan().Nodes {
		if !ChangesItself(n) || n.Apart() || !l.Alive(n.Name) {
			continue
		}
		view, err := link.Look(link.HolderOf(l.Running(n.Name)))
		if proc.IsGone(err) {
			continue // just now, as the trial's end will tell
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("node %s: %w", n.Name, err))
			continue
		}
		for _, i := range n.Interfaces {
			if device := view.Find(i.Name); i.InKernel() && device != nil && i.Link != spec.ManagementLink {
				list = append(list, readdressed(n.Name, i, device)...)
			}
		}
	}
	return list, errors.Join(failures...)
}

// readdressed is empty for an interface that has its planned addresses, and perhaps others. It is pure.
func readdressed(node string, planned plan.Interface, now *link.Seen) []Readdressed {
	if strings.EqualFold(now.MAC, planned.MAC) && lostAddress(planned, now) == "" {
		return nil
	}
	is := Readdressed{Node: node, Planned: planned, MAC: now.MAC, Addresses: slices.DeleteFunc(slices.Clone(now.Addresses), linkLocal)}
	return []Readdressed{is}
}

// String says it for a trial's notes.
func (r Readdressed) String() string {
	of := r.Node + ":" + r.Planned.Name
	var words []string
	if !strings.EqualFold(r.MAC, r.Planned.MAC) {
		words = append(words, fmt.Sprintf("the MAC address %s in place of %s", r.MAC, r.Planned.MAC))
	}
	if is, was := strings.Join(r.Addresses, " "), strings.Join(r.Planned.Addresses, " "); is == "" {
		words = append(words, "no address in place of "+was)
	} else if is != was {
		words = append(words, fmt.Sprintf("%s in place of %s", is, was))
	}
	return "since its node's commands or scripts have run, " + of + " has " + strings.Join(words, ", and ")
}

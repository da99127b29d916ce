package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
)

// InterfaceState is an interface of a node as it is, beside what the file says.
type InterfaceState struct {
	link.Device
	// Planned is what the plan says; nil for an interface that it does not have.
	Planned *PlannedInterface `json:"planned,omitempty"`
	// Drift says how the two differ.
	Drift []string `json:"drift,omitempty"`
}

// PlannedInterface is what the plan says of an interface; what is empty is left to the kernel.
type PlannedInterface struct {
	Link      string   `json:"link"`
	MAC       string   `json:"mac,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	MTU       int      `json:"mtu,omitempty"`
}

// gone is the state of an interface that is not there.
const gone = "gone"

// besidePlan puts the devices in a node beside its planned interfaces, in the plan's order; others are behind them. It
// is pure.
func besidePlan(n plan.Node, devices []link.Device) []InterfaceState {
	list := []InterfaceState{}
	for _, i := range n.Interfaces {
		at := slices.IndexFunc(devices, func(d link.Device) bool { return d.Name == i.Name })
		planned := &PlannedInterface{Link: i.Link, MAC: i.MAC, Addresses: i.Addresses, MTU: i.MTU}
		switch {
		case at >= 0:
			list = append(list, InterfaceState{Device: devices[at], Planned: planned, Drift: driftOf(n, i, devices[at])})
		case i.InKernel() && !n.Remote():
			missing := link.Device{Name: i.Name, State: gone, Addresses: []string{}}
			list = append(list, InterfaceState{Device: missing, Planned: planned, Drift: []string{"is gone"}})
		}
	}
	for _, d := range devices {
		if slices.ContainsFunc(n.Interfaces, func(i plan.Interface) bool { return i.Name == d.Name }) {
			continue
		}
		s := InterfaceState{Device: d}
		if !n.Apart() && !check.ChangesItself(n) {
			s.Drift = []string{"is not in the file"}
		}
		list = append(list, s)
	}
	return list
}

// driftOf says how an interface differs from its plan. What the experiment's own commands may set is no drift.
func driftOf(n plan.Node, planned plan.Interface, now link.Device) []string {
	var drift []string
	if now.State == "down" {
		drift = append(drift, "is down")
	}
	if planned.MTU != 0 && now.MTU != 0 && now.MTU != planned.MTU {
		drift = append(drift, fmt.Sprintf("has the MTU %d, and the file's is %d", now.MTU, planned.MTU))
	}
	if check.ChangesItself(n) {
		return drift
	}
	if planned.MAC != "" && now.MAC != "" && !strings.EqualFold(now.MAC, planned.MAC) {
		drift = append(drift, fmt.Sprintf("has the MAC address %s, and the file's is %s", now.MAC, planned.MAC))
	}
	if planned.Alias != "" && now.Alias != planned.Alias && !n.Remote() { // no cluster gives a pod's interface one
		drift = append(drift, "has lost its alias "+planned.Alias)
	}
	for _, address := range without(planned.Addresses, now.Addresses) {
		drift = append(drift, "lacks "+address)
	}
	for _, address := range without(now.Addresses, planned.Addresses) {
		if p, err := netip.ParsePrefix(address); err != nil || !p.Addr().IsLinkLocalUnicast() { // the kernel's own
			drift = append(drift, address+" is not in the file")
		}
	}
	return drift
}

// without are the addresses of a list that another does not have.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(a string) bool {
		return slices.ContainsFunc(other, func(b string) bool {
			left, errLeft := netip.ParsePrefix(a)
			right, errRight := netip.ParsePrefix(b)
			return a == b || errLeft == nil && errRight == nil && left == right
		})
	})
}

// lookAround reads what the kernel says of a node's first process: its network namespace, and its CPUs.
func (l *Lab) lookAround(n plan.Node, s *NodeState) {
	if n.Remote() {
		return
	}
	r := l.Running(n.Name)
	id, _ := r.Holder()
	s.Namespace = id.NetInode()
	var set unix.CPUSet
	if n.Guest() || unix.SchedGetaffinity(r.PID, &set) != nil { // a guest's CPUs are threads of QEMU; or it has just ended
		return
	}
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			s.CPUsNow = append(s.CPUsNow, cpu)
		}
	}
	var missing []int
	for _, cpu := range n.CPUs {
		if !slices.Contains(s.CPUsNow, cpu) {
			missing = append(missing, cpu)
		}
	}
	if len(missing) > 0 {
		s.Drift = append(s.Drift, "may not run on the CPUs "+cpulist.Format(missing)+" of the file")
	}
}

package link

import (
	"fmt"
	"sync"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/spec"
	"nines.dev/nines/testbed/host"
	"nines.dev/nines/testbed/journal"
	"nines.dev/nines/testbed/netns"
	"nines.dev/nines/testbed/plan"
)

// Holder is the process that holds a network namespace of the lab.
type Holder struct {
	PID int
	// Step is the number of the journal's step that started it.
	Step int
}

// Site is where links are made.
type Site struct {
	Journal *journal.Journal
	Plan    *plan.Plan
	// Nodes are the holders of the nodes' namespaces by the nodes' names.
	Nodes map[string]Holder
	// Fabric holds the lab's own namespace.
	Fabric Holder

	mu       sync.Mutex
	settings map[deviceKey]map[string]string
}

// Make makes a link between the endpoints given, which are all of the link's, or,
// where Incremental says that the kind can, those that are new.
func (s *Site) Make(l plan.Link, endpoints []plan.Endpoint) error {
	makers := map[spec.LinkKind]func(*Site, plan.Link, []plan.Endpoint) error{
		spec.LinkVeth:    makeVeth,
		spec.LinkBridge:  makeBridge,
		spec.LinkMacvlan: makeMacvlan,
		spec.LinkXDP:     makeXDP,
	}
	maker := makers[l.Kind]
	if maker == nil {
		return fmt.Errorf("link %q: there is no link kind %q", l.Name, l.Kind)
	}
	if err := maker(s, l, endpoints); err != nil {
		return fmt.Errorf("link %q (%s): %w", l.Name, l.Kind, explain(l.Kind, err))
	}
	return nil
}

// Incremental is true if endpoints can join and leave a link of this kind while
// the others stay.
func Incremental(kind spec.LinkKind) bool {
	return kind == spec.LinkBridge || kind == spec.LinkMacvlan
}

// explain turns a kernel that does not know a kind of device into the host's lack.
func explain(kind spec.LinkKind, err error) error {
	if !isUnsupported(err) {
		return err
	}
	return &host.MissingError{
		Capability: string(kind), Reason: "the kernel refuses to make such a device", Err: err,
		Remedy: "load the kernel's module, or choose another link kind; nines host shows what there is",
	}
}

// interfaceOf finds the plan's interface for an endpoint.
func (s *Site) interfaceOf(e plan.Endpoint) (plan.Interface, error) {
	for _, n := range s.Plan.Nodes {
		if n.Name != e.Node {
			continue
		}
		for _, i := range n.Interfaces {
			if i.Name == e.Interface {
				return i, nil
			}
		}
	}
	return plan.Interface{}, fmt.Errorf("the plan has no interface %s:%s", e.Node, e.Interface)
}

func (s *Site) node(name string) (Holder, error) {
	h, ok := s.Nodes[name]
	if !ok {
		return Holder{}, fmt.Errorf("node %q does not run", name)
	}
	return h, nil
}

// inside runs f with a routing socket in the namespace of a holder.
func inside(h Holder, f func(*netns.Namespace, *netlink.Handle) error) error {
	ns, err := netns.OfProcess(h.PID)
	if err != nil {
		return err
	}
	defer ns.Close()
	handle, err := ns.Netlink()
	if err != nil {
		return err
	}
	defer handle.Close()
	return f(ns, handle)
}

// add journals a device and makes it.
func (s *Site) add(handle *netlink.Handle, step journal.Step, device netlink.Link) error {
	step.Kind = journal.KindLink
	step.Name = device.Attrs().Name
	return s.Journal.Make(step, func() (journal.Learnt, error) {
		if err := handle.LinkAdd(device); err != nil {
			return journal.Learnt{}, fmt.Errorf("add %s %s: %w", device.Type(), step.Name, err)
		}
		if device.Attrs().Namespace != nil {
			// Made in another namespace: the index found by name is not its own.
			return journal.Learnt{}, nil
		}
		return journal.Learnt{Index: device.Attrs().Index}, nil
	})
}

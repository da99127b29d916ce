package link

import (
	"context"
	"fmt"
	"sync"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
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
	// Before is the plan that the lab had, of which interfaces keep nothing; nil for a new lab.
	Before *plan.Index
	// Nodes are the holders of the nodes' namespaces by node name.
	Nodes map[string]Holder
	// Fabric holds the lab's own namespace; FabricNode is the same process, for the
	// programs that run there.
	Fabric     Holder
	FabricNode *node.Running
	// StateDir is the lab's folder.
	StateDir string
	// InitPath and EnginePath are the programs nines-init and nines-engine.
	InitPath, EnginePath string
	// Fresh begins the namespaces that links have for themselves.
	Fresh *Fresh

	mu       sync.Mutex
	settings map[deviceKey]map[string]string
	// fabrics are the holders of the links that have their own namespaces instead of the lab's
	// fabric.
	fabrics map[string][]Holder
}

// Make makes a link between the given endpoints: all of the link's or, where the kind is
// Incremental, only the new ones.
func (s *Site) Make(ctx context.Context, l plan.Link, endpoints []plan.Endpoint) error {
	maker := kinds[l.Kind].Make
	if maker == nil {
		return fmt.Errorf("link %q: this version of nines does not support the link kind %q", l.Name, l.Kind)
	}
	err := maker(ctx, s, l, endpoints)
	if err == nil {
		err = s.impair(l, endpoints)
	}
	return inLink(l, err)
}

// Leave removes endpoints from a link that stays, before their steps in the journal are undone.
func (s *Site) Leave(ctx context.Context, l plan.Link, endpoints []plan.Endpoint) error {
	leave := kinds[l.Kind].Leave
	if leave == nil {
		return nil
	}
	return inLink(l, leave(ctx, s, l, endpoints))
}

// inLink adds the link's name to an error.
func inLink(l plan.Link, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("link %q (%s): %w", l.Name, l.Kind, explain(l.Kind, err))
}

// explain turns the error of a kernel that does not know a kind of device into an exit.MissingError.
func explain(kind spec.LinkKind, err error) error {
	if !isUnsupported(err) {
		return err
	}
	return &exit.MissingError{
		Capability: string(kind), Reason: "the kernel refuses to make such a device", Err: err,
		Remedy: "load the kernel's module, or choose another link kind; nines host shows what the kernel supports",
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

// FabricsOf are the holders of the namespaces with a link's devices outside nodes: the lab's fabric,
// a program of the link, or one for each endpoint.
func (s *Site) FabricsOf(l plan.Link) []Holder {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.fabrics[l.Name]; len(own) > 0 {
		return own
	}
	return []Holder{s.Fabric}
}

// own notes that a link has a namespace of its own, which is not the fabric.
func (s *Site) own(l plan.Link, holder Holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fabrics == nil {
		s.fabrics = map[string][]Holder{}
	}
	s.fabrics[l.Name] = append(s.fabrics[l.Name], holder)
}

// ownNetwork makes a network namespace of the link's own, which stands for a host that the link
// reaches, and quiets it.
func (s *Site) ownNetwork(l plan.Link, name string) (Holder, error) {
	network, err := node.Place{Journal: s.Journal, InitPath: s.InitPath}.HoldLinkNetwork(l.Name, name)
	if err != nil {
		return Holder{}, err
	}
	holder := Holder{PID: network.PID, Step: network.Step}
	s.own(l, holder)
	return holder, s.Fresh.Begin(holder)
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
	step.Kind = KindLink
	step.Name = device.Attrs().Name
	return s.Journal.Make(step, func() (journal.Learnt, error) {
		if err := handle.LinkAdd(device); err != nil {
			return journal.Learnt{}, fmt.Errorf("add %s %s: %w", device.Type(), step.Name, err)
		}
		if device.Attrs().Namespace != nil {
			// The device was made in another namespace, so an index found by name here would be
			// another device's.
			return journal.Learnt{}, nil
		}
		return journal.Learnt{Index: device.Attrs().Index}, nil
	})
}

// HolderOf is what holds the network of a node.
func HolderOf(r *node.Running) Holder {
	id, step := r.Holder()
	return Holder{PID: id.PID, Step: step}
}

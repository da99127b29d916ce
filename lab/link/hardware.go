package link

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Hardware prepares the PCI functions of links: it makes and sets up virtual functions, and binds
// each function to the driver that its endpoint needs. It runs before the nodes start, since a
// container gets the device nodes of its functions when it starts.
type Hardware struct {
	Journal *journal.Journal
	Plan    *plan.Plan
	// Progress receives a few words on each step that takes long; may be nil.
	Progress func(string)

	bus pci.Bus
}

// Prepare prepares the functions of the links that have some.
func (h *Hardware) Prepare(ctx context.Context, links []plan.Link) error {
	links = slices.DeleteFunc(slices.Clone(links), func(l plan.Link) bool { return !l.Kind.Descriptor().End.IsHardware() })
	ports := slices.DeleteFunc(slices.Clone(h.Plan.PhysicalFunctions), func(port plan.PhysicalFunction) bool {
		return !slices.ContainsFunc(links, func(l plan.Link) bool { return onPort(l, port.Address) })
	})
	// Drivers take seconds to make virtual functions; two ports can do so at the same time.
	err := node.Each(ctx, len(ports), func(i int) error {
		if err := h.joinPort(ctx, ports[i], links); err != nil {
			return fmt.Errorf("port %s: %w", ports[i].Name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := h.testCables(ctx, links); err != nil {
		return err
	}
	for _, l := range links {
		for i, e := range l.Endpoints {
			if err := h.take(ctx, l, e); err != nil {
				return inLink(l, fmt.Errorf("%s:%s: %w", l.Endpoints[i].Node, e.Interface, err))
			}
		}
	}
	return nil
}

func onPort(l plan.Link, address string) bool {
	return slices.ContainsFunc(l.Endpoints, func(e plan.Endpoint) bool { return e.Function.Port == address })
}

// KindPort is the use of a NIC port, Path, for its virtual functions, under Token: the last lab to
// end its use restores the number of functions and the port.
var KindPort = journal.Register("port", journal.Undo{Step: func(ctx context.Context, u journal.Undoing) error {
	return pci.Bus{}.LeavePort(ctx, u.Path, u.Token, u.Notef)
}, Lost: "virtual functions of network cards"})

// joinPort makes a port's virtual functions, once for the lab.
func (h *Hardware) joinPort(ctx context.Context, port plan.PhysicalFunction, links []plan.Link) error {
	step := journal.Step{Kind: KindPort, Path: port.Address, Name: port.Name, Token: h.Journal.Token("port/" + port.Address)}
	wanted := pci.Port{VFs: port.VFs}
	for _, l := range links {
		if onPort(l, port.Address) {
			wanted.MTU = max(wanted.MTU, l.MTU)
		}
	}
	unlock, err := h.bus.Lock(ctx, port.Address)
	if err != nil {
		return err
	}
	defer unlock()
	now, err := h.bus.ReadPort(port.Address)
	if err != nil {
		return err
	}
	join := func() (journal.Learnt, error) {
		return journal.Learnt{}, h.bus.JoinPort(ctx, port.Address, step.Token, wanted, now)
	}
	// A change of the lab may need more functions of a port that it already uses.
	if slices.ContainsFunc(h.Journal.Entries(), func(e journal.Entry) bool { return e.Kind == step.Kind && e.Path == step.Path }) {
		_, err = join()
		return err
	}
	return h.Journal.Make(step, join)
}

// KindFunction is a PCI function, Path, that the lab has under Token: a virtual function of the
// port Target, or a whole device without Target. Old is its pci.State. Usually its interface is
// back on the host before the undo, as its node's namespace is gone; if the node still runs, the
// undo moves the interface back.
var KindFunction = journal.Register("function", journal.Undo{Step: func(ctx context.Context, u journal.Undoing) error {
	var old pci.State
	if err := json.Unmarshal([]byte(u.Old), &old); err != nil {
		return fmt.Errorf("what the function was: %w", err)
	}
	return pci.Bus{}.Release(ctx, u.Path, u.Target, u.Token, old)
}, Lost: "drivers, names and addresses of network cards and their functions"})

// take claims and sets up the function of an endpoint.
func (h *Hardware) take(ctx context.Context, l plan.Link, e plan.Endpoint) error {
	f := e.Function
	if f.Driver != "" {
		if err := h.bus.LoadDriver(ctx, string(f.Driver)); err != nil {
			return err
		}
	}
	lock := f.Port
	if f.Whole() {
		lock = f.Address
	}
	unlock, err := h.bus.Lock(ctx, lock)
	if err != nil {
		return err
	}
	defer unlock()
	if !f.Whole() {
		if now := h.bus.VF(f.Port, f.Index); now != f.Address {
			return fmt.Errorf("VF %d of %s has the address %q, and not %s as planned; plan again", f.Index, f.Name, now, f.Address)
		}
	}
	there, err := h.bus.Exists(f.Address)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("the host no longer has %s; plan again", f.Address)
	}
	claim := pci.Claim{Lab: h.Plan.Name, Token: h.Journal.Token(fmt.Sprintf("function/%s/%s/%s", f.Address, e.Node, e.Interface))}
	if err := h.bus.Free(f.Address, claim.Token); err != nil {
		return err
	}
	old, err := h.bus.ReadState(f.Address, f.Port, f.Index)
	if err != nil {
		return err
	}
	text, err := json.Marshal(old)
	if err != nil {
		return err
	}
	wanted := pci.Wanted{Driver: string(f.Driver)}
	if old.VF != nil {
		wanted.VF = h.settings(l, e, *old.VF)
	}
	// The step belongs to the link, not to the node: it is undone when the link is rebuilt.
	step := journal.Step{Kind: KindFunction, Link: l.Name, Path: f.Address, Target: f.Port, Value: string(f.Driver), Old: string(text), Token: claim.Token}
	err = h.Journal.Make(step, func() (journal.Learnt, error) {
		return journal.Learnt{}, h.bus.Take(ctx, f.Address, f.Port, claim, wanted)
	})
	if err != nil {
		return err
	}
	if f.Driver == spec.DriverVFIO {
		return h.bus.CheckGroup(f.Address, claim.Token)
	}
	return nil
}

// settings are a virtual function's settings on its port.
func (h *Hardware) settings(l plan.Link, e plan.Endpoint, old pci.VFSettings) *pci.VFSettings {
	f := e.Function
	wanted := pci.VFSettings{
		Index: f.Index, MAC: old.MAC, VLAN: f.VLAN, SpoofCheck: f.SpoofCheck, Trust: f.Trust, MaxRateMbit: f.RateMbit, LinkState: old.LinkState,
	}
	for _, n := range h.Plan.Nodes {
		for _, i := range n.Interfaces {
			if n.Name == e.Node && i.Name == e.Interface && i.Link == l.Name {
				wanted.MAC = i.MAC
			}
		}
	}
	return &wanted
}

// Files are the device nodes of the functions that a program in a node drives.
func (h *Hardware) Files(ctx context.Context, n plan.Node) ([]string, error) {
	var files []string
	for _, address := range n.Functions {
		list, err := h.bus.Files(ctx, address)
		if err != nil {
			return nil, fmt.Errorf("node %q: %w", n.Name, err)
		}
		for _, file := range list {
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// testCables sends a frame from port to port, for each link over a cable.
func (h *Hardware) testCables(ctx context.Context, links []plan.Link) error {
	tested := map[[2]string]bool{}
	for _, l := range links {
		if !l.Cabled() {
			continue
		}
		a, b := l.Endpoints[0].Function, l.Endpoints[1].Function
		if tested[[2]string{a.Port, b.Port}] || tested[[2]string{b.Port, a.Port}] {
			continue
		}
		tested[[2]string{a.Port, b.Port}] = true
		if h.Progress != nil {
			h.Progress(fmt.Sprintf("testing the cable between %s and %s", a.Name, b.Name))
		}
		for _, port := range []string{a.Port, b.Port} {
			if err := h.bus.AwaitCarrier(ctx, port); err != nil {
				return inLink(l, err)
			}
		}
		if err := testCable(ctx, h.bus.Interface(a.Port), h.bus.Interface(b.Port)); err != nil {
			return inLink(l, err)
		}
	}
	return nil
}

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// usualVFs is how many virtual functions a port without any gets: more than most labs need, so that
// a second lab finds some, as the kernel changes their number only through 0; and few enough that
// the port keeps queues for itself.
const usualVFs = 8

// card is a port with the functions of it that are assigned.
type card struct {
	*host.Function
	// given maps a VF's index to the endpoint of this lab that has it.
	given map[int]*endpoint
	whole *endpoint
}

// assignFunctions gives the endpoints of hardware links their PCI functions: whole devices first,
// then VFs of ports that the file names, then VFs of other ports.
func (w *work) assignFunctions() error {
	for i := range w.inv.Functions {
		w.cards = append(w.cards, &card{Function: &w.inv.Functions[i], given: map[int]*endpoint{}})
	}
	for _, l := range w.links {
		if l.kind.Descriptor().End != spec.EndDevice {
			continue
		}
		if err := w.assignWhole(l); err != nil {
			return at(hardwareOf(l, err), l.steps("passthrough", "devices"))
		}
	}
	for _, named := range []bool{true, false} {
		for _, l := range w.links {
			if l.kind.Descriptor().End != spec.EndFunction || (len(l.sriov().Ports) > 0) != named {
				continue
			}
			if err := w.assignVFs(l, named); err != nil {
				return at(hardwareOf(l, err), l.steps("sriov", "ports"))
			}
		}
	}
	if err := w.assignVLANs(); err != nil {
		return err
	}
	for _, l := range w.links {
		for _, e := range l.endpoints {
			if err := w.driveFunction(e); err != nil {
				return at(hardwareOf(l, err), l.steps())
			}
		}
	}
	return nil
}

// sriov is what the file says about a link's functions, with the defaults.
func (l *link) sriov() spec.SRIOV {
	if l.spec.SRIOV == nil {
		return spec.SRIOV{Driver: spec.DriverVFIO}
	}
	s := *l.spec.SRIOV
	defaultTo(&s.Driver, spec.DriverVFIO)
	return s
}

// findCard finds a port by its interface's name or its address.
func (w *work) findCard(name string) *card {
	i := slices.IndexFunc(w.cards, func(c *card) bool { return c.Interface == name || strings.EqualFold(c.Address, name) })
	if i < 0 {
		return nil
	}
	return w.cards[i]
}

// assignVFs gives both ends of a link a VF, of the ports that the link names, or of those that the
// plan chooses.
func (w *work) assignVFs(l *link, named bool) error {
	var ports []*card
	if named {
		for _, name := range l.sriov().Ports {
			c, err := w.namedPort(l, name)
			if err != nil {
				return err
			}
			ports = append(ports, c)
		}
		if len(ports) == 2 && ports[0] == ports[1] {
			return at(&Conflict{"link " + l.name + ": sriov.ports", fmt.Sprintf("%s and %s are one port, and no cable joins a port to itself", l.sriov().Ports[0], l.sriov().Ports[1]),
				"name the port at the cable's other end, or the one port alone"}, l.steps("sriov", "ports"))
		}
	} else {
		var err error
		if ports, err = w.choosePorts(l); err != nil {
			return err
		}
	}
	if len(ports) == 1 {
		ports = append(ports, ports[0])
	}
	for i, e := range l.endpoints {
		c := ports[i]
		index := w.keptVF(e, c)
		if index < 0 {
			index = w.freeVF(c)
		}
		if index < 0 {
			return w.usedUp(e, c)
		}
		c.given[index] = e
		s := l.sriov()
		e.function = Function{
			Address: c.VFAddress(index), Name: c.Name(), Port: c.Address, Index: index,
			Trust: s.Trust == nil || *s.Trust, SpoofCheck: s.SpoofCheck, RateMbit: int(int64(s.Rate) / 1_000_000), NUMANode: c.NUMANode,
		}
		if e.function.Address == "" {
			return &Impossible{fmt.Sprintf("%s needs VF %d of %s", e, index, c.Name()), "the kernel does not say which address it will have (sriov_offset)",
				fmt.Sprintf("make the functions first: echo %d > /sys/bus/pci/devices/%s/sriov_numvfs", index+1, c.Address)}
		}
		e.node.because("%s is VF %d of %s (%s)", e.name, index, c.Name(), e.function.Address)
	}
	return nil
}

// namedPort is a port that the file names, which must be able to have VFs.
func (w *work) namedPort(l *link, name string) (*card, error) {
	demand := fmt.Sprintf("link %s needs virtual functions of %s", l.name, name)
	c := w.findCard(name)
	if c == nil {
		return nil, &Impossible{demand, "the host has no such card on its PCI bus", w.haveCards()}
	}
	if c.whole != nil {
		return nil, at(&Conflict{"link " + l.name + ": sriov.ports", fmt.Sprintf("%s is used as a whole by %s", name, c.whole), "name another port"}, l.steps("sriov", "ports"))
	}
	if reason, remedy := cannotHaveVFs(c); reason != "" {
		return nil, &Impossible{demand, reason, remedy}
	}
	return c, nil
}

// cannotHaveVFs says why a card cannot have VFs; empty if it can.
func cannotHaveVFs(c *card) (reason, remedy string) {
	switch {
	case c.TotalVFs == 0:
		return "it has no SR-IOV, or it is off in the firmware",
			"switch SR-IOV on in the firmware of the machine and of the card, name another port, or use kind: passthrough for the whole port"
	case c.Interface == "":
		return fmt.Sprintf("it has no interface here (driver %s), through which its virtual functions are set up", choose(c.Driver == "", "none", c.Driver)),
			"give it back to the kernel's driver: dpdk-devbind.py --bind=DRIVER " + c.Address
	case c.Carrier == "no":
		return "it has no carrier", "plug in its cable, and set the port at the other end up"
	}
	return "", ""
}

// choosePorts chooses ports for a link that names none: among ports that the host does not use
// itself, those nearest to its nodes. If there are exactly two, they are taken for the ends of a
// cable, which is tested before it is used; with more it is unknown which belong together, so one
// port's internal switch joins both functions.
func (w *work) choosePorts(l *link) ([]*card, error) {
	demand := fmt.Sprintf("link %s needs virtual functions of a network card", l.name)
	var usable []*card
	reason, remedy := "the host has no network card on its PCI bus", "use kind: veth, or the laboratory: nines vlab run FILE"
	for _, c := range w.cards {
		if c.whole != nil {
			if len(usable) == 0 {
				reason, remedy = fmt.Sprintf("%s is used as a whole by %s", c.Name(), c.whole), "remove the passthrough link, or use kind: veth"
			}
			continue
		}
		if why, what := cannotHaveVFs(c); why != "" {
			if len(usable) == 0 {
				reason, remedy = c.Name()+": "+why, what
			}
			continue
		}
		usable = append(usable, c)
	}
	if len(usable) == 0 {
		return nil, &Impossible{demand, reason, remedy}
	}
	if quiet := slices.DeleteFunc(slices.Clone(usable), func(c *card) bool { return c.Uplink }); len(quiet) > 0 {
		usable = quiet
	}
	if len(usable) == 2 && w.freeVF(usable[0]) >= 0 && w.freeVF(usable[1]) >= 0 {
		w.noteOnce("Links of kind sriov lead from %s to %s, which are assumed to be the ends of one cable; choose others with sriov.ports.", usable[0].Name(), usable[1].Name())
		return usable, nil
	}
	slices.SortStableFunc(usable, func(a, b *card) int {
		return cmp.Or(cmp.Compare(boolToInt(w.freeVFs(a) < 2), boolToInt(w.freeVFs(b) < 2)), cmp.Compare(w.away(l, a), w.away(l, b)))
	})
	if w.freeVFs(usable[0]) < 2 {
		return nil, w.usedUp(l.endpoints[0], usable[0])
	}
	w.noteOnce("Link %s stays within %s, whose own switch joins its virtual functions; to use a cable, name its two ports in sriov.ports.", l.name, usable[0].Name())
	return usable[:1], nil
}

// away is how far a card is from the CPUs that a link's nodes are bound to.
func (w *work) away(l *link, c *card) int {
	sum := 0
	for _, e := range l.endpoints {
		if c.NUMANode < 0 {
			continue
		}
		if m := e.node.spec.MemoryNode; m != nil {
			sum += w.distance(*m, c.NUMANode)
		} else if list, err := cpulist.Parse(e.node.spec.CPUList); err == nil {
			for _, numa := range numaOf(w.inv, list) {
				sum += w.distance(numa, c.NUMANode)
			}
		}
	}
	return sum
}

// vfCount is how many VFs a port has, or will have once the lab uses it.
func (c *card) vfCount() int {
	if c.NumVFs > 0 {
		return c.NumVFs
	}
	return c.TotalVFs
}

// freeVF is the first unassigned VF of a port; -1 if there is none.
func (w *work) freeVF(c *card) int {
	for i := range c.vfCount() {
		if c.given[i] == nil && !w.othersVF(c, i) && !w.keepsVF(c, i) {
			return i
		}
	}
	return -1
}

func (w *work) freeVFs(c *card) int {
	n := 0
	for i := range c.vfCount() {
		n += boolToInt(c.given[i] == nil && !w.othersVF(c, i) && !w.keepsVF(c, i))
	}
	return n
}

// othersVF reports whether someone else has a VF. VFs that this lab already has count as free, so
// that a plan does not depend on whether the lab is up.
func (w *work) othersVF(c *card, index int) bool {
	i := slices.IndexFunc(c.VFs, func(vf host.VirtualFunction) bool { return vf.Index == index })
	if i < 0 {
		return c.NumVFs > 0 // the inventory lists another number of VFs
	}
	return c.VFs[i].UsedBy != "" && c.VFs[i].Lab != w.exp.Name
}

// usedUp says that a port has no VF left.
func (w *work) usedUp(e *endpoint, c *card) error {
	demand := fmt.Sprintf("%s needs a virtual function of %s", e, c.Name())
	ours := 0
	var others []string
	for i := range c.vfCount() {
		switch {
		case c.given[i] != nil:
			ours++
		case w.othersVF(c, i):
			for _, vf := range c.VFs {
				if vf.Index == i {
					others = append(others, fmt.Sprintf("%d by %s", i, vf.UsedBy))
				}
			}
		}
	}
	reason := fmt.Sprintf("it has %s, and the lab uses %d", terminal.Count(c.vfCount(), "virtual function"), ours)
	if len(others) > 0 {
		reason += "; others have " + strings.Join(others, ", ")
	}
	remedy := "use fewer links, or name other ports"
	if c.NumVFs > 0 && c.NumVFs < c.TotalVFs {
		remedy = fmt.Sprintf("the card can have %d, but the number can only change from 0: take down what uses them, then echo 0 > /sys/bus/pci/devices/%s/sriov_numvfs", c.TotalVFs, c.Address)
	}
	return &Impossible{demand, reason, remedy}
}

func (w *work) haveCards() string {
	var names []string
	for _, c := range w.cards {
		names = append(names, choose(c.Interface == "", c.Address, c.Interface+" ("+c.Address+")"))
	}
	if len(names) == 0 {
		return "it has none; use kind: veth, or the laboratory: nines vlab run FILE"
	}
	return "it has " + strings.Join(names, ", ")
}

// physicalFunctions are the ports whose VFs the plan assigns, by address.
func (w *work) physicalFunctions() []PhysicalFunction {
	var list []PhysicalFunction
	for _, c := range w.cards {
		most := 0
		for i, e := range c.given {
			if e.function.Port != "" { // else the VF is used as it is, and the port is not changed
				most = max(most, i+1)
			}
		}
		if most == 0 {
			continue
		}
		vfs := c.NumVFs
		if vfs == 0 {
			vfs = min(c.TotalVFs, max(most, usualVFs))
		}
		list = append(list, PhysicalFunction{Address: c.Address, Name: c.Name(), VFs: vfs})
		if c.Uplink {
			w.note("The host's own traffic leaves by %s: making its virtual functions may interrupt it for seconds.", c.Name())
		}
	}
	return list
}

func (w *work) noteOnce(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(w.notes, note) {
		w.notes = append(w.notes, note)
	}
}

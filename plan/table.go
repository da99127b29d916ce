package plan

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// addressReasons explain how assignMACs and freeSubnet choose.
var addressReasons = []string{
	"a MAC is a locally administered hash of the lab's prefix, the link and the endpoint",
	fmt.Sprintf("a link's subnet is a free one of %s, starting at the hash of the prefix and the link", labRange),
	"so both stay the same when other links are added or removed; the file's addresses take precedence",
}

// Write prints the plan: who gets which CPUs and memory, the links' addresses and
// programs, the traffic's way, then why, then what to know.
func (p *Plan) Write(out io.Writer) error {
	var b bytes.Buffer
	terminal.Printf(&b, "plan for %s: names begin with %s-, housekeeping on %s%s\n\n", p.Name, p.Prefix, cpuText(p.HousekeepingCPUs), p.isolationText()+p.tuningText())
	t := &terminal.Table{}
	t.Row("NODE", "RUNTIME", "CPUS", "ENGINE", "NUMA", "MEMORY", "APP", "NAME ON THE HOST")
	for _, n := range p.Nodes {
		t.Row(n.Name, n.runtimeText(), n.cpusText(), p.engineText(n),
			cpulist.Format(n.MemoryNodes), n.memoryText(), n.appText(), n.HostName)
	}
	if len(p.Links) > 0 {
		t.Row()
		t.Row("LINK", "KIND", "MTU", "ENDPOINT", "MAC", "ADDRESSES", "FABRIC")
	}
	index := p.Index()
	for _, l := range p.Links {
		for i, e := range l.Endpoints {
			first := []any{l.Name, l.kindText(), l.MTU}
			if i > 0 {
				first = []any{"", "", ""}
			}
			face := index.face(e)
			t.Row(append(first, e.Node+":"+face.CalledAs(), face.MAC, face.addressText(), l.meetingText(e, face))...)
		}
	}
	p.writeReceived(t)
	p.writeDisturbances(t)
	p.writePorts(t)
	p.writePrograms(t)
	p.writeImpairments(t)
	p.writeEvents(t)
	p.writePower(t)
	_ = t.Write(&b, terminal.Style{}) // a buffer takes everything
	p.writeHugepages(&b)
	if m := p.Management; m != nil {
		device := m.Device
		if m.Shared() {
			device = m.Uplink.Name + ", which the nodes share"
		}
		terminal.Printf(&b, "\nmanagement: %s, this host is %s by its interface %s%s\n", m.Subnet, m.Address, device, prefixed(", names and DHCP at ", m.Server))
	}
	for _, t := range p.Streams() {
		terminal.Printf(&b, "\ntraffic: %s\n", strings.Join(t.Path, " > "))
		terminal.Printf(&b, "         %s on %s, %d-byte frames%s, backend %s, %s, wait %s\n", t.Role, t.cpusText(),
			t.Stream.FrameBytes, t.Stream.Version(), t.Stream.Backend, t.Stream.IO, t.Stream.Wait)
		for i, step := range t.Way.Steps {
			name := "         "
			if i == 0 {
				name = "on it:   "
			}
			terminal.Printf(&b, "%s%s: %s\n", name, step.Node, step.Does)
		}
	}
	p.Duet.write(&b)
	terminal.Printf(&b, "\nwhy:\n")
	t = &terminal.Table{}
	reasons := func(name string, list []string) {
		for i, why := range list {
			if i > 0 {
				name = ""
			}
			t.Row("  "+name, why+".")
		}
	}
	for _, n := range p.Nodes {
		reasons(n.Name+":", n.Why)
	}
	for _, l := range p.Links {
		if l.Switch != nil {
			reasons("link "+l.Name+":", l.Switch.Why)
		}
	}
	if p.Management != nil {
		reasons("management:", p.Management.Why)
	}
	reasons("addresses:", addressReasons)
	_ = t.Write(&b, terminal.Style{})
	notes := p.Notes
	if note := p.noWall(); note != "" {
		notes = append(slices.Clone(notes), note)
	}
	if len(notes) > 0 {
		terminal.Printf(&b, "\nnotes:\n")
	}
	for _, note := range notes {
		terminal.Printf(&b, "  - %s\n", note)
	}
	_, err := b.WriteTo(out)
	return err
}

// isolationText describes the isolation; empty for the default degree.
func (p *Plan) isolationText() string {
	switch {
	case p.Isolation == spec.IsolationNone:
		return "; nothing is pinned"
	case Partitions(p.Isolation):
		return fmt.Sprintf("; %s: %s", p.Isolation, cpuText(p.IsolatedCPUs))
	}
	return ""
}

// tuningText names the profile of host settings.
func (p *Plan) tuningText() string {
	if p.Tuning == "" {
		return ""
	}
	return fmt.Sprintf("; host settings: %s", p.Tuning)
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// kindText is the link's kind, and that it is the management network.
func (l Link) kindText() string {
	if l.Management {
		return string(l.Kind) + " (not measured)"
	}
	return string(l.Kind)
}

func (n Node) cpusText() string {
	list := cpulist.Format(n.CPUs)
	switch {
	case n.Pod != nil:
		return n.Pod.cpusText()
	case !n.CPUsExclusive:
		list += " (shared)"
	case n.Isolated:
		list += " (isolated)"
	}
	return list
}

// engineText is the CPU of the node's engine, for an app or for an end of the traffic.
func (p *Plan) engineText(n Node) string {
	if n.App.Handling().HasEngine() {
		return engineCPUText(n.App.CPU)
	}
	if t := p.Traffic; t != nil {
		switch n.Name {
		case t.From.Node:
			return engineCPUText(t.FromCPU)
		case t.To.Node:
			return engineCPUText(t.ToCPU)
		}
	}
	return "-"
}

func engineCPUText(cpu int) string {
	if cpu < 0 {
		return "any"
	}
	return strconv.Itoa(cpu)
}

func (n Node) memoryText() string {
	if n.MemoryBytes == 0 {
		return "no limit"
	}
	return terminal.MiB(n.MemoryBytes)
}

func (n Node) appText() string {
	if n.App == nil {
		return "-"
	}
	if h := n.App.Handling(); !h.HasEngine() {
		return strings.TrimSuffix(string(h.Kind)+", "+string(h.Leaves), ", ")
	}
	return fmt.Sprintf("%s (%s, %s, %s)", n.App.Kind, n.App.Backend, n.App.IO, n.App.Wait)
}

// face is the interface that an endpoint names; empty if there is none.
func (x *Index) face(e Endpoint) Interface {
	if i := x.Interface(e); i != nil {
		return *i
	}
	return Interface{Name: e.Interface}
}

// addressText lists the addresses that the plan gives.
func (i Interface) addressText() string {
	if len(i.Addresses) == 0 {
		return "from the cluster"
	}
	return strings.Join(i.Addresses, " ")
}

func (l Link) fabricText(e Endpoint) string {
	switch {
	case e.Function.Address != "":
		return e.Function.text()
	case l.Parent != "":
		return "on the host's " + l.Parent
	case e.FabricDevice != "" && l.Device != "":
		return e.FabricDevice + " in " + l.Device
	case e.FabricDevice != "":
		return e.FabricDevice
	case l.Device != "":
		return "on " + l.Device
	}
	return "-"
}

func (t *Traffic) cpusText() string {
	if t.FromCPU < 0 {
		return "any CPU"
	}
	if t.Role == RoleLoop || t.FromCPU == t.ToCPU {
		return fmt.Sprintf("CPU %d", t.FromCPU)
	}
	return fmt.Sprintf("CPUs %d and %d", t.FromCPU, t.ToCPU)
}

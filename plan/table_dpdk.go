package plan

import (
	"fmt"
	"io"
	"slices"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// writePrograms lists the programs of links.
func (p *Plan) writePrograms(t *terminal.Table) {
	if !slices.ContainsFunc(p.Links, func(l Link) bool { return l.Switch != nil }) {
		return
	}
	t.Row()
	t.Row("SWITCH", "KIND", "POLLS ON", "ELSE ON", "MEMORY OF DPDK", "PORTS")
	for _, l := range p.Links {
		s := l.Switch
		if s == nil {
			continue
		}
		polls := cpulist.Format(s.CPUs)
		if polls == "" {
			polls = "-"
		}
		t.Row(l.Name, l.Kind, polls, s.HousekeepingCPU, s.DPDK.memoryText(), len(l.Endpoints))
	}
}

// memoryText says how much memory DPDK takes, and where.
func (d *DPDK) memoryText() string {
	if d == nil {
		return "-"
	}
	return fmt.Sprintf("%s on NUMA node %d", terminal.MiB(d.MemoryBytes), d.MemoryNode)
}

// writeHugepages says who takes how many hugepages.
func (p *Plan) writeHugepages(out io.Writer) {
	h := p.Hugepages
	switch {
	case h == nil:
		return
	case len(h.Demands) == 0:
		terminal.Printf(out, "\nhugepages: none; DPDK takes ordinary memory\n")
		return
	}
	total := 0
	for _, d := range h.Demands {
		total += d.Pages
	}
	terminal.Printf(out, "\nhugepages: %d of %s, %s\n", total, terminal.MiB(h.PageBytes), modeText[h.Mode])
	for _, d := range h.Demands {
		terminal.Printf(out, "           %d for %s, on NUMA node %d\n", d.Pages, d.Who, d.MemoryNode)
	}
}

var modeText = map[spec.Hugepages]string{
	spec.HugepagesAuto:    "of the free ones",
	spec.HugepagesReserve: "missing ones are reserved",
}

// meetingText says where an endpoint attaches to its link.
func (l Link) meetingText(e Endpoint, face Interface) string {
	text := l.fabricText(e)
	listens := func(program string) string {
		if face.Device != nil && face.Device.Server {
			return e.Node
		}
		return program
	}
	switch e.Attach {
	case AttachVhost:
		text = fmt.Sprintf("vhost-user %s, %s listens", e.Socket, listens("the switch"))
	case AttachMemif:
		text = fmt.Sprintf("memif %s, %s listens", e.Socket, listens("the other end"))
	case AttachVeth:
	}
	switch {
	case face.Device == nil:
	case face.Device.Claimed:
		text = "a socket that the pod claims"
	case face.Device.Arguments != "":
		text += "; DPDK opens " + face.Device.Arguments
	case face.Device.Kernel:
		text += "; DPDK opens it by " + face.Device.Driver
	}
	return text
}

package tune

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/terminal"
)

// Write prints the plan as text: first what would change, then what is in force and what
// the host lacks.
func (p Plan) Write(out io.Writer) error {
	var b strings.Builder
	terminal.Printf(&b, "Profile %s (%s) on %s, Linux %s\n", p.Profile, p.Source, p.Hostname, p.Kernel)
	if len(p.CPUs) > 0 {
		terminal.Printf(&b, "CPUs %s; housekeeping: %s\n", cpulist.Format(p.CPUs), cpulist.Format(p.Housekeeping))
	}
	p.writeSettings(&b)
	p.writeBoot(&b)
	for _, note := range p.Notes {
		terminal.Printf(&b, "\nNote: %s\n", note)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (p Plan) writeSettings(b *strings.Builder) {
	var change, force, missing []group
	for _, g := range grouped(p.Settings) {
		switch {
		case g.Absent != "":
			missing = append(missing, g)
		case g.InForce:
			force = append(force, g)
		default:
			change = append(change, g)
		}
	}
	if len(change) > 0 {
		terminal.Printf(b, "\nSettings that nines tune apply would change\n")
	}
	for _, g := range change {
		now := g.Now
		switch {
		case g.Method == Hold && now == "":
			now = "not held"
		case now == "":
			now = "not known"
		}
		terminal.Printf(b, "  %s: %s → %s\n", g.title(), now, g.Value)
		writeAdvice(b, g.Advice)
	}
	if len(force) > 0 {
		terminal.Printf(b, "\nIn force already\n")
	}
	for _, g := range force {
		terminal.Printf(b, "  %s: %s\n", g.title(), g.Now)
	}
	if len(missing) > 0 {
		terminal.Printf(b, "\nNot on this host\n")
	}
	for _, g := range missing {
		terminal.Printf(b, "  %s: %s\n", g.title(), g.Absent)
	}
}

func (p Plan) writeBoot(b *strings.Builder) {
	if len(p.Boot) > 0 {
		terminal.Printf(b, "\nBoot parameters (nines tune apply --write puts them into the boot loader's files)\n")
		terminal.Printf(b, "  %s\n", p.BootLine)
	}
	for _, q := range p.Boot {
		switch {
		case q.Absent != "":
			terminal.Printf(b, "  %s: not on this host: %s\n", q.Text, q.Absent)
			continue
		case q.InForce:
			terminal.Printf(b, "  %s: in force\n", q.Text)
			continue
		case q.Now != "":
			terminal.Printf(b, "  %s, instead of %s\n", q.Text, q.Now)
		default:
			terminal.Printf(b, "  %s\n", q.Text)
		}
		writeAdvice(b, q.Advice)
		for _, conflict := range q.Conflicts {
			writeWrapped(b, "conflict: ", conflict)
		}
	}
	if len(p.Boot) > 0 {
		terminal.Printf(b, "\nThe whole command line would be\n  %s\n", p.CommandLine)
	}
	if len(p.LeftOut) > 0 && len(p.Boot) > 0 {
		terminal.Printf(b, "\nKnown, but not requested (request with --boot NAME=VALUE)\n")
		for _, l := range p.LeftOut {
			terminal.Printf(b, "  %s: %s\n", l.Name, l.Why)
		}
	}
}

func writeAdvice(b *strings.Builder, a Advice) {
	writeWrapped(b, "", a.What)
	writeWrapped(b, "costs: ", a.Cost)
	source := a.Source
	if a.Since != "" {
		source += " (since Linux " + a.Since + ")"
	}
	writeWrapped(b, "from: ", source)
}

func writeWrapped(b *strings.Builder, label, text string) {
	const indent = "      "
	b.WriteString(indent + label + terminal.Wrap(text, len(indent+label), len(indent)+2, terminal.Columns) + "\n")
}

// group is a row, and the CPUs or devices that share it.
type group struct {
	Row
	cpus    []int
	devices []string
}

func (g group) title() string {
	switch g.Scope {
	case ScopeCPU:
		return fmt.Sprintf("%s of CPU %s", g.Name, cpulist.Format(g.cpus))
	case ScopeDevice:
		return fmt.Sprintf("%s of %s", g.Name, strings.Join(g.devices, ", "))
	}
	return g.Name
}

// grouped merges rows that differ only by CPU or device.
func grouped(rows []Row) []group {
	var list []group
	for _, r := range rows {
		at := slices.IndexFunc(list, func(g group) bool {
			return g.Name == r.Name && g.Value == r.Value && g.Now == r.Now && g.Absent == r.Absent && g.Scope == r.Scope && r.Scope != ScopeHost
		})
		if at < 0 {
			list = append(list, group{Row: r})
			at = len(list) - 1
		}
		list[at].cpus = append(list[at].cpus, r.CPU)
		list[at].devices = append(list[at].devices, r.Device)
	}
	return list
}

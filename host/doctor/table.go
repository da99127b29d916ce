package doctor

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"nines.dev/nines/host"
	"nines.dev/nines/terminal"
)

// Write prints a report: a table of what matters, then each finding with its remedies.
func (r *Report) Write(out io.Writer) error {
	var b bytes.Buffer
	t := &terminal.Table{}
	if r.Source != "" {
		t.Row("source", r.Source)
	}
	t.Row("host", r.Hostname+", "+cmp.Or(r.System, "unknown system")+", "+r.RunsIn)
	t.Row("kernel", r.Kernel)
	if len(r.CPUs) > 0 {
		t.Row("judged for", namedCPUs(r.CPUs)+": "+r.Why)
	} else {
		t.Row("judged for", "no CPUs: the experiment gets no exclusive ones")
	}
	if r.Runs > 0 {
		t.Row("", "the worst of "+terminal.Count(r.Runs, "run"))
	}
	t.Row("verdict", r.sentence())
	t.Row()
	for i, f := range r.Findings {
		t.Row(i+1, f.Severity, f.atTheTail(), f.Title)
	}
	_ = t.Write(&b, terminal.Style{}) // a buffer takes all
	for i, f := range r.Findings {
		f.write(&b, i+1)
	}
	if len(r.Handled) > 0 {
		terminal.Printf(&b, "\nTaken care of while the experiment runs:\n")
		for _, h := range r.Handled {
			terminal.Printf(&b, "  - %s, by %s\n", h.ID, h.By)
		}
	}
	if len(r.Unseen) > 0 {
		terminal.Printf(&b, "\nNot visible from here:\n")
		for _, u := range r.Unseen {
			paragraph(&b, "  - ", u)
		}
	}
	_, err := b.WriteTo(out)
	return err
}

// sentence formats the verdict and the counts of findings.
func (r *Report) sentence() string {
	var parts []string
	for _, s := range severities {
		if n := r.Count(s); n > 0 {
			parts = append(parts, terminal.Count(n, string(s)))
		}
	}
	found := cmp.Or(strings.Join(parts, ", "), "nothing was found")
	switch {
	case r.Verdict == VerdictImpossible:
		return "the experiment cannot run here as it is written: " + found
	case r.Verdict == VerdictUnfit && r.Runs > 0:
		return "the experiment runs here, on a host that is not ideal for low latency: " + found
	case r.Verdict == VerdictUnfit:
		return "not fit for low latency: " + found
	}
	return "fit for low latency: " + found
}

func (f Finding) atTheTail() string {
	switch {
	case f.Cost == nil && f.Severity == host.SeverityError:
		return "does not run"
	case f.Cost == nil:
		return "-"
	}
	return "up to " + microseconds(f.Cost.ToUS)
}

// write prints all that is known of one finding.
func (f Finding) write(b *bytes.Buffer, number int) {
	terminal.Printf(b, "\n%d. %s (%s, %s)\n", number, f.Title, f.ID, f.Severity)
	if len(f.Runs) > 0 {
		paragraph(b, "   in      ", "runs "+list(f.Runs))
	}
	for i, e := range f.Evidence {
		paragraph(b, choose(i == 0, "   seen    ", "           "), e.Where+": "+e.What)
	}
	paragraph(b, "   why     ", f.Why)
	if f.Cost != nil {
		paragraph(b, "   cost    ", fmt.Sprintf("%s, %s (%s: %s)", f.Cost.span(), f.Cost.When, f.Cost.Basis, f.Cost.Source))
	}
	for i, r := range f.Remedies {
		paragraph(b, choose(i == 0, "   remedy  ", "           "), r.Text+choose(r.Reboot, "; takes a reboot", ""))
		for _, c := range r.Commands {
			terminal.Printf(b, "             # %s\n", c)
		}
	}
	paragraph(b, "   source  ", f.Source)
}

// paragraph wraps text behind a heading.
func paragraph(b *bytes.Buffer, heading, text string) {
	indent := utf8.RuneCountInString(heading)
	b.WriteString(heading + terminal.Wrap(text, indent, indent, terminal.Columns) + "\n")
}

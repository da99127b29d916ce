package doctor

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"nines.dev/nines/host"
)

// lineWidth is where prose is broken.
const lineWidth = 100

// Write prints a report: what matters in a table, then each finding with its remedies.
func (r *Report) Write(out io.Writer) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, value string) { fmt.Fprintf(w, "%s\t%s\n", name, value) }
	if r.Source != "" {
		row("source", r.Source)
	}
	row("host", r.Hostname+", "+cmp.Or(r.System, "unknown system")+", "+r.RunsIn)
	row("kernel", r.Kernel)
	if len(r.CPUs) > 0 {
		row("judged for", namedCPUs(r.CPUs)+": "+r.Why)
	} else {
		row("judged for", "no CPUs: the experiment gets none of its own")
	}
	if r.Runs > 0 {
		row("", "the worst of "+plural(r.Runs, "run"))
	}
	row("verdict", r.sentence())
	fmt.Fprintln(w)
	for i, f := range r.Findings {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", i+1, f.Severity, f.atTheTail(), f.Title)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, f := range r.Findings {
		f.write(&b, i+1)
	}
	if len(r.Handled) > 0 {
		fmt.Fprintln(&b, "\nTaken care of while the experiment runs:")
		for _, h := range r.Handled {
			fmt.Fprintf(&b, "  - %s, by %s\n", h.ID, h.By)
		}
	}
	if len(r.Unseen) > 0 {
		fmt.Fprintln(&b, "\nNot seen from here:")
		for _, u := range r.Unseen {
			paragraph(&b, "  - ", u)
		}
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// sentence words the verdict and what it rests on.
func (r *Report) sentence() string {
	var parts []string
	for _, s := range severities {
		if n := r.Count(s); n > 0 {
			parts = append(parts, plural(n, string(s)))
		}
	}
	found := cmp.Or(strings.Join(parts, ", "), "nothing was found")
	switch {
	case r.Verdict == VerdictImpossible:
		return "the experiment cannot run here as it is written: " + found
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

// write prints one finding with all that is known of it.
func (f Finding) write(b *bytes.Buffer, number int) {
	fmt.Fprintf(b, "\n%d. %s (%s, %s)\n", number, f.Title, f.ID, f.Severity)
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
			fmt.Fprintf(b, "             # %s\n", c)
		}
	}
	paragraph(b, "   source  ", f.Source)
}

// paragraph breaks prose into lines behind a heading.
func paragraph(b *bytes.Buffer, heading, text string) {
	line := heading
	indent := strings.Repeat(" ", len([]rune(heading)))
	for i, word := range strings.Fields(text) {
		if i > 0 && len([]rune(line))+1+len([]rune(word)) > lineWidth {
			fmt.Fprintln(b, strings.TrimRight(line, " "))
			line = indent
		} else if i > 0 {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(b, line)
}

package explain

import (
	"fmt"
	"io"
	"strings"
	"time"

	"nines.dev/nines/cluster/figure"
	"nines.dev/nines/terminal"
)

// Write writes the report for people.
func (r *Report) Write(out io.Writer) error {
	fmt.Fprintf(out, "pod %s/%s\n", r.Namespace, r.Pod)
	switch {
	case r.Wrong != "":
		_, err := fmt.Fprintf(out, "its wish cannot be read: %s\n", terminal.PlainLines(r.Wrong))
		return err
	case r.Wish == "":
		_, err := fmt.Fprintln(out, "It has no latency wish: nines keeps it away from fast nodes, and does not influence its placement otherwise.")
		return err
	}
	fmt.Fprintf(out, "wish: %s\n", terminal.Plain(r.Wish))
	if r.Node != "" {
		fmt.Fprintf(out, "node: %s%s\n", r.Node, r.promised())
	} else if r.Scheduler != "" {
		fmt.Fprintf(out, "the scheduler said last: %s\n", terminal.PlainLines(r.Scheduler))
	}
	fmt.Fprintln(out)
	var table terminal.Table
	for _, head := range []string{"node", "suits", "tier"} {
		table.Words(head)
	}
	for _, head := range []string{"figure", "may be", "measured"} {
		table.Numbers(head, "")
	}
	table.Words("what stands in the way")
	for i := range r.Nodes {
		table.Row(r.Nodes[i].cells(r.Node)...)
	}
	return table.Write(out, terminal.StyleOf(out))
}

func (r *Report) promised() string {
	switch p := r.Promise; {
	case p == nil:
		return ", bound without a promise"
	case p.Fallback:
		return ", because no node met the wish and the pod allows any"
	case p.MeasuredAt == nil:
		return ", promised by its labels"
	default:
		return fmt.Sprintf(", which promised %s by %s: at most %s, measured %s",
			p.Limit, p.Tier, terminal.Duration(p.BoundNs), p.MeasuredAt.Local().Format(time.DateTime))
	}
}

func (row *Row) cells(bound string) []any {
	suits := "no"
	if row.Suits {
		suits = "yes"
	}
	name := row.Node
	if name == bound {
		name += " *"
	}
	tier := row.Tier
	if row.Peer != "" {
		tier += " to " + row.Peer
	}
	value, bounds, age := terminal.None, terminal.None, terminal.None
	if row.Percentile != "" {
		value = fmt.Sprintf("p%s %s", row.Percentile, terminal.Duration(row.ValueNs))
		age = figure.Age(time.Duration(row.AgeSeconds) * time.Second)
		if row.BoundNs > 0 {
			bounds = terminal.Duration(row.BoundNs)
		}
	}
	var way []string
	if row.miss != figure.Held {
		way = append(way, row.Latency)
	}
	return []any{name, suits, tier, value, bounds, age, strings.Join(append(way, row.Obstacles...), "; ")}
}

package diagnosis

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/cluster/nodefit"
	"nines.dev/nines/terminal"
)

// Write writes the report for people.
func (r *Report) Write(out io.Writer) error {
	fmt.Fprintf(out, "pod %s/%s\n", r.Namespace, r.Pod)
	switch {
	case r.Wrong != "":
		fmt.Fprintf(out, "its latency request is invalid: %s\n", terminal.PlainLines(r.Wrong))
	case r.Request == "" && r.hasAlternatives():
		fmt.Fprintln(out, "It has no latency request, and a claim with alternatives: Kubernetes chooses its node by these.")
	case r.Request == "":
		fmt.Fprintln(out, "It has no latency request: nines keeps it away from fast nodes, and does not influence its placement otherwise.")
	default:
		fmt.Fprintf(out, "latency request: %s\n", terminal.Plain(r.Request))
	}
	if r.Node != "" {
		fmt.Fprintf(out, "node: %s%s\n", r.Node, r.promised())
	} else if r.Scheduler != "" {
		fmt.Fprintf(out, "the scheduler said last: %s\n", terminal.PlainLines(r.Scheduler))
	}
	var err error
	if r.Request != "" {
		err = r.writeNodes(out)
	}
	for i := range r.Claims {
		if err == nil {
			err = r.Claims[i].write(out)
		}
	}
	for _, a := range r.Asked {
		a.write(out, r.Node)
	}
	return err
}

// hasAlternatives reports whether a claim says which device it likes best.
func (r *Report) hasAlternatives() bool {
	return slices.ContainsFunc(r.Claims, func(c Claim) bool {
		return slices.ContainsFunc(c.Requests, func(r Request) bool { return strings.Contains(r.Name, "/") })
	})
}

// writeNodes writes how each node stands to the request.
func (r *Report) writeNodes(out io.Writer) error {
	fmt.Fprintln(out)
	var table terminal.Table
	for _, head := range []string{"node", "suits", "tier"} {
		table.Words(head)
	}
	for _, head := range []string{"figure", "may be", "measured"} {
		table.Numbers(head, "")
	}
	table.Words("obstacles")
	for i := range r.Nodes {
		table.Row(r.Nodes[i].cells(r.Node)...)
	}
	return table.Write(out, terminal.StyleOf(out))
}

func secondsOf(count int64) time.Duration { return time.Duration(count) * time.Second }

func (r *Report) promised() string {
	switch p := r.Promise; {
	case r.Request == "":
		return ""
	case p == nil:
		return ", bound without a placed latency"
	case p.Fallback:
		return ", because no node met the request and the pod allows any"
	case p.MeasuredAt == nil:
		return ", placed by its labels"
	default:
		return fmt.Sprintf(", placed with %s by %s: at most %s, measured %s",
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
		age = nodefit.Age(secondsOf(row.AgeSeconds))
		if row.BoundNs > 0 {
			bounds = terminal.Duration(row.BoundNs)
		}
	}
	var way []string
	if row.miss != nodefit.Held {
		way = append(way, row.Latency)
	}
	return []any{name, suits, tier, value, bounds, age, strings.Join(append(way, row.Obstacles...), "; ")}
}

// write writes what a claim asks for, and what it has or the nodes have for it.
func (c *Claim) write(out io.Writer) error {
	fmt.Fprintf(out, "\nclaim %s", c.Name)
	if c.Object != "" {
		fmt.Fprintf(out, " (%s)", c.Object)
	}
	fmt.Fprintln(out)
	if c.Problem != "" {
		fmt.Fprintln(out, terminal.PlainLines(c.Problem))
	}
	for i := range c.Requests {
		if err := c.Requests[i].write(out); err != nil {
			return err
		}
	}
	return nil
}

func (r *Request) write(out io.Writer) error {
	count := "all"
	if r.Count > 0 {
		count = fmt.Sprint(r.Count)
	}
	fmt.Fprintf(out, "request %s: %s of class %s\n", r.Name, count, r.Class)
	for _, s := range r.Selectors {
		fmt.Fprintf(out, "  where %s\n", terminal.Plain(s))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Capacity)) {
		fmt.Fprintf(out, "  with %s %s\n", r.Capacity[name], name)
	}
	if r.Admin {
		fmt.Fprintln(out, "  with admin access: it takes no device from others")
	}
	for _, a := range r.Allocated {
		part := ""
		for _, name := range slices.Sorted(maps.Keys(a.Consumed)) {
			part += ", " + a.Consumed[name] + " " + name
		}
		fmt.Fprintf(out, "  it has %s%s%s\n", a.Device, of(a.Node), part)
	}
	if r.Problem != "" {
		fmt.Fprintf(out, "  %s\n", terminal.PlainLines(r.Problem))
	}
	if len(r.Nodes) == 0 {
		return nil
	}
	var table terminal.Table
	table.Words("node")
	for _, head := range []string{"devices", "taken", "suit"} {
		table.Numbers(head, "")
	}
	table.Words("obstacles")
	for _, n := range r.Nodes {
		table.Row(cmp.Or(n.Node, "any"), n.Devices, n.Taken, n.Suit, n.words(r.Selectors))
	}
	return table.Write(out, terminal.StyleOf(out))
}

func of(node string) string {
	if node == "" {
		return ""
	}
	return " of node " + node
}

// mostPods bounds how many pods a line names that have devices.
const mostPods = 5

// words list the obstacles of a node's devices. Where a request has several selectors, they have
// numbers.
func (n *Supply) words(selectors []string) string {
	if n.Devices == 0 {
		return "it offers none of this class"
	}
	var parts []string
	if n.Taken > 0 {
		parts = append(parts, fmt.Sprintf("%d taken by %s", n.Taken, some(n.TakenBy)))
	}
	for _, u := range n.Unsuited {
		by := ""
		if len(selectors) > 1 {
			by = fmt.Sprintf("selector %d: ", slices.Index(selectors, u.Selector)+1)
		}
		for _, name := range slices.Sorted(maps.Keys(u.Lacks)) {
			parts = append(parts, fmt.Sprintf("%s%d without %s", by, u.Lacks[name], name))
		}
		if u.Other > 0 {
			parts = append(parts, fmt.Sprintf("%s%d with other values", by, u.Other))
		}
	}
	for _, s := range n.Short {
		parts = append(parts, s.words())
	}
	return strings.Join(parts, "; ")
}

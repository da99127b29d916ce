package plan

import (
	"fmt"
	"io"
	"strings"

	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// write prints what stands side by side, and what will be asked of it; nil prints nothing.
func (d *Duet) write(out io.Writer) {
	if d == nil {
		return
	}
	terminal.Println(out)
	t := &terminal.Table{}
	for i, s := range d.Sides {
		t.Row([]string{"duet:", ""}[i], "side "+s.Name, s.Settings, strings.Join(append(append([]string{}, s.Nodes...), s.Links...), " "))
	}
	_ = t.Write(out, terminal.Style{}) // a buffer takes everything
	terminal.Printf(out, "       asked: %s, in at most %v; differences below %s count as none\n", strings.Join(d.Ask, ", "), d.For, leastText(d.Least))
	if text := d.Forwarding.text(); text != "" {
		terminal.Printf(out, "       forwarders: %s\n", text)
	}
	for _, text := range d.Differs {
		terminal.Printf(out, "       differs too: %s\n", text)
	}
}

// text says how nines' forwarders of both sides run.
func (f Forwarding) text() string {
	switch f {
	case ForwardingOne:
		return "one thread of nines forwards for both sides"
	case ForwardingApart:
		return "each of nines' has a CPU of its own"
	case ForwardingAsleep:
		return "nines' have no CPU of their own, and sleep until packets come"
	}
	return ""
}

// leastText is the least difference that matters.
func leastText(l *spec.Least) string {
	return fmt.Sprintf("%g %% or %v, whichever is larger,", l.Share*100, l.Latency)
}

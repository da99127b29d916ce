package main

import (
	"fmt"
	"io"

	"nines.dev/nines/lab"
	"nines.dev/nines/terminal"
)

// writeHealth says of each watched node how it does, and how often it was started again.
func writeHealth(out io.Writer, in *lab.Inspection) {
	for _, n := range in.NodeList {
		h := n.Health
		if h == nil {
			continue
		}
		fmt.Fprintf(out, "\n%s: ", n.Name)
		switch {
		case n.Stopped:
			fmt.Fprint(out, "stopped")
		case !n.Alive:
			fmt.Fprint(out, "dead")
		case h.Health == nil:
			fmt.Fprint(out, "its health is not checked")
		default:
			fmt.Fprint(out, h.Status)
			if h.Said != "" {
				fmt.Fprintf(out, "; its last check failed: %s", terminal.Plain(h.Said))
			}
		}
		if h.Restarts > 0 {
			fmt.Fprintf(out, "; started again %s, the last time at %s, as %s", terminal.Count(h.Restarts, "time"), h.Last.Format("15:04:05"), terminal.Plain(h.Why))
		}
		if h.Failed != "" {
			fmt.Fprintf(out, "; it could not be started again: %s", terminal.Plain(h.Failed))
		}
		fmt.Fprintln(out)
	}
}

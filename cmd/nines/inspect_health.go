package main

import (
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
		terminal.Printf(out, "\n%s: ", n.Name)
		switch {
		case n.Stopped:
			terminal.Printf(out, "stopped")
		case !n.Alive:
			terminal.Printf(out, "dead")
		case h.Health == nil:
			terminal.Printf(out, "its health is not checked")
		default:
			terminal.Printf(out, "%s", h.Status)
			if h.Said != "" {
				terminal.Printf(out, "; its last check failed: %s", h.Said)
			}
		}
		if h.Restarts > 0 {
			terminal.Printf(out, "; started again %s, the last time at %s, as %s", terminal.Count(h.Restarts, "time"), h.Last.Format("15:04:05"), h.Why)
		}
		if h.Failed != "" {
			terminal.Printf(out, "; it could not be started again: %s", h.Failed)
		}
		terminal.Println(out)
	}
}

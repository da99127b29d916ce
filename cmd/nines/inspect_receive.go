package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/lab/receive"
	"nines.dev/nines/terminal"
)

// writeReceived shows how interfaces receive that do not receive by interrupts alone.
func writeReceived(out io.Writer, list []receive.State) {
	for _, r := range list {
		terminal.Printf(out, "\n%s:%s: rx: %s by %s", r.Node, r.Interface, r.RX, r.Mechanism)
		if r.Why != "" {
			terminal.Printf(out, " (%s)", r.Why)
		}
		if r.Problem != "" {
			terminal.Printf(out, "; %s; nines down and nines up set it up again", r.Problem)
		}
		terminal.Println(out)
		for _, t := range r.Threads {
			words := []string{
				fmt.Sprintf("thread %d %s on CPU %s as %s", t.TID, t.Name, cpulist.Format(t.CPUs), t.Scheduling),
				fmt.Sprintf("%v of CPU time", t.Ran.Round(time.Millisecond)),
				fmt.Sprintf("waited %v for it", t.Waited.Round(time.Millisecond)),
			}
			if t.Polls != nil {
				words = append(words, fmt.Sprintf("%d polls", *t.Polls))
			}
			if t.Slept > 0 {
				words = append(words, fmt.Sprintf("slept %v", t.Slept.Round(time.Millisecond)))
			}
			if t.BackOffs > 0 {
				words = append(words, fmt.Sprintf("stopped %d times by the watchdog", t.BackOffs))
			}
			terminal.Printf(out, "  %s\n", strings.Join(words, ", "))
		}
	}
}

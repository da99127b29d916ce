package explain

import (
	"fmt"
	"strings"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// writeStages lists the delays from each stage of a packet's path through the kernel to the next. every is N
// if one packet in N was followed.
func writeStages(out *strings.Builder, stages []result.StageDelay, every int) {
	if len(stages) == 0 {
		return
	}
	t := &terminal.Table{}
	t.Words("DEVICE")
	t.Words("FROM")
	t.Words("TO")
	t.Numbers("PACKETS", "")
	for _, head := range []string{"p50", "p99", "p99.9", "max"} {
		t.Numbers(head, "µs")
	}
	for _, s := range stages {
		d := s.Delay
		t.Row(terminal.Plain(s.Device), s.From, s.To, fmt.Sprint(d.Count), microsOf(d.P50), microsOf(d.P99), microsOf(d.P999), microsOf(d.Max))
	}
	of := "every packet"
	if every > 1 {
		of = fmt.Sprintf("one packet in %d", every)
	}
	fmt.Fprintf(out, "\nThe way through this kernel, of %s:\n", of)
	_ = t.Write(out, terminal.Style{}) // cannot fail
}

func microsOf(ns *int64) string {
	if ns == nil {
		return "-"
	}
	return micros(*ns)
}

package explain

import (
	"fmt"
	"slices"
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
	guests := slices.ContainsFunc(stages, func(s result.StageDelay) bool { return s.Guest != "" })
	t := &terminal.Table{}
	if guests {
		t.Words("WHERE")
	}
	t.Words("DEVICE")
	t.Words("FROM")
	t.Words("TO")
	t.Numbers("PACKETS", "")
	for _, head := range []string{"p50", "p99", "p99.9", "max"} {
		t.Numbers(head, "µs")
	}
	for _, s := range stages {
		d := s.Delay
		row := []any{terminal.Plain(s.Device), s.From, s.To, fmt.Sprint(d.Count), microsOf(d.P50), microsOf(d.P99), microsOf(d.P999), microsOf(d.Max)}
		if guests {
			row = append([]any{whereOf(s)}, row...)
		}
		t.Row(row...)
	}
	of := "every packet"
	if every > 1 {
		of = fmt.Sprintf("one packet in %d", every)
	}
	kernel := "this kernel"
	if guests {
		kernel = "the host's kernel and the guests', each by its own clock"
	}
	fmt.Fprintf(out, "\nThe way through %s, of %s:\n", kernel, of)
	_ = t.Write(out, terminal.Style{}) // cannot fail
}

// whereOf says in whose kernel a stage is.
func whereOf(s result.StageDelay) string {
	if s.Guest == "" {
		return "host"
	}
	return "guest " + terminal.Plain(s.Guest)
}

func microsOf(ns *int64) string {
	if ns == nil {
		return "-"
	}
	return micros(*ns)
}

package explain

import (
	"fmt"
	"io"
	"strings"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// Shown is what nines explain says about a trial.
type Shown struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Trial  string `json:"trial"`
	// Slowest is the number of slowest packets that the causes cover.
	Slowest int `json:"slowest"`
	// LostEvents is the number of events that should have been kept but were lost.
	LostEvents uint64 `json:"lost_events"`
	StealNs    int64  `json:"steal_ns"`
	// Recorder is what recording cost.
	Recorder Recorder `json:"recorder"`
	// Stages are the delays of all followed packets between the stages of their path, one in StagesEvery.
	Stages      []result.StageDelay `json:"stages,omitempty"`
	StagesEvery int                 `json:"stages_every,omitempty"`
	// Others are other traced trials of the result.
	Others []string `json:"others"`
	// Causes has the whole ranking, and the requested packets.
	Causes result.Causes `json:"causes"`
}

// Schema names the JSON format of Shown.
const Schema = "nines/explain/v1"

// most is the number of causes listed per part of a packet's latency, and of the ranking; --format
// json has all.
const (
	mostShares  = 5
	mostRanking = 8
)

// WriteTable writes a trial's explanation for a terminal: its causes in order with a sentence and a
// remedy each, and the microseconds of the worst packets.
func WriteTable(w io.Writer, s Shown) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s, trial %s: the causes of its %s", terminal.Plain(s.Name), s.Trial, terminal.Count(s.Slowest, "slowest packet"))
	if s.Causes.Ordinary > 0 {
		fmt.Fprintf(&out, ", compared with %s", terminal.Count(s.Causes.Ordinary, "ordinary one"))
	}
	out.WriteString("\n")
	said := map[string]int{} // the number of the cause whose remedy it is
	for i, ranked := range s.Causes.Ranking {
		if i == mostRanking {
			fmt.Fprintf(&out, "\n%s with a smaller share; --format json has all.\n", terminal.Count(len(s.Causes.Ranking)-i, "cause"))
			break
		}
		fmt.Fprintf(&out, "\n%s\n", terminal.Wrap(fmt.Sprintf("%d. %s.", i+1, terminal.Plain(ranked.Sentence)), 0, 3, terminal.Columns))
		remedy := ranked.Remedy
		if first, again := said[remedy]; again {
			remedy = fmt.Sprintf("What helps is that of %d.", first)
		} else {
			said[remedy] = i + 1
		}
		if ranked.Remedy != "" {
			fmt.Fprintf(&out, "   %s\n", terminal.Wrap(terminal.Plain(remedy), 3, 3, terminal.Columns))
		}
	}
	if len(s.Causes.Ranking) == 0 {
		out.WriteString("\nNo packet has recorded events.\n")
	}
	writePackets(&out, s.Causes.Packets)
	writeStages(&out, s.Stages, s.StagesEvery)
	out.WriteString("\n" + terminal.Wrap(s.Recorder.words(s.LostEvents), 0, 0, terminal.Columns) + "\n")
	if len(s.Causes.Notes) > 0 {
		out.WriteString("\n")
	}
	for _, note := range s.Causes.Notes {
		out.WriteString(terminal.Wrap("Note: "+terminal.Plain(note)+".", 0, 6, terminal.Columns) + "\n")
	}
	if len(s.Others) > 0 {
		out.WriteString("\n" + terminal.Wrap("Also traced (--trial): "+strings.Join(s.Others, ", "), 0, 2, terminal.Columns) + "\n")
	}
	for line := range strings.Lines(out.String()) {
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// writePackets lists the parts of each packet's latency in microseconds, and what took them.
func writePackets(out *strings.Builder, packets []result.PacketCauses) {
	if len(packets) == 0 {
		return
	}
	t := &terminal.Table{}
	t.Words("PACKET")
	t.Words("PART")
	t.Numbers("µs", "")
	t.Words("WHAT TOOK IT")
	for _, p := range packets {
		t.Row(p.ID, "latency", micros(p.LatencyNs))
		if p.Lost != nil {
			t.Row("", "", "", attribution.LostWords(p))
			continue
		}
		if !p.Recorded {
			t.Row("", "", "", "events around it were not kept, or were lost")
			continue
		}
		for _, phase := range p.Phases {
			if phase.EndNs == phase.BeginNs {
				continue
			}
			t.Row("", phase.Phase, micros(phase.EndNs-phase.BeginNs))
			line := func(ns int64, what string) {
				if ns > 0 {
					t.Row("", "", micros(ns), terminal.Cut("  "+what, terminal.Columns-40))
				}
			}
			var rest int64
			for i, share := range phase.Causes {
				if i >= mostShares {
					rest += share.Ns
					continue
				}
				line(share.Ns, terminal.Plain(attribution.Brief(share.Cause)))
			}
			line(rest, fmt.Sprintf("%d others", len(phase.Causes)-mostShares))
			line(phase.OrdinaryNs, "ordinary: the median packet has it as well")
			line(phase.UnexplainedNs, "unexplained")
		}
	}
	out.WriteString("\n")
	_ = t.Write(out, terminal.Style{}) // cannot fail
}

// micros writes nanoseconds as microseconds with three decimals.
func micros(ns int64) string { return fmt.Sprintf("%d.%03d", ns/1000, ns%1000) }

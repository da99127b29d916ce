package explain

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/result"
)

// Shown is what nines explain tells of a trial.
type Shown struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Trial  string `json:"trial"`
	// Slowest is of how many of the slowest packets the causes are.
	Slowest int `json:"slowest"`
	// LostEvents is how many events were lost of those that were to be kept.
	LostEvents uint64 `json:"lost_events"`
	StealNs    int64  `json:"steal_ns"`
	// Recorder is what recording cost.
	Recorder Recorder `json:"recorder"`
	// Others are further trials of the result that were traced.
	Others []string `json:"others"`
	// Causes has the whole ranking, and those packets that were asked for.
	Causes result.Causes `json:"causes"`
}

// Schema names the form of Shown.
const Schema = "nines/explain/v1"

// columns is the width of the table.
const columns = 100

// most is how many causes of a part of a packet's latency the table lists, and how many
// of the ranking; --format json has all.
const (
	mostShares  = 5
	mostRanking = 8
)

// WriteTable writes what there is to say of a trial for a terminal: its causes in their
// order with a sentence and a remedy each, and the microseconds of the worst packets.
func WriteTable(w io.Writer, s Shown) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s, trial %s: the causes of its %s", plain(s.Name), s.Trial, counted(s.Slowest, "slowest packet"))
	if s.Causes.Ordinary > 0 {
		fmt.Fprintf(&out, ", beside %s", counted(s.Causes.Ordinary, "ordinary one"))
	}
	out.WriteString("\n")
	for i, ranked := range s.Causes.Ranking {
		if i == mostRanking {
			fmt.Fprintf(&out, "\n%s with less part in them; --format json has all.\n", counted(len(s.Causes.Ranking)-i, "cause"))
			break
		}
		fmt.Fprintf(&out, "\n%s\n", wrap(fmt.Sprintf("%d. %s.", i+1, plain(ranked.Sentence)), 3))
		if ranked.Remedy != "" {
			fmt.Fprintf(&out, "%s\n", wrap("   "+plain(ranked.Remedy), 3))
		}
	}
	if len(s.Causes.Ranking) == 0 {
		out.WriteString("\nThere is no packet of which events were kept.\n")
	}
	writePackets(&out, s.Causes.Packets)
	out.WriteString("\n" + wrap(s.Recorder.words(s.LostEvents), 0) + "\n")
	if len(s.Causes.Notes) > 0 {
		out.WriteString("\n")
	}
	for _, note := range s.Causes.Notes {
		out.WriteString(wrap("Note: "+plain(note)+".", 6) + "\n")
	}
	if len(s.Others) > 0 {
		out.WriteString("\n" + wrap("Also traced (--trial): "+strings.Join(s.Others, ", "), 2) + "\n")
	}
	for line := range strings.Lines(out.String()) {
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// writePackets lists the parts of each packet's latency in microseconds, and what took
// them.
func writePackets(out *strings.Builder, packets []result.PacketCauses) {
	if len(packets) == 0 {
		return
	}
	const form = "%-10s %-13s %12s  %s\n"
	out.WriteString("\n")
	fmt.Fprintf(out, form, "PACKET", "PART", "µs", "WHAT TOOK IT")
	for _, p := range packets {
		fmt.Fprintf(out, form, fmt.Sprint(p.ID), "latency", micros(p.LatencyNs), "")
		if !p.Recorded {
			fmt.Fprintf(out, form, "", "", "", "events around it were not kept, or were lost")
			continue
		}
		for _, phase := range p.Phases {
			if phase.EndNs == phase.BeginNs {
				continue
			}
			fmt.Fprintf(out, form, "", phase.Phase, micros(phase.EndNs-phase.BeginNs), "")
			line := func(ns int64, what string) {
				if ns > 0 {
					fmt.Fprintf(out, form, "", "", micros(ns), cut("  "+what, columns-39))
				}
			}
			var rest int64
			for i, share := range phase.Causes {
				if i >= mostShares {
					rest += share.Ns
					continue
				}
				line(share.Ns, plain(attribution.Brief(share.Cause)))
			}
			line(rest, fmt.Sprintf("%d others", len(phase.Causes)-mostShares))
			line(phase.OrdinaryNs, "ordinary: the median packet has it as well")
			line(phase.UnexplainedNs, "unexplained")
		}
	}
}

// micros writes nanoseconds as microseconds with three decimals.
func micros(ns int64) string { return fmt.Sprintf("%d.%03d", ns/1000, ns%1000) }

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// plain keeps what a result's names hold from moving the terminal's cursor.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// cut shortens text to so many characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// wrap breaks text into lines that fit, all but the first indented.
func wrap(text string, indent int) string {
	lead := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var out strings.Builder
	line := lead
	width := utf8.RuneCountInString(lead)
	for _, word := range strings.Fields(text) {
		word = cut(word, columns-indent)
		length := utf8.RuneCountInString(word)
		if width > indent && strings.TrimSpace(line) != "" && width+1+length > columns {
			out.WriteString(line + "\n")
			line, width = strings.Repeat(" ", indent), indent
		}
		if strings.TrimSpace(line) != "" {
			line += " "
			width++
		}
		line += word
		width += length
	}
	return out.String() + line
}

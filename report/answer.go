package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// mostAnswers are the most sentences on the trials of a sweep.
const mostAnswers = 12

// Answer says in sentences what the trials of a result decide: of a duet which side is faster, of a sweep how its variants
// rank under each load, or up to which rate nothing is lost. It is empty where nothing is compared, or each combination was measured once.
func Answer(summary result.Summary) []string {
	if duets := duetTrials(summary.Trials); len(duets) > 0 {
		var list []string
		for _, t := range duets {
			list = append(list, DuetSentences(t.Duet)...)
		}
		return list
	}
	if text := lossless(summary.Trials); text != "" {
		return []string{text}
	}
	place := placesOf(summary.Trials)
	loads, open, same := loadsOf(summary.Trials), false, true
	answers := make([][]string, len(loads))
	for i, l := range loads {
		texts, undecided := l.answer(place)
		answers[i], open = texts, open || undecided
		same = same && slices.Equal(texts, answers[0])
	}
	var list []string
	for i, l := range loads {
		if same && i > 0 { // what holds under every load is told once, such as that all have too few trials
			break
		}
		for _, text := range answers[i] {
			if !same && len(l.variables) > 0 {
				text = Describe(l.variables) + ": " + text
			}
			list = append(list, text)
		}
	}
	if more := len(list) - mostAnswers; more > 0 {
		list = append(list[:mostAnswers], fmt.Sprintf("%s more: nines compare --by has any two.", terminal.Count(more, "answer")))
	}
	if open {
		list = append(list, "Side by side, smaller differences between two are decided: nines duet (docs/duet.md).")
	}
	return list
}

// writeAnswer writes what a sweep decides.
func writeAnswer(out *strings.Builder, s terminal.Style, summary result.Summary) {
	answer := Answer(summary)
	for _, text := range answer {
		out.WriteString(s.Paint(terminal.Bold, terminal.Wrap(text, 0, 2, s.Columns)) + "\n")
	}
	if len(answer) > 0 {
		out.WriteString("\n")
	}
}

// load is what several variants were measured under: a rate, a frame size.
type load struct {
	variables map[string]any
	titles    []string
	variants  []Group
}

// loadsOf tells variants, whose variables are words, from loads, whose variables are numbers.
func loadsOf(trials []result.Trial) (list []load) {
	var loads, variants []string
	for _, name := range result.VariableNames(trials) {
		if isLoad(trials, name) {
			loads = append(loads, name)
		} else {
			variants = append(variants, name)
		}
	}
	at := map[string]int{}
	for _, g := range Groups(trials) {
		key := variableKey(some(g.Variables, loads))
		i, seen := at[key]
		if !seen {
			i, at[key] = len(list), len(list)
			list = append(list, load{variables: some(g.Variables, loads)})
		}
		list[i].titles = append(list[i].titles, titleOf(trials, g.Variables, variants))
		list[i].variants = append(list[i].variants, g)
	}
	return list
}

// isLoad reports whether all values of a variable are numbers, also with a unit.
func isLoad(trials []result.Trial, name string) bool {
	return !slices.ContainsFunc(trials, func(t result.Trial) bool {
		text := result.FormatVariable(t.Variables[name])
		return text == "" || text[0] < '0' || text[0] > '9'
	})
}

// some are the variables with these names.
func some(variables map[string]any, names []string) map[string]any {
	kept := maps.Clone(variables)
	maps.DeleteFunc(kept, func(name string, _ any) bool { return !slices.Contains(names, name) })
	return kept
}

// titleOf is what a reader calls a variant: the value of the only variable, or all with their names.
func titleOf(trials []result.Trial, variables map[string]any, names []string) string {
	if len(names) != 1 {
		return Describe(some(variables, names))
	}
	value := variables[names[0]]
	text := result.FormatVariable(value)
	if short := shortValues(trials, names[0])[readable(value)]; short != "" {
		text = short
	}
	if _, is := value.(bool); is {
		return Describe(some(variables, names))
	}
	return text
}

// answer ranks the variants, and says whether something of that is open; it is none if there is nothing to rank.
func (l load) answer(place map[string]int) (texts []string, open bool) {
	if !l.rankable() {
		return nil, false
	}
	if why := l.against(place); why != "" {
		return []string{"Which is faster is not decided: " + why + "."}, false
	}
	for _, f := range []Figure{LatencyFigure("p50"), l.tail()} {
		if r, ok := rank(f, l.titles, l.variants); ok {
			texts = append(texts, r.String())
			open = open || len(r.places()) < len(r.variants)
		}
	}
	return texts, open
}

// rankable reports whether there are variants to rank, measured more than once.
func (l load) rankable() bool {
	repeated := slices.ContainsFunc(l.variants, func(g Group) bool { return len(g.Trials) > 1 })
	return len(l.variants) >= 2 && len(l.variants) <= mostRanked && repeated
}

// ranks reports whether the answer of a result tells latencies: of a duet, or of variants on which its trials can decide.
func ranks(summary result.Summary) bool {
	place := placesOf(summary.Trials)
	return len(duetTrials(summary.Trials)) > 0 || slices.ContainsFunc(loadsOf(summary.Trials), func(l load) bool { return l.rankable() && l.against(place) == "" })
}

// placesOf are the places of trials in the order in which they ran.
func placesOf(trials []result.Trial) map[string]int {
	places := map[string]int{}
	for i, t := range trials {
		places[t.ID] = i
	}
	return places
}

// against says why the trials cannot decide; empty if they can.
func (l load) against(place map[string]int) string {
	for i, a := range l.variants {
		for j, b := range l.variants[i+1:] {
			when := apart
			if alternate(a, b, place) {
				when = interleaved
			}
			if reasons := against(a, b, when, -1, [2]string{terminal.Plain(l.titles[i]), terminal.Plain(l.titles[i+1+j])}); len(reasons) > 0 {
				return reasons[0]
			}
		}
	}
	return ""
}

// tail is p99 without the host's interruptions, or as measured where a trial does not know it.
func (l load) tail() Figure {
	undisturbed := UndisturbedFigure("p99")
	for _, g := range l.variants {
		if _, ok := g.Values(undisturbed); !ok {
			return LatencyFigure("p99")
		}
	}
	return undisturbed
}

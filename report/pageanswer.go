package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// How much an answer tells: it is read in a moment, and the tables have the rest.
const (
	mostAnswered = 4 // lines of one kind
	mostCompared = 4 // values of a variable in a sentence
)

// pageAnswer is what a result says, in sentences: what its trials decide, what searches found, or, where nothing can be
// ranked, the latencies by the swept variable; then what was lost, and what the host had a part in.
func pageAnswer(r *result.Result) []string {
	summary := r.Summary
	summary.Trials = r.Shown()
	if ofStretches(r, summary.Trials) {
		return stretchSentences(r, summary.Trials)
	}
	lines := foundSentences(r.Searches)
	if !ranks(summary) && len(r.Searches) == 0 {
		lines = latencySentences(Groups(summary.Trials))
	}
	lines = append(lines, Answer(summary)...)
	if len(r.Searches) == 0 { // a search loses packets deliberately
		if text := lossSentence(Groups(summary.Trials)); text != "" {
			lines = append(lines, text)
		}
	}
	return append(lines, verdictSentences(r.Summary.Trials)...)
}

// ofStretches reports whether the packets of a result are stretches in which a CPU or a thread did not run.
func ofStretches(r *result.Result, trials []result.Trial) bool {
	if len(trials) == 0 {
		return false
	}
	details, err := r.TrialFolder(trials[0].ID).Details()
	return err == nil && details.OfStretches()
}

// stretchSentences tell how much of its time each CPU or thread lost, and the longest stretch.
func stretchSentences(r *result.Result, trials []result.Trial) []string {
	var lines []string
	for _, t := range trials[:min(len(trials), 2*mostAnswered)] {
		details, err := r.TrialFolder(t.ID).Details()
		if err != nil || t.Latency.Mean == nil || t.Latency.Max == nil {
			continue
		}
		lost := time.Duration(*t.Latency.Mean * float64(t.RxPackets))
		lines = append(lines, fmt.Sprintf("%s: taken away for %v of %v, in %s gaps; the longest took %v.", whereText(t.Variables), roughly(lost),
			roughly(time.Duration(details.DurationNs)), terminal.Grouped(float64(t.RxPackets)), roughly(time.Duration(*t.Latency.Max))))
	}
	return lines
}

// foundSentences are the first findings of searches.
func foundSentences(searches []result.Search) []string {
	var lines []string
	for _, g := range SearchGroups(searches) {
		for _, f := range g.Findings {
			if f.Value == nil {
				continue
			}
			text := fmt.Sprintf("%s is %s %s", strings.TrimSpace(f.Name+" "+f.At), f.valueText(), findingUnit(f.Unit))
			if of := whereText(g.Variables); of != "" {
				text = of + ": " + text
			}
			lines = append(lines, strings.TrimSpace(text)+".")
		}
	}
	if more := len(lines) - mostAnswered; more > 0 {
		lines = append(lines[:mostAnswered], fmt.Sprintf("The searches found %d more.", more))
	}
	return lines
}

// latencySentences tell p50 and p99: of the only combination, or by the variable that compares best, at the first and
// the last combination of the others.
func latencySentences(groups []Group) []string {
	if len(groups) == 0 || onlyScripts(groups[0].Trials) {
		return nil
	}
	by := comparedBy(groups)
	if by == "" {
		return oneSentence(groups[0])
	}
	var lines []string
	settings := apartFrom(groups, by)
	told := settings
	if len(told) > mostAnswered/2 {
		told = []setting{settings[0], settings[len(settings)-1]}
	}
	for _, s := range told {
		for _, name := range []string{"p50", "p99"} {
			lines = append(lines, s.sentence(by, LatencyFigure(name))...)
		}
	}
	if more := len(settings) - len(told); more > 0 {
		lines = append(lines, fmt.Sprintf("See the table of trials for %s.", terminal.Count(more, "more combination")))
	}
	if !slices.ContainsFunc(groups, func(g Group) bool { return len(g.Trials) > 1 }) {
		lines = append(lines, "Each was measured once, so that nothing is decided ('repeat: 6').")
	}
	return lines
}

// oneSentence tells the latency of the only combination.
func oneSentence(g Group) []string {
	var parts []string
	for _, name := range []string{"p50", "p99", "p99_9", "max"} {
		if s := spreadOf(g.Values(LatencyFigure(name))); s != nil {
			parts = append(parts, fmt.Sprintf("%s %s µs", LatencyFigure(name).Title, microseconds(s.Median)))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	text := "Latency: " + strings.Join(parts, ", ")
	if n := len(g.Counted()); n > 1 {
		text += fmt.Sprintf(", medians of %d repeats", n)
	}
	return []string{text + "."}
}

// setting is one combination of all variables but the compared one, with a group for each value of that.
type setting struct {
	variables map[string]any
	groups    []Group
}

// apartFrom sorts groups by everything but one variable.
func apartFrom(groups []Group, by string) []setting {
	var list []setting
	at := map[string]int{}
	for _, g := range groups {
		rest := map[string]any{}
		for name, value := range g.Variables {
			if name != by {
				rest[name] = value
			}
		}
		key := variableKey(rest)
		index, ok := at[key]
		if !ok {
			index = len(list)
			at[key] = index
			list = append(list, setting{variables: rest})
		}
		list[index].groups = append(list[index].groups, g)
	}
	return list
}

// sentence tells a figure by the values of a variable; of many the first and the last.
func (s setting) sentence(by string, f Figure) []string {
	known := slices.DeleteFunc(slices.Clone(s.groups), func(g Group) bool { return spreadOf(g.Values(f)) == nil })
	if len(known) == 0 {
		return nil
	}
	told := known
	if len(told) > mostCompared {
		told = []Group{known[0], known[len(known)-1]}
	}
	var parts []string
	for _, g := range told {
		parts = append(parts, fmt.Sprintf("%s µs %s", microseconds(spreadOf(g.Values(f)).Median), valueText(by, g.Variables[by])))
	}
	text := f.Title + " is " + strings.Join(parts, ", ")
	if at := whereText(s.variables); at != "" {
		text = at + ": " + text
	}
	if more := len(known) - len(told); more > 0 {
		text += fmt.Sprintf("; %d more are between", more)
	}
	return []string{text + "."}
}

// sweptKeys are the variables with several values, the outermost loop of the sweep first: it changes least often from
// one combination to the next.
func sweptKeys(groups []Group) []string {
	names := map[string]int{}
	for i, g := range groups {
		for name, value := range g.Variables {
			if i > 0 && result.FormatVariable(groups[i-1].Variables[name]) != result.FormatVariable(value) {
				names[name]++
			}
		}
	}
	keys := make([]string, 0, len(names))
	for name := range names {
		keys = append(keys, name)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if names[a] != names[b] {
			return names[a] - names[b]
		}
		return strings.Compare(a, b)
	})
	return keys
}

// comparedBy is the variable by which a reader compares: the outermost of those that are words, such as the kind of
// link, else the outermost; empty if none is swept.
func comparedBy(groups []Group) string {
	keys := sweptKeys(groups)
	for _, name := range keys {
		if slices.ContainsFunc(groups, func(g Group) bool { _, words := g.Variables[name].(string); return words }) {
			return name
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return keys[0]
}

// whereText names a combination: "kind veth, 10,000 pps".
func whereText(variables map[string]any) string {
	var names []string
	for name := range variables {
		names = append(names, name)
	}
	slices.Sort(names)
	short := shortNames(names)
	var parts []string
	for _, name := range names {
		parts = append(parts, named(short[name], clipped(terminal.Plain(readable(variables[name])))))
	}
	return strings.Join(parts, ", ")
}

// named is a value with the unit at the end of its variable's name, else with the name.
func named(name, value string) string {
	for _, unit := range []string{"pps", "bytes"} {
		if strings.HasSuffix(name, "_"+unit) {
			return value + " " + unit
		}
	}
	return name + " " + value
}

// valueText follows a figure: "with veth", "at 1,000 pps".
func valueText(name string, value any) string {
	if text, words := value.(string); words {
		return "with " + clipped(terminal.Plain(text))
	}
	return "at " + whereText(map[string]any{name: value})
}

// lossSentence tells what was lost, and where most.
func lossSentence(groups []Group) string {
	var sent, lost, unsent uint64
	var worst *Group
	most := 0.0
	for i, g := range groups {
		for _, t := range g.Trials {
			sent, lost, unsent = sent+t.TxPackets, lost+t.LostPackets, unsent+t.UnsentPackets
		}
		if s := spreadOf(g.Values(figure("loss_ratio", "", "", 100))); s != nil && s.Median > most {
			most, worst = s.Median, &groups[i]
		}
	}
	var text string
	switch {
	case sent == 0:
		return ""
	case lost == 0:
		text = "No packet was lost"
	default:
		text = fmt.Sprintf("%s of %s packets were lost", terminal.Grouped(float64(lost)), terminal.Grouped(float64(sent)))
		if worst != nil && len(groups) > 1 {
			text += fmt.Sprintf(", most at %s: %s %%", whereText(worst.Variables), terminal.Significant(100*most))
		}
	}
	if unsent > 0 {
		text += fmt.Sprintf("; %s were due and not sent", terminal.Grouped(float64(unsent)))
	}
	return text + "."
}

// verdictSentences say what of the trials is no measurement, or has a part of the host in it.
func verdictSentences(trials []result.Trial) []string {
	counts := Group{Trials: trials}.Verdicts()
	var lines []string
	if n := counts[result.Invalid]; n > 0 {
		lines = append(lines, fmt.Sprintf("%d of %s did not do what was asked and count in no median, unless a combination has no others.", n, terminal.Count(len(trials), "trial")))
	}
	if n := counts[result.Noisy]; n > 0 {
		lines = append(lines, fmt.Sprintf("%d of %s %s noisy: the verdicts say what disturbed them, and which tails it touches.", n, terminal.Count(len(trials), "trial"), isAre(n)))
	}
	return lines
}

// clipped keeps a sentence short.
func clipped(text string) string {
	const most = 40
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

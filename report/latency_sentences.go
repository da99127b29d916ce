package report

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

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

// clipped keeps a sentence short.
func clipped(text string) string {
	const most = 40
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// SearchGroup is all repeats of a search for one combination of the swept variables.
type SearchGroup struct {
	Method    string         `json:"method"`
	Variables map[string]any `json:"variables"`
	Searches  []string       `json:"searches"` // IDs
	// Conformant is true if all repeats were; Deviations has each reason once.
	Conformant bool     `json:"conformant"`
	Deviations []string `json:"deviations"`
	// Passed is true if all repeats passed; nil if the method judges nothing.
	Passed *bool `json:"passed"`
	// Trials and MeasuringNs are those of all repeats together.
	Trials      int            `json:"trials"`
	MeasuringNs int64          `json:"measuring_ns"`
	Findings    []GroupFinding `json:"findings"`

	deviates map[string]bool // the deviations
}

// appendOnce appends a text that is not in the list yet, which seen tells.
func appendOnce(list []string, text string, seen map[string]bool) []string {
	if seen[text] {
		return list
	}
	seen[text] = true
	return append(list, text)
}

// GroupFinding is one figure of a search over its repeats. It never is a latency under load: their
// trials have those.
type GroupFinding struct {
	Name       string         `json:"name"`
	Unit       string         `json:"unit"`
	Conditions map[string]any `json:"conditions"`
	// At distinguishes findings of the same name by the conditions that differ.
	At string `json:"at"`
	// Value is the median of the repeats that found one; nil without any. Between says what Low and
	// High are.
	Value *float64 `json:"value"`
	// AtLeast is true if a repeat found only the least that it can be.
	AtLeast bool     `json:"at_least"`
	Low     *float64 `json:"low"`
	High    *float64 `json:"high"`
	// Between is "bounds": the bounds from a single search; or "repeats": the bootstrap interval of
	// the median.
	Between string `json:"between"`
	Repeats int    `json:"repeats"`
	// Values are those of the repeats that found one.
	Values []float64 `json:"values"`
	// Limit and Passed are for methods that judge.
	Limit  *float64 `json:"limit"`
	Passed *bool    `json:"passed"`
	// Reasons say why values are missing, or what else to know about them.
	Reasons []string `json:"reasons"`
}

// The kinds of an interval around a finding.
const (
	betweenBounds  = "bounds"
	betweenRepeats = "repeats"
)

// SearchGroups groups the repeats of searches, in the order in which the combinations first appear.
func SearchGroups(searches []result.Search) []SearchGroup {
	groups := []SearchGroup{}
	at := map[string]int{}
	of := map[int][]result.Search{}
	for _, s := range searches {
		key := s.Method + "\x02" + variableKey(s.Variables)
		index, ok := at[key]
		if !ok {
			index = len(groups)
			at[key] = index
			groups = append(groups, SearchGroup{
				Method: s.Method, Variables: s.Variables, Conformant: true,
				Searches: []string{}, Deviations: []string{}, Findings: []GroupFinding{}, deviates: map[string]bool{},
			})
		}
		of[index] = append(of[index], s)
		groups[index].add(s)
	}
	for i := range groups {
		groups[i].fold(of[i])
	}
	return groups
}

// add adds one repeat.
func (g *SearchGroup) add(s result.Search) {
	g.Searches = append(g.Searches, s.ID)
	g.Conformant = g.Conformant && s.Conformant
	for _, deviation := range s.Deviations {
		g.Deviations = appendOnce(g.Deviations, deviation, g.deviates)
	}
	if s.Passed != nil {
		passed := *s.Passed && (g.Passed == nil || *g.Passed)
		g.Passed = &passed
	}
	g.Trials += len(s.Trials)
	g.MeasuringNs += s.MeasuringNs
}

// fold joins the repeats' findings with the same name and the same setting, which have the same
// order in each.
func (g *SearchGroup) fold(searches []result.Search) {
	type key struct {
		name, unit string
		nth        int // of that name in its search
	}
	var order []key
	all := map[key][]result.Finding{}
	for _, s := range searches {
		seen := map[key]int{}
		for _, f := range headlines(s) {
			k := key{name: f.Name, unit: f.Unit}
			k.nth = seen[k]
			seen[key{name: f.Name, unit: f.Unit}]++
			if all[k] == nil {
				order = append(order, k)
			}
			all[k] = append(all[k], f)
		}
	}
	for _, k := range order {
		g.Findings = append(g.Findings, foldFinding(all[k]))
	}
	differ := differences(g.Findings)
	for i := range g.Findings {
		g.Findings[i].At = conditionText(g.Findings[i], differ)
	}
}

func foldFinding(repeats []result.Finding) GroupFinding {
	first := repeats[0]
	f := GroupFinding{Name: first.Name, Unit: first.Unit, Conditions: first.Conditions, Limit: first.Limit,
		Between: betweenBounds, Repeats: len(repeats), Reasons: []string{}}
	if f.Conditions == nil {
		f.Conditions = map[string]any{}
	}
	values, given := []float64{}, map[string]bool{}
	for _, one := range repeats {
		if one.Value != nil {
			values = append(values, *one.Value)
			f.AtLeast = f.AtLeast || one.AtLeast
		}
		if one.Reason != "" {
			f.Reasons = appendOnce(f.Reasons, one.Reason, given)
		}
		if one.Passed != nil {
			passed := *one.Passed && (f.Passed == nil || *f.Passed)
			f.Passed = &passed
		}
	}
	f.Values = values
	switch {
	case len(repeats) == 1:
		f.Value, f.Low, f.High = first.Value, first.Low, first.High
	case len(values) > 0:
		interval := confidence.Median(values, bootstrapSeed)
		f.Value, f.Low, f.High, f.Between = &interval.Median, interval.Low, interval.High, betweenRepeats
	}
	return f
}

// headlines returns the findings of a search without the latency under load.
func headlines(s result.Search) []result.Finding {
	var list []result.Finding
	for _, f := range s.Findings {
		if !f.UnderLoad() {
			list = append(list, f)
		}
	}
	return list
}

// condition is a condition of the findings of one name.
type condition struct{ finding, name string }

// differences are the conditions in which findings of the same name differ; one that lacks a
// condition has the empty value.
func differences(all []GroupFinding) map[condition]bool {
	findings := map[string]int{} // of each name
	type seen struct {
		first string
		in    int
	}
	values, differ := map[condition]*seen{}, map[condition]bool{}
	for _, f := range all {
		findings[f.Name]++
		for name, value := range f.Conditions {
			at, text := condition{f.Name, name}, result.FormatVariable(value)
			if values[at] == nil {
				values[at] = &seen{first: text}
			}
			values[at].in++
			differ[at] = differ[at] || text != values[at].first
		}
	}
	for at, s := range values {
		differ[at] = differ[at] || s.first != "" && s.in < findings[at.finding]
	}
	return differ
}

// conditionText distinguishes findings of one name by the conditions that differ.
func conditionText(f GroupFinding, differ map[condition]bool) string {
	var names []string
	_, isLoad := f.Conditions[result.LoadVariable]
	for name := range f.Conditions {
		if isLoad && name != result.LoadVariable && name != "test" {
			continue // the rate and the time follow from it
		}
		if isLoad || differ[condition{f.Name, name}] {
			names = append(names, name)
		}
	}
	slices.Sort(names) // a load before its test
	parts := make([]string, 0, len(names))
	for _, name := range names {
		parts = append(parts, terminal.Plain(conditionPart(name, f.Conditions[name])))
	}
	return strings.Join(parts, ", ")
}

// conditionPart formats one condition.
func conditionPart(name string, value any) string {
	number, isNumber := value.(float64)
	switch {
	case name == "load" && isNumber:
		return terminal.Significant(100*number) + " % load"
	case name == "rate_pps" && isNumber:
		return terminal.Grouped(number) + " packets/s"
	case name == result.LoadVariable, name == "test":
		return result.FormatVariable(value)
	case isNumber:
		return name + "=" + terminal.Significant(number)
	default:
		return name + "=" + result.FormatVariable(value)
	}
}

// findingUnit is the unit of findingText's values.
func findingUnit(unit string) string {
	switch unit {
	case "ns":
		return "µs"
	case "ratio":
		return "%"
	default:
		return terminal.Plain(unit)
	}
}

// findingText formats a finding's value.
func findingText(value float64, unit string) string {
	switch unit {
	case "ns":
		return terminal.Significant(value / 1e3)
	case "ratio":
		return terminal.Significant(value * 100)
	case "packets/s", "packets":
		return terminal.Grouped(value)
	default:
		return terminal.Significant(value)
	}
}

// valueText formats the value of a finding over its repeats.
func (f GroupFinding) valueText() string { return foundText(f.Value, f.AtLeast, f.Unit) }

// foundText formats the value of a finding, which may be only the least that it can be.
func foundText(value *float64, atLeast bool, unit string) string {
	if value == nil || !atLeast {
		return optionalText(value, unit)
	}
	return "at least " + findingText(*value, unit)
}

func optionalText(value *float64, unit string) string {
	if value == nil {
		return terminal.None
	}
	return findingText(*value, unit)
}

// searchVerdict is the verdict on a search as a whole, and its colour.
func searchVerdict(s result.Search) (text, colour string) {
	switch {
	case s.Passed != nil && !*s.Passed:
		return "failed", terminal.Red
	case s.Passed != nil && s.Conformant:
		return "passed", terminal.Green
	case s.Passed != nil:
		return "passed, not conformant", terminal.Yellow
	case !s.Conformant:
		return "not conformant", terminal.Yellow
	default:
		return "conformant", terminal.Green
	}
}

// searchCount counts searches by method.
func searchCount(searches []result.Search) string {
	var methods []string
	for _, s := range searches {
		if !slices.Contains(methods, s.Method) {
			methods = append(methods, s.Method)
		}
	}
	count := "1 search"
	if len(searches) != 1 {
		count = fmt.Sprintf("%d searches", len(searches))
	}
	return count + " by " + terminal.Plain(strings.Join(methods, ", "))
}

// cutSearch is an interrupted search: it has trials but no end.
type cutSearch struct {
	id     string
	trials int
	// windows is true for a soak, whose trials are useful by themselves.
	windows bool
}

// cutSearches finds interrupted searches.
func cutSearches(trials []result.Trial, searches []result.Search) []cutSearch {
	ended := map[string]bool{}
	for _, s := range searches {
		ended[s.ID] = true
	}
	counts := map[string]*cutSearch{}
	for _, t := range trials {
		if t.Search == "" || ended[t.Search] {
			continue
		}
		if counts[t.Search] == nil {
			counts[t.Search] = &cutSearch{id: t.Search}
		}
		counts[t.Search].trials++
		counts[t.Search].windows = counts[t.Search].windows || strings.HasPrefix(t.Purpose, result.WindowPurpose)
	}
	var cut []cutSearch
	for _, c := range counts {
		cut = append(cut, *c)
	}
	slices.SortFunc(cut, func(a, b cutSearch) int { return cmp.Compare(a.id, b.id) })
	return cut
}

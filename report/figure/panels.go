package figure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// Panel is one of the small multiples of a figure.
type Panel struct {
	Title  string
	Series []Series
}

// mostPanels is the most panels that a page shows.
const mostPanels = 24

// identity is what a series is of: the variables of its trials, and which part of them. An unnamed part is all.
type identity struct {
	variables map[string]any
	part      string
	invalid   bool
}

// with is the identity of a part of the same.
func (id identity) with(part string) identity {
	id.part = part
	return id
}

// identitiesOf are those of groups' series.
func identitiesOf(groups []report.Group) []identity {
	list := make([]identity, 0, len(groups))
	for _, g := range groups {
		variables := g.Variables
		if variables == nil {
			variables = map[string]any{}
		}
		list = append(list, identity{variables: variables, invalid: g.Invalid()})
	}
	return list
}

// label names what a series is of, by the label of its variables.
func (id identity) label(variables string) string {
	if id.invalid {
		variables = strings.TrimSpace(variables + invalidLabel)
	}
	return strings.TrimPrefix(strings.TrimSuffix(variables+", "+id.part, ", "), ", ")
}

// split puts the curves of a figure into panels where they are more than can be told apart, or where the reader
// asked for it. Curves that differ only in what the panels differ in have one look and one name.
func (s *selection) split(f *Figure) error {
	looks := map[int]bool{}
	var own []map[string]any
	for _, one := range f.Series {
		looks[one.Look] = true
		if one.of.variables != nil {
			own = append(own, one.of.variables)
		}
	}
	switch {
	case len(looks) <= mostLooks && len(s.Panels) == 0:
		return nil
	case len(own) == 0 && len(s.Panels) > 0:
		return exit.Wrongf("--panels is for curves, and this figure has none that differ")
	}
	parts := map[string]bool{}
	for _, one := range f.Series {
		if one.Tone == 0 && one.Source == 0 {
			parts[one.of.part] = true
		}
	}
	keys, err := s.panelKeys(own, max(len(parts), 1), mostLooks-strangers(f))
	switch {
	case err != nil:
		return err
	case keys == nil:
		return s.tooMany(len(looks))
	}
	f.divide(keys)
	return nil
}

// strangers counts the looks of published curves that match none of ours: each panel has them.
func strangers(f *Figure) int {
	looks := map[int]bool{}
	for _, one := range f.Series {
		looks[one.Look] = one.Source > 0 && !slices.ContainsFunc(f.Series, func(other Series) bool { return other.Source == 0 && other.Look == one.Look })
	}
	count := 0
	for _, stranger := range looks {
		if stranger {
			count++
		}
	}
	return count
}

// panelKeys are the variables by which curves are divided into panels: those that the reader chose, else the fewest that
// leave at most so many curves in a panel, numbers before words, which curves beside one another compare. Each
// combination of variables has several curves, one for each part. It returns nil if no variables do.
func (s *selection) panelKeys(all []map[string]any, parts, most int) ([]string, error) {
	if len(s.Panels) > 0 {
		var keys []string
		for _, key := range s.Panels {
			name, err := s.find(key)
			if err != nil {
				return nil, err
			}
			keys = append(keys, name)
		}
		if panels, curves := divided(all, keys); panels > mostPanels || curves*parts > most {
			return nil, exit.Wrongf("--panels %s makes %d panels of %d curves; a figure has at most %d panels, and in each at most %d curves can be told apart",
				terminal.Plain(strings.Join(s.Panels, ",")), panels, curves*parts, mostPanels, most)
		}
		return keys, nil
	}
	var best []string
	for _, keys := range combinations(differing(all)) {
		panels, curves := divided(all, keys)
		if panels > mostPanels || curves*parts > most {
			continue
		}
		if best == nil || better(all, keys, best) {
			best = keys
		}
	}
	return best, nil
}

// better prefers fewer variables, then numbers, then fewer panels.
func better(all []map[string]any, a, b []string) bool {
	words := func(keys []string) int {
		n := 0
		for _, key := range keys {
			if _, number := all[0][key].(float64); !number {
				n++
			}
		}
		return n
	}
	panelsA, _ := divided(all, a)
	panelsB, _ := divided(all, b)
	return cmp.Or(len(a)-len(b), words(a)-words(b), panelsA-panelsB) < 0
}

// mostCombined keeps the search for variables short; a figure of more is not for people.
const mostCombined = 8

// combinations are each name alone, and each two.
func combinations(names []string) [][]string {
	names = names[:min(len(names), mostCombined)]
	var list [][]string
	for i, a := range names {
		list = append(list, []string{a})
		for _, b := range names[i+1:] {
			list = append(list, []string{a, b})
		}
	}
	return list
}

// divided counts the panels that these variables make, and the different curves in all of them.
func divided(all []map[string]any, keys []string) (panels, curves int) {
	places, rests := map[string]bool{}, map[string]bool{}
	for _, variables := range all {
		of, rest := parted(variables, keys)
		places[report.Describe(of)], rests[report.Describe(rest)] = true, true
	}
	return len(places), len(rests)
}

// parted are the variables of a panel, and those of a curve in it.
func parted(variables map[string]any, keys []string) (of, rest map[string]any) {
	of, rest = map[string]any{}, maps.Clone(variables)
	for _, key := range keys {
		if value, ok := rest[key]; ok {
			of[key] = value
			delete(rest, key)
		}
	}
	return of, rest
}

// differing are the variables in which some differ.
func differing(all []map[string]any) []string {
	trials := make([]result.Trial, 0, len(all))
	for _, variables := range all {
		trials = append(trials, result.Trial{Variables: variables})
	}
	return slices.DeleteFunc(result.VariableNames(trials), func(name string) bool {
		return !slices.ContainsFunc(all, func(v map[string]any) bool {
			return result.FormatVariable(v[name]) != result.FormatVariable(all[0][name])
		})
	})
}

// divide makes the panels of these variables.
func (f *Figure) divide(keys []string) {
	places := distinct[map[string]any]{of: report.Describe}
	rests := distinct[map[string]any]{of: report.Describe}
	curves := distinct[string]{of: func(text string) string { return text }}
	var all []map[string]any
	for _, one := range f.Series {
		if one.of.variables != nil {
			of, rest := parted(one.of.variables, keys)
			all = append(all, of)
			rests.place(rest)
		}
	}
	slices.SortStableFunc(all, func(a, b map[string]any) int { return byNumbers(a, b, keys) })
	for _, of := range all {
		places.place(of)
	}
	titles, names := labelsOf(places.list), labelsOf(rests.list)
	f.Panels = make([]Panel, len(titles))
	for i, title := range titles {
		f.Panels[i].Title = title
	}
	type seen struct{ panel, look int }
	looks := map[int][]seen{} // of ours, by their look before
	for i := range f.Series {
		one := &f.Series[i]
		if one.of.variables == nil {
			continue
		}
		of, rest := parted(one.of.variables, keys)
		panel, name := places.place(of), rests.place(rest)
		curve := fmt.Sprint(name)
		if one.Tone == 0 {
			curve += "\x00" + one.of.part
		}
		was := one.Look
		one.Look, one.Label = curves.place(curve), one.of.label(names[name])
		looks[was] = append(looks[was], seen{panel, one.Look})
		f.Panels[panel].Series = append(f.Panels[panel].Series, *one)
	}
	for i := range f.Series {
		one := &f.Series[i]
		if one.of.variables != nil {
			continue
		}
		if ours := looks[one.Look]; len(ours) > 0 {
			one.Look = ours[0].look
			f.Panels[ours[0].panel].Series = append(f.Panels[ours[0].panel].Series, *one)
			continue
		}
		one.Look = curves.place("published\x00" + fmt.Sprint(one.Look))
		for panel := range f.Panels {
			f.Panels[panel].Series = append(f.Panels[panel].Series, *one)
		}
	}
}

// byNumbers orders panels by the variables that are numbers; others keep the order of the sweep.
func byNumbers(a, b map[string]any, keys []string) int {
	for _, key := range keys {
		x, isNumber := a[key].(float64)
		y, areNumbers := b[key].(float64)
		if isNumber && areNumbers && x != y {
			return cmp.Compare(x, y)
		}
	}
	return 0
}

// distinct numbers different values in the order in which they come.
type distinct[T any] struct {
	of    func(T) string
	list  []T
	known map[string]int
}

func (d *distinct[T]) place(value T) int {
	if d.known == nil {
		d.known = map[string]int{}
	}
	key := d.of(value)
	at, ok := d.known[key]
	if !ok {
		at = len(d.list)
		d.known[key], d.list = at, append(d.list, value)
	}
	return at
}

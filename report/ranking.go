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

// mostRanked is how many variants a ranking takes: a reader of more looks at the table.
const mostRanked = 8

// ranking orders variants by one figure under one load, as far as their trials decide it.
type ranking struct {
	figure   Figure
	variants []ranked // the fastest first
	// ratios are those of a later variant's median to an earlier one's, where they are decided.
	ratios map[[2]int]Ratio
}

// ranked is a variant in a ranking.
type ranked struct {
	title  string
	values []float64
	median float64
}

// Ratio is a ratio with its interval.
type Ratio struct{ Value, Low, High float64 }

// rank orders groups by a figure; false if one of them does not have it. All pairs of variants are compared, each with
// the share of the error that all may have together (Bonferroni).
func rank(figure Figure, titles []string, groups []Group) (ranking, bool) {
	r := ranking{figure: figure, ratios: map[[2]int]Ratio{}}
	for i, g := range groups {
		values, ok := g.Values(figure)
		if !ok || result.Median(values) <= 0 {
			return r, false
		}
		r.variants = append(r.variants, ranked{titles[i], values, result.Median(values)})
	}
	slices.SortStableFunc(r.variants, func(a, b ranked) int { return cmp.Compare(a.median, b.median) })
	pairs := float64(len(groups) * (len(groups) - 1) / 2)
	options := confidence.Options{Level: 1 - (1-confidence.Level)/pairs, Seed: bootstrapSeed}
	for i, a := range r.variants {
		for j, b := range r.variants[i+1:] {
			ratio := confidence.RatioBy(a.values, b.values, options)
			if ratio.Low != nil && *ratio.Low > 1 {
				r.ratios[[2]int{i, i + 1 + j}] = Ratio{ratio.Median, *ratio.Low, *ratio.High}
			}
		}
	}
	return r, true
}

// places are the variants by place: all of an earlier one are faster than all of a later one, which is decided.
func (r ranking) places() [][]int {
	var list [][]int
	var place []int
	for i := range r.variants {
		place = append(place, i)
		if i == len(r.variants)-1 || r.divides(i) {
			list, place = append(list, place), nil
		}
	}
	return list
}

// divides reports whether all variants up to one are faster than all after it.
func (r ranking) divides(last int) bool {
	for i := 0; i <= last; i++ {
		for j := last + 1; j < len(r.variants); j++ {
			if _, decided := r.ratios[[2]int{i, j}]; !decided {
				return false
			}
		}
	}
	return true
}

// String says what is decided: "veth (5.14 µs) is fastest at p50, then bridge (1.33 times as long, 1.30 to 1.36): decided."
func (r ranking) String() string {
	places := r.places()
	if len(places) == 1 {
		return fmt.Sprintf("which of %s is fastest at %s is not decided%s.", r.listed(places[0], r.withMedian), r.figure.Title, r.only(places[0]))
	}
	verb := "is"
	if len(places[0]) > 1 {
		verb = "are"
	}
	text := fmt.Sprintf("%s %s fastest at %s", r.listed(places[0], r.withMedian), verb, r.figure.Title)
	for _, place := range places[1:] {
		text += ", then " + r.listed(place, func(i int) string { return r.behind(i, len(places[0]) == 1) })
	}
	text += ": decided"
	for _, place := range places {
		if len(place) > 1 {
			text += "; which of " + r.listed(place, r.title) + " is faster is not" + r.only(place)
		}
	}
	return text + "."
}

func (r ranking) title(i int) string { return terminal.Plain(r.variants[i].title) }

func (r ranking) withMedian(i int) string {
	return fmt.Sprintf("%s (%s %s)", r.title(i), terminal.Significant(r.variants[i].median*r.figure.Scale), r.figure.Unit)
}

// behind says by how much a variant is slower than the fastest, where that is one.
func (r ranking) behind(i int, one bool) string {
	if !one {
		return r.withMedian(i)
	}
	ratio := r.ratios[[2]int{0, i}]
	return fmt.Sprintf("%s (%s times as long, %s to %s)", r.title(i), terminal.Significant(ratio.Value), terminal.Significant(ratio.Low), terminal.Significant(ratio.High))
}

// only tells the pairs that are decided within a place.
func (r ranking) only(place []int) string {
	var pairs []string
	for _, i := range place {
		for _, j := range place {
			if _, decided := r.ratios[[2]int{i, j}]; decided {
				pairs = append(pairs, r.title(i)+" is faster than "+r.title(j))
			}
		}
	}
	if len(pairs) == 0 {
		return ""
	}
	return ", only that " + strings.Join(pairs, " and ")
}

func (r ranking) listed(place []int, text func(i int) string) string {
	texts := make([]string, len(place))
	for at, i := range place {
		texts[at] = text(i)
	}
	last := len(texts) - 1
	if last == 0 {
		return texts[0]
	}
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}

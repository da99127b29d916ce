package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/terminal"
)

// goalPresets are the goals that a name alone can select.
var goalPresets = []string{"ndr", "pdr", "rfc2544", "tst009"}

// Search is true for a method that finds rates itself, once for each combination of
// the sweep and repeat. A sweep and a soak are sent at the traffic's rate.
func (m *Method) Search() bool {
	return m != nil && m.Kind.Descriptor().Search
}

// Plain is true where each trial of the sweep is measured by itself: there is no
// method, or it is a sweep.
func (m *Method) Plain() bool { return !m.Search() && !m.Soaks() }

// Soaks is true for one long trial, at the traffic's rate.
func (m *Method) Soaks() bool { return m != nil && m.Kind.Descriptor().Soak }

// SeeksRate is true for a search that bounds the rates it tries by what the generator
// can send.
func (m *Method) SeeksRate() bool {
	return m.Search() && slices.Contains(m.Kind.Descriptor().Keys, "max_rate_pps")
}

// method checks which keys the kind needs, and which it does not take.
func (c *checker) method(m *Method) {
	given, at := c.root.get("method"), []string{"method"}
	d := m.Kind.Descriptor()
	for _, e := range given.entries {
		key := e.key.text
		if key != "kind" && !slices.Contains(d.Keys, key) {
			c.failKey(fmt.Sprintf("the method %s does not use it", m.Kind), terminal.Listed(d.Keys), kindsWith(key), "method", key)
		}
	}
	for _, key := range d.Required {
		if given.get(key) == nil {
			c.fail(fmt.Sprintf("the method %s needs the key %q", m.Kind, key), "", "add it", "method")
		}
	}
	if c.e.Traffic == nil && !m.Plain() {
		c.fail("the file has no traffic to measure", "", "add a traffic: section, or remove the method", "method")
	}
	if m.MaxRatePPS > 0 && m.MinRatePPS > m.MaxRatePPS {
		c.fail(fmt.Sprintf("%g is above max_rate_pps, %g", m.MinRatePPS, m.MaxRatePPS), "", "lower it, or raise max_rate_pps", "method", "min_rate_pps")
	}
	if t := c.e.Traffic; m.Soaks() && t != nil && t.PacketsPerSecond() == 0 && c.root.get("traffic").get("rate_pps") != nil {
		c.fail("a soak cannot run at an unlimited rate (0)", "", "give it a rate, such as rate_of_maximum: 0.5", "traffic", "rate_pps")
	}
	if length := cmp.Or(m.Soak, DefaultSoak); m.Soaks() && m.Window > length {
		c.fail(fmt.Sprintf("a window of %s is longer than the soak of %s", m.Window, length), "", "shorten it, or lengthen the soak: method.soak", "method", "window")
	}
	c.unique("tests", len(m.Tests), func(i int) string { return string(m.Tests[i]) })
	c.unique("loads", len(m.Loads), func(i int) string { return strconv.FormatFloat(m.Loads[i], 'g', -1, 64) })
	c.unique("goals", len(m.Goals), func(i int) string { return strings.ToLower(m.Goals[i].Name) })
	for i, g := range m.Goals {
		c.goal(g, under(at, "goals", strconv.Itoa(i))...)
	}
}

// kindsWith is the remedy for a key that the kind does not take.
func kindsWith(key string) string {
	kinds := methodsWith(key)
	if len(kinds) == 0 {
		return ""
	}
	return "remove it; it is for " + terminal.Listed(kinds)
}

// unique checks that a list has no value twice.
func (c *checker) unique(key string, count int, text func(int) string) {
	seen := map[string]bool{}
	for i := range count {
		if seen[text(i)] {
			c.fail(fmt.Sprintf("%q is listed twice", clip(text(i))), "", "keep one of the two", "method", key, strconv.Itoa(i))
		}
		seen[text(i)] = true
	}
}

// goal checks the values of a goal that no preset can correct.
func (c *checker) goal(g *Goal, at ...string) {
	if !slices.Contains(goalPresets, g.Name) && g.LossRatio == nil {
		c.fail(fmt.Sprintf("the goal %q has no loss_ratio, and is not a preset", clip(g.Name)), "presets "+terminal.Listed(goalPresets),
			cmp.Or(terminal.DidYouMean(g.Name, goalPresets), "add loss_ratio, such as 0.001"), at...)
	}
	if g.FinalTrial > 0 && g.DurationSum > 0 && g.DurationSum < g.FinalTrial {
		c.fail(fmt.Sprintf("%s is less than one final trial of %s", g.DurationSum, g.FinalTrial), "", "lengthen it, or shorten final_trial", under(at, "duration_sum")...)
	}
}

// noRateInSearch refuses a rate or a trial length where the search chooses them.
func (c *checker) noRateInSearch(rates []string) {
	kind := c.e.Method.Kind
	bounds := "bound it by method.min_rate_pps and method.max_rate_pps"
	if !c.e.Method.SeeksRate() {
		bounds = "set the service's rate with method." + strings.Join(kind.Descriptor().Required, " and method.")
	}
	for _, key := range rates {
		c.failKey(fmt.Sprintf("the method %s finds the rates itself", kind), "", "remove it; "+bounds, "traffic", key)
	}
	if c.root.get("traffic").get("duration") != nil {
		c.failKey(fmt.Sprintf("the method %s has its own durations", kind), "", "remove it; method.trial sets another, and method.quick short ones", "traffic", "duration")
	}
}

// goalPreset turns a goal that is only a preset's name into a mapping.
func (d decoder) goalPreset(n *node, path string) *node {
	if n.tag != "!!str" || !slices.Contains(goalPresets, n.text) {
		d.fail(n, path, describe(n)+" is not a preset", terminal.Listed(goalPresets),
			cmp.Or(terminal.DidYouMean(n.text, goalPresets), "write a goal of your own as {name: low, loss_ratio: 0.001}"))
		return nil
	}
	key := &node{kind: scalar, tag: "!!str", text: "name", place: n.place}
	return &node{kind: mapping, place: n.place, entries: []entry{{key, n}}}
}

// standardSizes is the axis of all frame sizes that the method asks for, where the file neither gives
// nor sweeps a size. Where the kind itself is swept, the other kinds get the same sizes.
func standardSizes(base *node, axes []axis, at place) (axis, bool) {
	steps := []string{"traffic", "frame_bytes"}
	sizes := sizesOf(base.get("method").get("kind"))
	ask := func(kind *node) {
		if len(sizes) == 0 {
			sizes = sizesOf(kind)
		}
	}
	for _, a := range axes {
		for _, c := range a.choices {
			for _, change := range c.changes {
				for _, set := range change.places {
					if overlap(set, steps) {
						return axis{}, false
					}
					kind := change.value
					if len(set) == 2 && set[0] == "method" && set[1] == "kind" {
						ask(kind)
					} else if len(set) == 1 && set[0] == "method" {
						ask(kind.get("kind"))
					}
				}
			}
		}
	}
	traffic := base.get("traffic")
	if len(sizes) == 0 || traffic == nil || traffic.kind != mapping || traffic.get("frame_bytes") != nil {
		return axis{}, false
	}
	all := axis{path: strings.Join(steps, ".")}
	for _, size := range sizes {
		value := &node{kind: scalar, tag: "!!int", text: strconv.Itoa(size), place: at}
		all.choices = append(all.choices, choice{Variable{all.path, size, value.text}, []change{{[][]string{steps}, value}}})
	}
	return all, true
}

// sizesOf returns the frame sizes that a method's kind in the tree asks for.
func sizesOf(kind *node) []int {
	if kind == nil {
		return nil
	}
	return MethodKind(kind.text).Descriptor().FrameSizes
}

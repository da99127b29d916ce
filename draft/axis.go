package draft

import (
	"fmt"
	"strings"

	"nines.dev/nines/spec"
)

// axis is what differs between variants: a name and its cases, or a key and its values.
type axis struct {
	name  string
	cases []fileCase
}

// fileCase is one of them: the keys that it sets.
type fileCase struct {
	title string
	sets  []setting
}

// axes are those with more than one case; the first is the outermost.
func (d *Draft) axes() (list []axis) {
	add := func(name string, cases []fileCase) {
		if len(cases) > 1 {
			list = append(list, axis{name, cases})
		}
	}
	var programs []fileCase
	for _, p := range d.programs {
		programs = append(programs, fileCase{p.title, []setting{{"nodes.dut.services", d.service(p)}}})
	}
	add("program", programs)
	add("runtime", casesOf(d.runtimes, "nodes.dut.runtime", "nodes.dut."))
	add("link", casesOf(d.links, "links.*.kind", "links.*."))
	return list
}

// casesOf sets the names of variants by a key, unless they are the same, and their other keys.
func casesOf(variants []variant, key, prefix string) (cases []fileCase) {
	same := true
	for _, v := range variants {
		same = same && v.name == variants[0].name
	}
	for _, v := range variants {
		c := fileCase{title: v.title()}
		if !same {
			c.sets = append(c.sets, setting{key, v.name})
		}
		for _, s := range v.keys {
			c.sets = append(c.sets, setting{prefix + s.key, yamlText(s.value)})
		}
		cases = append(cases, c)
	}
	return cases
}

// plain is the key that all cases set, and nothing else; empty if they differ in more.
func (a axis) plain() string {
	key := ""
	for _, c := range a.cases {
		if len(c.sets) != 1 || key != "" && c.sets[0].key != key || strings.HasPrefix(c.sets[0].value, "[") {
			return ""
		}
		key = c.sets[0].key
	}
	return key
}

// mapping writes what a case sets.
func (c fileCase) mapping() string {
	sets := make([]string, len(c.sets))
	for i, s := range c.sets {
		sets[i] = s.key + ": " + s.value
	}
	return "{" + strings.Join(sets, ", ") + "}"
}

// sides writes the two variants of a duet.
func (d *Draft) sides(out *strings.Builder) {
	cases := d.axes()[0].cases // one axis has both
	fmt.Fprintf(out, "\nduet: # it ends as soon as the answer is decided\n  a: %s\n  b: %s\n", cases[0].mapping(), cases[1].mapping())
	fmt.Fprintf(out, "  for: %s # at most\n", d.lasts("20s"))
}

// sweep writes what is varied, and how often it is repeated.
func (d *Draft) sweep(out *strings.Builder) {
	axes := d.axes()
	if len(axes) > 0 || d.conditions() > 1 {
		out.WriteString("\nsweep: # every combination; the first key is the outermost loop\n")
	}
	for _, a := range axes {
		if key := a.plain(); key != "" {
			values := make([]string, len(a.cases))
			for i, c := range a.cases {
				values[i] = c.sets[0].value
			}
			fmt.Fprintf(out, "  %s: [%s]\n", key, strings.Join(values, ", "))
			continue
		}
		fmt.Fprintf(out, "  %s: # cases, each with what it sets\n", a.name)
		for _, c := range a.cases {
			fmt.Fprintf(out, "    %s: %s\n", c.title, c.mapping())
		}
	}
	if len(d.rates) > 1 {
		fmt.Fprintf(out, "  traffic.rate_pps: [%s]\n", joined(d.rates, number))
	}
	if len(d.frames) > 1 {
		fmt.Fprintf(out, "  traffic.frame_bytes: [%s]\n", joined(d.frames, func(n int) string { return fmt.Sprint(n) }))
	}
	repeats := d.options.Repeats
	if repeats == 0 {
		repeats = Repeats
	}
	fmt.Fprintf(out, "\nrepeat: %d # fewer than %d cannot decide which is faster\norder: interleaved # A B C A B C\n", repeats, Repeats)
}

func joined[T any](list []T, text func(T) string) string {
	texts := make([]string, len(list))
	for i, one := range list {
		texts[i] = text(one)
	}
	return strings.Join(texts, ", ")
}

// bypasses is true where a link has no end in the kernel.
func (d *Draft) bypasses() bool {
	for _, v := range d.links {
		if spec.LinkKind(v.name).Descriptor().End == spec.EndNone {
			return true
		}
	}
	return false
}

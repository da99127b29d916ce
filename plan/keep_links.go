package plan

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// placeName matches the names of links that have none in the file.
var placeName = regexp.MustCompile(`^link[1-9][0-9]*$`)

// linkNames are the names of the links, by their places in the file. One without a name is known by its endpoints: it
// has the name of the running lab's link that shares most of them, so that links before it come and go.
func (w *work) linkNames() []string {
	type match struct {
		at, shared int
		name       string
	}
	var matches []match
	links := w.exp.Topology.Links
	names, taken, open := make([]string, len(links)), map[string]bool{}, map[int]bool{}
	for i, s := range links {
		names[i] = linkName(i, s)
		if !s.NamedByPlace(i) {
			taken[names[i]] = true
			continue
		}
		open[i] = true
		shared := map[string]int{}
		for _, text := range s.Endpoints {
			nodeName, interfaceName, _ := strings.Cut(text, ":")
			if l, _ := w.before.EndOf(nodeName, interfaceName); l != nil && placeName.MatchString(l.Name) {
				shared[l.Name]++
			}
		}
		for _, name := range slices.Sorted(maps.Keys(shared)) {
			matches = append(matches, match{i, shared[name], name})
		}
	}
	slices.SortStableFunc(matches, func(a, b match) int { return b.shared - a.shared })
	for _, m := range matches {
		if open[m.at] && !taken[m.name] {
			names[m.at], taken[m.name] = m.name, true
			delete(open, m.at)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(open)) {
		for number := i + 1; taken[names[i]] && len(matches) > 0; number++ {
			names[i] = fmt.Sprintf("link%d", number)
		}
		taken[names[i]] = true
	}
	return names
}

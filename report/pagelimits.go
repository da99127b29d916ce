package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// fitting is the first elements of a list that have room in this many bytes of JSON, and whether these
// are all. Bytes bound the texts of foreign elements, too.
func fitting[T any](list []T, bytes int) ([]T, bool) {
	for i := range list {
		text, err := json.Marshal(list[i])
		if bytes -= len(text) + len(","); err != nil || bytes < 0 {
			return append([]T{}, list[:i]...), false // a copy, so that the rest is not kept in memory
		}
	}
	return list, true
}

// cutDetails makes what a page keeps of a trial's details fit into this many bytes, first by cutting
// its lists. It names what was cut; details that are too large even so are nil.
func cutDetails(d *result.Details, bytes int) (kept *result.Details, cut []string) {
	if d.Trace != nil {
		d.Trace.Stretches = nil // no page has them
	}
	if _, fits := fitting([]*result.Details{d}, bytes); fits {
		return d, nil
	}
	const lists = 8
	note := func(what string, all bool) {
		if !all {
			cut = append(cut, what)
		}
	}
	var all bool
	d.Events, all = fitting(d.Events, bytes/lists)
	note("events", all)
	d.Impairments, all = fitting(d.Impairments, bytes/lists)
	note("impairments", all)
	d.Devices, all = fitting(d.Devices, bytes/lists)
	note("devices", all)
	d.Notes, all = fitting(d.Notes, bytes/lists)
	note("notes", all)
	d.Receive, all = fitting(d.Receive, bytes/lists)
	note("receiving interfaces", all)
	if _, fits := fitting([]*result.Details{d}, bytes); !fits {
		return nil, []string{"details"}
	}
	return d, cut
}

// cutScripts makes a trial's scripts fit into this many bytes, of which their uploads have half.
func cutScripts(scripts []result.Script, bytes int) (kept []result.Script, cut []string) {
	if _, fits := fitting(scripts, bytes); fits {
		return scripts, nil
	}
	bare := slices.Clone(scripts)
	for i := range bare {
		bare[i].Uploads = nil
	}
	kept, all := fitting(bare, bytes/2)
	if !all {
		cut = append(cut, "scripts")
	}
	whole := true
	for i := range kept {
		kept[i].Uploads, all = fitting(scripts[i].Uploads, bytes/2/len(kept))
		whole = whole && all
	}
	if !whole {
		cut = append(cut, "uploads")
	}
	return kept, cut
}

// leftOut counts a trial of which the page has not all.
func (p *pageData) leftOut(what []string) {
	if p.cut == nil {
		p.cut = map[string]int{}
	}
	for _, one := range what {
		p.cut[one]++
	}
}

// sayLeftOut makes what was left out a problem.
func (p *pageData) sayLeftOut() {
	for _, what := range slices.Sorted(maps.Keys(p.cut)) {
		p.problem(fmt.Errorf("the page has not all %s of %s, more than a browser can show; the result's files have all", what, terminal.Count(p.cut[what], "trial")))
	}
}

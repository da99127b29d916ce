package change

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/plan"
)

// Difference is a value of a plan that is another in the next one. The keys are those of plan.json.
type Difference struct {
	// Of is a node, an interface as "node:interface", a link as "link NAME", or a part of the lab.
	Of  string `json:"of"`
	Key string `json:"key"`
	// Old and New are the values; of a list of things with names, those that are in one plan only. Empty: none.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

func (d Difference) String() string {
	switch what := d.Of + ": " + d.Key; {
	case d.Old == "":
		return what + ": adds " + d.New
	case d.New == "":
		return what + ": removes " + d.Old
	default:
		return what + ": " + d.Old + " becomes " + d.New
	}
}

// Differences are the values that differ in what two plans have both: nodes, interfaces, links, and the parts of the
// lab as a whole. It is pure.
func Differences(from, to *plan.Plan) []Difference {
	var list differences
	list.of("the lab", whole(from), whole(to))
	was := from.Index()
	for _, n := range to.Nodes {
		old := was.Node(n.Name)
		if old == nil {
			continue
		}
		list.of(n.Name, bare(*old), bare(n))
		for _, i := range n.Interfaces {
			end := plan.Endpoint{Node: n.Name, Interface: i.Name}
			if before := was.Interface(end); before != nil {
				list.of(end.Name(), *before, i)
			}
		}
	}
	for _, l := range to.Links {
		if old := was.Link(l.Name); old != nil {
			list.of("link "+l.Name, unexplained(*old), unexplained(l))
		}
	}
	return list
}

// whole is a plan without its parts and what only explains it or is for a measurement.
func whole(p *plan.Plan) plan.Plan {
	lab := *p
	lab.Nodes, lab.Links, lab.Notes, lab.Traffic, lab.Duet, lab.Events, lab.Shared = nil, nil, nil, nil, nil, nil, nil
	return lab
}

// bare is a node without its interfaces and reasons.
func bare(n plan.Node) plan.Node {
	n.Interfaces, n.Why = nil, nil
	return n
}

type differences []Difference

// of adds what differs between two values of one type.
func (d *differences) of(name string, old, now any) {
	if !reflect.DeepEqual(old, now) {
		d.compare(name, nil, tree(old), tree(now))
	}
}

// tree is a value as its JSON reads.
func tree(value any) (read any) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		return err.Error() // impossible for parts of a plan
	}
	return read
}

func (d *differences) compare(of string, keys []string, old, now any) {
	below := func(key string) []string { return append(slices.Clone(keys), key) }
	olds, isMap := old.(map[string]any)
	news, areMap := now.(map[string]any)
	switch {
	case isMap && areMap:
		all := maps.Clone(olds)
		maps.Copy(all, news)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if key != "why" {
				d.compare(of, below(key), olds[key], news[key])
			}
		}
		return
	case isMap && now == nil, areMap && old == nil:
		if named := len(keys) > 0; named && (len(olds) > 0 || len(news) > 0) {
			d.compare(of, keys, orEmpty(olds), orEmpty(news))
		}
		return
	}
	before, after := byName(old), byName(now)
	if before == nil && after == nil {
		if was, is := text(old), text(now); was != is {
			*d = append(*d, Difference{of, strings.Join(keys, "."), was, is})
		}
		return
	}
	var gone, come []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if is, stays := after[name]; stays {
			d.compare(of, below(name), before[name], is)
		} else {
			gone = append(gone, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, was := before[name]; !was {
			come = append(come, name)
		}
	}
	if len(gone)+len(come) > 0 {
		*d = append(*d, Difference{of, strings.Join(keys, "."), strings.Join(gone, ", "), strings.Join(come, ", ")})
	}
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// nameKeys are the keys by which the things of a list are told apart: a neighbour's, an endpoint's, a route's, a
// mount's, and that of most.
var nameKeys = [][]string{{"name"}, {"ip"}, {"node", "interface"}, {"to"}, {"target"}}

// byName are the things of a list by their names; nil for a list of anything else, or with one name twice.
func byName(value any) map[string]any {
	list, _ := value.([]any)
	named := map[string]any{}
	for _, one := range list {
		thing, _ := one.(map[string]any)
		name := ""
		for _, keys := range nameKeys {
			var words []string
			for _, key := range keys {
				if word, has := thing[key].(string); has {
					words = append(words, word)
				}
			}
			if len(words) == len(keys) {
				name = strings.Join(words, ":")
				break
			}
		}
		if _, twice := named[name]; twice || name == "" {
			return nil
		}
		named[name] = thing
	}
	if len(named) == 0 {
		return nil
	}
	return named
}

// text is a value in words; empty for none.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		var words []string
		for _, one := range v {
			words = append(words, text(one))
		}
		return strings.Join(words, ", ")
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return fmt.Sprint(v)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

package attribution

import (
	"maps"
	"slices"

	"nines.dev/nines/result"
)

// impairedLink is a link on the packets' path that holds each packet deliberately, for at least and at
// most so long.
type impairedLink struct {
	cause       result.Cause
	least, most int64
}

type impairedLinks []impairedLink

// impairedOf are the impairments that hold packets of the stream.
func impairedOf(list []result.Impairment) impairedLinks {
	var links impairedLinks
	for _, i := range list {
		if i.Holds == nil || i.Holds.MostNs <= 0 {
			continue
		}
		cause := result.Cause{Kind: Impaired, Name: i.Link, Source: i.What, CPU: -1}
		links = append(links, impairedLink{cause, max(0, i.Holds.LeastNs), i.Holds.MostNs})
	}
	return links
}

// least is how long all of them hold a packet at least.
func (l impairedLinks) least() int64 {
	var ns int64
	for _, one := range l {
		ns += one.least
	}
	return ns
}

// claim takes the time that the links held a packet from its transit. What ran while the packet waited in
// a link did not hold it up: other causes keep at most what is left of the transit.
func (l impairedLinks) claim(took tally) {
	for _, one := range l {
		took.yield(one.least)
		took.assign(one.cause, one.least)
	}
	for _, one := range l {
		took.assign(one.cause, one.most-one.least)
	}
}

// yield makes so much time of a part one without a cause, as far as there is that much: it takes what is missing from
// the causes, from each by its share.
func (t tally) yield(ns int64) {
	missing := ns - t.nobody()
	var all int64
	var causes []result.Cause
	for _, cause := range slices.SortedFunc(maps.Keys(t), compare) {
		if cause.Kind != "" && cause.Kind != Impaired {
			causes = append(causes, cause)
			all += t[cause].ns
		}
	}
	if missing = min(missing, all); missing <= 0 {
		return
	}
	take := func(cause result.Cause, ns int64) {
		ns = min(ns, missing, t[cause].ns)
		missing -= ns
		t.add(cause, -ns, 0)
		t.add(result.Cause{}, ns, 1)
	}
	share := float64(missing) / float64(all)
	for _, cause := range causes {
		take(cause, int64(share*float64(t[cause].ns)))
	}
	for _, cause := range causes { // what rounding has left
		take(cause, missing)
	}
}

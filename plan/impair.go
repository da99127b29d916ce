package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// Impairment is what happens, deliberately, to the packets that an endpoint of a link sends.
type Impairment struct {
	// From is the endpoint, "node:interface".
	From string        `json:"from"`
	By   spec.ImpairBy `json:"by"`
	spec.Impairment
}

// impairments are what happens to the packets of a link, in the order of its endpoints.
func (l *link) impairments() []Impairment {
	var list []Impairment
	for i, e := range l.endpoints {
		what := l.spec.ImpairmentOf(e.String())
		if what == nil {
			continue
		}
		one := Impairment{From: e.String(), By: l.kind.Descriptor().ImpairBy, Impairment: *what}
		if one.By == spec.ImpairByNetem {
			one.Seed = 0 // the kernel draws
		} else {
			one.Seed += i
		}
		list = append(list, one)
	}
	return list
}

// checkDrain refuses a trial that ends before packets that wait deliberately can have arrived: it
// would count them as lost.
func (w *work) checkDrain() error {
	for _, c := range w.courses {
		if err := checkDrainOf(c); err != nil {
			return err
		}
	}
	return nil
}

func checkDrainOf(c course) error {
	var longest, queued spec.Duration
	for _, h := range hopsOf(c.path) {
		if what := h.out.link.spec.ImpairmentOf(h.out.String()); what != nil {
			longest += what.LongestDelay()
			queued += what.LongestQueue(c.stream.FrameBytes)
		}
	}
	longest += queued
	if longest <= c.stream.Drain {
		return nil
	}
	of := ""
	var remedies []string
	if enough := longest + spec.Duration(100*time.Millisecond); enough <= spec.LongestDrain() {
		remedies = append(remedies, fmt.Sprintf("write traffic: {drain: %v} or more", enough))
	}
	if queued > 0 {
		of = fmt.Sprintf(" (%v of it in a full queue)", queued)
		remedies = append(remedies, "give the links a smaller limit or a higher rate")
	}
	if len(remedies) == 0 {
		remedies = append(remedies, "give the links less delay")
	}
	return at(&Conflict{"traffic", fmt.Sprintf("the links on the path delay a packet by up to %v%s, but a trial waits only %v for its last packets, and would count later ones as lost",
		longest, of, c.stream.Drain), strings.Join(remedies, ", or ")}, []string{"traffic", "drain"})
}

// Program is the program between the link's ends; nil: none.
func (l Link) Program() *spec.LinkProgram {
	return l.Kind.Descriptor().ProgramOf(l.Impaired())
}

// Impaired is true if something treats the link's packets badly deliberately.
func (l Link) Impaired() bool { return len(l.Impairments) > 0 }

// ImpairmentOf is what happens to the packets that an endpoint sends; nil: nothing.
func (l Link) ImpairmentOf(e Endpoint) *Impairment {
	if i := slices.IndexFunc(l.Impairments, func(one Impairment) bool { return one.From == e.Name() }); i >= 0 {
		return &l.Impairments[i]
	}
	return nil
}

// Meets is true if the stream passes a link from an endpoint of it.
func (p *Plan) Meets(l Link, from string) bool {
	if p.Traffic == nil {
		return false
	}
	isEnd := func(name string) bool {
		return slices.ContainsFunc(l.Endpoints, func(e Endpoint) bool { return e.Name() == name })
	}
	for i := range max(0, len(p.Traffic.Path)-1) {
		if p.Traffic.Path[i] == from && isEnd(from) && isEnd(p.Traffic.Path[i+1]) {
			return true
		}
	}
	return false
}

// ByText says in words what impairs the packets.
func (i Impairment) ByText() string { return byText[i.By] }

var byText = map[spec.ImpairBy]string{
	spec.ImpairByProgram: "the link's switch",
	spec.ImpairByHop:     "a switch of nines between the ends",
	spec.ImpairByNetem:   "the kernel's netem, at the end",
}

// writeImpairments lists what happens to packets deliberately.
func (p *Plan) writeImpairments(t *terminal.Table) {
	if !slices.ContainsFunc(p.Links, Link.Impaired) {
		return
	}
	t.Row()
	t.Row("IMPAIRED", "PACKETS FROM", "BY", "SEED", "WITH")
	for _, l := range p.Links {
		for _, one := range l.Impairments {
			seed := "-"
			if one.By != spec.ImpairByNetem {
				seed = fmt.Sprint(one.Seed)
			}
			t.Row(l.Name, one.From, one.ByText(), seed, one.String())
		}
	}
}

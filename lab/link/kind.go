package link

import (
	"context"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Kind is how links of a kind are made; what they are is in spec.LinkDescriptor.
type Kind struct {
	// Make makes the link between the endpoints given: all, or, if Incremental, those
	// that are new.
	Make func(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error
	// Leave takes endpoints out of a link that stays, before their devices go; nil
	// where that does it.
	Leave func(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error
	// Check finds out, before anything is made, whether the host has what the kind
	// needs, such as its program; nil where the plan has asked for everything.
	Check func(l plan.Link) error
	// Await returns when the program forwards for all whose engines have opened their
	// ports; nil where it does from the start.
	Await func(ctx context.Context, stateDir string, l plan.Link) error
	// OwnNamespace is true if the link's devices that are in no node are in the network
	// namespace of its first program, instead of the fabric.
	OwnNamespace bool
	// Incremental is true if endpoints can join and leave while the others stay.
	Incremental bool
	// NAPI is true if the nodes' ends receive by NAPI, as the target of an XDP redirect must.
	NAPI bool
	// Last is a line of a dry run for what comes after the endpoints; nil: nothing does.
	Last func(l plan.Link) string
}

// kinds has every link kind.
var kinds = map[spec.LinkKind]Kind{
	spec.LinkVeth:    {Make: makeVeth},
	spec.LinkBridge:  {Make: makeBridge, Incremental: true},
	spec.LinkMacvlan: {Make: makeMacvlan, Incremental: true},
	spec.LinkXDP:     {Make: makeXDP, NAPI: true, Last: lastOfXDP},
	spec.LinkMemif:   {Make: makeMemif},
	spec.LinkSwitch:  {Make: makeSwitch, Leave: leaveSwitch, Incremental: true},
	spec.LinkTestpmd: {Make: makeTestpmd, Check: checkTestpmd},
	spec.LinkOVS:     {Make: makeOVS, Check: checkOVS, OwnNamespace: true},
	spec.LinkOVSDPDK: {Make: makeOVSDPDK, Check: checkOVSDPDK, Await: awaitGuests, OwnNamespace: true},
	spec.LinkVPP:     {Make: makeVPP, Check: checkVPP},
	spec.LinkSnabb:   {Make: makeSnabb, Check: checkSnabb},

	spec.LinkSRIOV:       {Make: makeSRIOV},
	spec.LinkPassthrough: {Make: makePassthrough},
}

// Of is how links of a kind are made; of an unknown kind nothing.
func Of(k spec.LinkKind) Kind { return kinds[k] }

// Register adds a kind from outside of this package, beside spec.RegisterLink. It is for
// the start of a program.
func Register(k spec.LinkKind, how Kind) {
	if _, twice := kinds[k]; twice {
		panic("link: two kinds with the name " + k)
	}
	kinds[k] = how
}

// Check finds out whether the host has what the links of a plan need.
func Check(p *plan.Plan) error {
	for _, l := range p.Links {
		if check := kinds[l.Kind].Check; check != nil {
			if err := check(l); err != nil {
				return inLink(l, err)
			}
		}
	}
	return nil
}

package link

import (
	"context"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// kind is what there is to know of a link kind.
type kind struct {
	// make makes the link between the endpoints given: all, or, if incremental, those
	// that are new.
	make func(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error
	// leave takes endpoints out of a link that stays, before their devices go; nil
	// where that does it.
	leave func(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error
	// check finds out, before anything is made, whether the host has what the kind
	// needs, such as its program; nil where the plan has asked for everything.
	check func(l plan.Link) error
	// ownNamespace is true if the link's devices that are in no node are in the network
	// namespace of its first program, instead of the fabric.
	ownNamespace bool
	// incremental is true if endpoints can join and leave while the others stay.
	incremental bool
}

// kinds has every link kind.
var kinds = map[spec.LinkKind]kind{
	spec.LinkVeth:    {make: makeVeth},
	spec.LinkBridge:  {make: makeBridge, incremental: true},
	spec.LinkMacvlan: {make: makeMacvlan, incremental: true},
	spec.LinkXDP:     {make: makeXDP},
	spec.LinkMemif:   {make: makeMemif},
	spec.LinkSwitch:  {make: makeSwitch, leave: leaveSwitch, incremental: true},
	spec.LinkTestpmd: {make: makeTestpmd, check: checkTestpmd},
	spec.LinkOVS:     {make: makeOVS, check: checkOVS, ownNamespace: true},
	spec.LinkOVSDPDK: {make: makeOVSDPDK, check: checkOVSDPDK, ownNamespace: true},
	spec.LinkVPP:     {make: makeVPP, check: checkVPP},
	spec.LinkSnabb:   {make: makeSnabb, check: checkSnabb},

	spec.LinkSRIOV:       {make: makeSRIOV},
	spec.LinkPassthrough: {make: makePassthrough},
}

// Check finds out whether the host has what the links of a plan need.
func Check(p *plan.Plan) error {
	for _, l := range p.Links {
		if check := kinds[l.Kind].check; check != nil {
			if err := check(l); err != nil {
				return inLink(l, err)
			}
		}
	}
	return nil
}

// OwnNamespace is true if the devices of such a link that are in no node are in the
// network namespace of the first program that it started, instead of the fabric.
func OwnNamespace(k spec.LinkKind) bool { return kinds[k].ownNamespace }

// Incremental is true if endpoints can join and leave a link of this kind while
// the others stay.
func Incremental(k spec.LinkKind) bool { return kinds[k].incremental }

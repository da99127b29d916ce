package link

import (
	"context"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Kind is how links of a kind are made; spec.LinkDescriptor describes them.
type Kind struct {
	// Make makes the link between the given endpoints: all, or, if Incremental, only new ones.
	Make func(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error
	// Leave removes endpoints from a link that stays, before their devices are removed; nil where
	// removing the devices is enough.
	Leave func(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error
	// Check checks, before anything is made, that the host has what the kind needs, such as its
	// program; nil where the plan has checked everything.
	Check func(l plan.Link) error
	// Await returns when the program forwards for all endpoints whose engines have opened their
	// ports; nil where it does so from the start.
	Await func(ctx context.Context, stateDir string, l plan.Link) error
	// Explain says what the last output of its program means and what to do; nil, or empty, where they
	// say it themselves.
	Explain func(said string) string
	// OwnNamespace is true if the link's devices outside nodes are in network namespaces of its own, or
	// in that of its first program, not in the fabric.
	OwnNamespace bool
	// Incremental is true if endpoints can join and leave while the others stay.
	Incremental bool
	// Redirects is true if XDP programs at the fabric's ends pass packets on. The nodes' ends then receive
	// by NAPI, as the target of an XDP redirect must.
	Redirects bool
	// Bridged is true if the fabric's ends are in the link's device, a bridge of the kernel's.
	Bridged bool
	// KernelOnly is true if nothing but the kernel has the fabric's ends: an XDP program at one is
	// someone else's.
	KernelOnly bool
	// Ports says how the ports of its program are not as planned; nil where it cannot be asked. A program
	// that does not answer says nothing.
	Ports func(ctx context.Context, stateDir string, l plan.Link) ([]string, error)
	// Last is the line of a dry run for the steps after the endpoints; nil: there are none.
	Last func(l plan.Link) string
}

// kinds maps every link kind to its functions.
var kinds = map[spec.LinkKind]Kind{
	spec.LinkVeth:    {Make: makeVeth},
	spec.LinkBridge:  {Make: makeBridge, Incremental: true, Bridged: true, KernelOnly: true},
	spec.LinkMacvlan: {Make: makeMacvlan, Incremental: true, KernelOnly: true},
	spec.LinkXDP:     {Make: makeXDP, Redirects: true, Last: lastOfXDP},
	spec.LinkVXLAN:   {Make: makeVXLAN, OwnNamespace: true},
	spec.LinkMemif:   {Make: makeMemif},
	spec.LinkSwitch:  {Make: makeSwitch, Leave: leaveSwitch, Incremental: true},
	spec.LinkTestpmd: {Make: makeTestpmd, Check: checkTestpmd},
	spec.LinkOVS:     {Make: makeOVS, Check: checkOVS, Ports: ovsPortDifferences, OwnNamespace: true},
	spec.LinkOVSDPDK: {Make: makeOVSDPDK, Check: checkOVSDPDK, Await: awaitGuests, Ports: ovsPortDifferences, OwnNamespace: true},
	spec.LinkOVN:     {Make: makeOVN, Check: checkOVN, OwnNamespace: true},
	spec.LinkVPP:     {Make: makeVPP, Check: checkVPP, Await: awaitVPPGuests, Explain: explainVPP},
	spec.LinkSnabb:   {Make: makeSnabb, Check: checkSnabb},

	spec.LinkSRIOV:       {Make: makeSRIOV},
	spec.LinkPassthrough: {Make: makePassthrough},
	spec.LinkPodNetwork:  {Make: makePodNetwork, Incremental: true},
	spec.LinkPodPort:     {Make: makePodNetwork, Incremental: true},
}

// Of returns how links of a kind are made; an empty Kind for an unknown one.
func Of(k spec.LinkKind) Kind { return kinds[k] }

// Register adds a kind from another package, which also calls spec.RegisterLink. Call it at the
// start of a program.
func Register(k spec.LinkKind, how Kind) {
	if _, twice := kinds[k]; twice {
		panic("link: two kinds with the name " + k)
	}
	kinds[k] = how
}

// Check checks that the host has what the links of a plan need.
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

package link

import (
	"slices"
	"testing"

	"nines.dev/nines/spec"
	"nines.dev/nines/testbed/plan"
)

func TestMissingGuests(t *testing.T) {
	guests := ovsGuests(plan.Link{Kind: spec.LinkOVSDPDK, Endpoints: []plan.Endpoint{
		{Node: "a", Interface: "i", Attach: plan.AttachVhost}, {Node: "b", Interface: "i", Attach: plan.AttachVeth},
		{Node: "c", Interface: "i", Attach: plan.AttachVhost},
	}})
	// As Open vSwitch 3.1 writes it.
	const answer = `Displaying last 60 seconds pmd usage %
pmd thread numa_id 0 core_id 1:
  isolated : false
  port: vhost1            queue-id:  0 (enabled)   pmd usage: NOT AVAIL
  port: vhost3            queue-id:  0 (disabled)  pmd usage: NOT AVAIL
  overhead: NOT AVAIL
`
	if got := missingGuests(guests, answer); !slices.Equal(got, []string{"c:i"}) {
		t.Errorf("got %q, want c:i alone", got)
	}
	if got := missingGuests(guests, ""); !slices.Equal(got, []string{"a:i", "c:i"}) {
		t.Errorf("without an answer: got %q, want both guests", got)
	}
	if got := ovsGuests(plan.Link{Kind: spec.LinkTestpmd, Endpoints: []plan.Endpoint{{Attach: plan.AttachVhost}}}); got != nil {
		t.Errorf("another kind has guests to wait for: %v", got)
	}
}

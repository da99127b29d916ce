package link

import (
	"strings"
	"testing"

	"nines.dev/nines/plan"
)

func TestVPPGuests(t *testing.T) {
	l := plan.Link{Endpoints: []plan.Endpoint{
		{Node: "a", Interface: "x", Attach: plan.AttachVhost}, {Node: "b", Interface: "x", Attach: plan.AttachVeth, FabricDevice: "q"},
		{Node: "c", Interface: "x", Attach: plan.AttachVhost},
	}}
	const answer = `              Name                Idx   Link  Hardware
VirtualEthernet0/0/0               1     up   VirtualEthernet0/0/0
  Link speed: unknown
  Ethernet address 02:fe:b4:8e:ff:8f
VirtualEthernet0/0/1               2    down  VirtualEthernet0/0/1
  Link speed: unknown
host-q                             3     up   host-q
local0                             0    down  local0
`
	if got := strings.Join(guestsDown(vppGuests(l), answer), " "); got != "c:x" {
		t.Errorf("waits for %q, want c:x", got)
	}
	if got := guestsDown(vppGuests(l), strings.ReplaceAll(answer, "down", "up")); len(got) != 0 {
		t.Errorf("waits for %q, and all are up", got)
	}
	if got := strings.Join(guestsDown(vppGuests(l), ""), " "); got != "a:x c:x" {
		t.Errorf("without an answer it waits for %q", got)
	}
}

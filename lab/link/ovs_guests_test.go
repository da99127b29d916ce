package link

import (
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

func TestMissingGuests(t *testing.T) {
	guests := ovsGuests(plan.Link{Kind: spec.LinkOVSDPDK, Endpoints: []plan.Endpoint{
		{Node: "a", Interface: "i", Attach: plan.AttachVhost}, {Node: "b", Interface: "i", Attach: plan.AttachVeth},
		{Node: "c", Interface: "i", Attach: plan.AttachVhost},
	}})
	// As Open vSwitch 3.1 writes it.
	const ports = `netdev@ovs-netdev: hit:0 missed:0
  br0:
    br0 65534/3: (tap)
    vhost1 1/1: (dpdkvhostuserclient: configured_rx_queues=1, configured_tx_queues=1, mtu=1500, requested_rx_queues=1, requested_tx_queues=1)
    q-l-1 2/3: (afxdp: n_rxq=1, use-need-wakeup=true, xdp-mode=best-effort, xdp-mode-in-use=native)
    vhost3 3/2: (dpdkvhostuserclient: configured_rx_queues=1, configured_tx_queues=1, mtu=0, requested_rx_queues=1, requested_tx_queues=1)
`
	const queues = `Displaying last 60 seconds pmd usage %
pmd thread numa_id 0 core_id 1:
  isolated : false
  port: vhost1            queue-id:  0 (enabled)   pmd usage: NOT AVAIL
  port: vhost3            queue-id:  0 (enabled)   pmd usage: NOT AVAIL
  overhead: NOT AVAIL
`
	if got := missingGuests(guests, ports+queues); !slices.Equal(got, []string{"c:i"}) {
		t.Errorf("got %q, want c:i alone, which has no buffers", got)
	}
	gone := strings.Replace(queues, "0 (enabled) ", "0 (disabled)", 1)
	if got := missingGuests(guests, ports+gone); !slices.Equal(got, []string{"a:i", "c:i"}) {
		t.Errorf("got %q, want a:i too, which has gone", got)
	}
	there := strings.Replace(ports, "mtu=0", "mtu=1500", 1)
	if got := missingGuests(guests, there+queues); got != nil {
		t.Errorf("all are there, and it waits for %q", got)
	}
	if got := missingGuests(guests, ""); !slices.Equal(got, []string{"a:i", "c:i"}) {
		t.Errorf("without an answer: got %q, want both guests", got)
	}
	if Of(spec.LinkTestpmd).Await != nil {
		t.Error("another kind has guests to wait for")
	}
}

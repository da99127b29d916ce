package measure

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

// TestPacketsThroughOVSWithDPDK sends through vhost-user ports, with Open vSwitch as the client and
// the engines' virtio-user devices as the servers, both with learning and with flows:
//
//	a:eth ── virtio-user ══ vhost1 ─ br0 ─ vhost2 ══ virtio-user ── b:eth
func TestPacketsThroughOVSWithDPDK(t *testing.T) {
	labtest.Experiment(t)
	const network = `
topology:
  nodes: {a: {}, b: {}}
  links: [{name: wire, kind: ovs-dpdk, switch: {forwarding: %s}, endpoints: ["a:eth", "b:eth"]}]
dpdk: {hugepages: reserve}
traffic: {from: "a:eth", to: "b:eth", backend: dpdk, rate_pps: 2000, duration: 500ms, warmup: 3s, drain: 500ms, outliers: 10}
`
	for _, forwarding := range []string{"normal", "flows"} {
		t.Run(forwarding, func(t *testing.T) {
			labtest.Hugepages(t)
			experiment, writer := prepare(t, "viaovs", fmt.Sprintf(network, forwarding))
			_, err := experiment.Check()
			if err != nil && !errors.As(err, new(*exit.MissingError)) {
				t.Fatal(err)
			}
			labtest.Require(t, fmt.Sprintf("ovs-dpdk (%v)", err), err == nil)
			if err := measureAll(context.Background(), experiment, writer, silent{}); err != nil {
				t.Fatal(err)
			}
			noLabLeft(t)
			trials := writer.Summary().Trials
			if len(trials) != 1 {
				t.Fatalf("%d trials", len(trials))
			}
			// How many get through depends on the CPU time that the host leaves to three spinning
			// threads; each must be accounted for.
			trial := trials[0]
			if trial.RxPackets == 0 || trial.Latency.Count != trial.RxPackets || trial.TxPackets != trial.RxPackets+trial.LostPackets {
				t.Errorf("sent %d, received %d, lost %d, recorded %d",
					trial.TxPackets, trial.RxPackets, trial.LostPackets, trial.Latency.Count)
			}
		})
	}
}

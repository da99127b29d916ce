package enginetest

import (
	"fmt"
	"testing"

	"nines.dev/nines/engine/client"
)

// variant is one combination of the parameters that a test varies.
type variant struct {
	backend, io, wait string
	frameBytes        int
	flows             int
	flowField         string
	pattern           string
	burst             int
	ratePPS           float64
}

func (v variant) String() string {
	name := fmt.Sprintf("%s-%s-%s-%dB", v.backend, v.io, v.wait, v.frameBytes)
	if v.flows > 1 {
		name += fmt.Sprintf("-%d-%s", v.flows, v.flowField)
	}
	if v.pattern != "" {
		name += "-" + v.pattern
	}
	if v.burst > 1 {
		name += fmt.Sprintf("-burst%d", v.burst)
	}
	return name
}

func (v variant) port(name, peer string) client.Port {
	p := client.Port{
		Name: name, Backend: v.backend, Interface: name, IO: v.io, Wait: v.wait,
		LocalMAC: macs[name], LocalIP: addresses[name], UDPPort: 7999,
		FrameBytes: v.frameBytes, Flows: 1,
	}
	if peer != "" {
		p.PeerMAC, p.PeerIP = macs[peer], addresses[peer]
	}
	return p
}

func open(t *testing.T, engine *client.Client, port client.Port) {
	t.Helper()
	if _, err := engine.Open(port); err != nil {
		t.Fatalf("open %s: %v", port.Name, err)
	}
}

func (v variant) trial(tx, rx string) client.Trial {
	burst, rate := v.burst, v.ratePPS
	if burst == 0 {
		burst = 1
	}
	if rate == 0 {
		rate = 2000
	}
	return client.Trial{
		Role: "loop", CPU: -1, Streams: []client.Stream{{Tx: tx, Rx: rx, RatePPS: rate, Pattern: v.pattern, Burst: burst, Seed: 3}},
		WarmupNs: 50e6, DurationNs: 250e6, DrainNs: 3e9, Outliers: 10,
	}
}

func variants() []variant {
	var all []variant
	for _, backend := range []string{"udp", "raw", "ring", "xdp"} {
		for _, io := range []string{"single", "batch"} {
			for _, wait := range []string{"block", "spin", "busy_poll"} {
				all = append(all, variant{backend: backend, io: io, wait: wait, frameBytes: 64})
			}
		}
		all = append(all,
			variant{backend: backend, io: "batch", wait: "block", frameBytes: 1518},
			variant{backend: backend, io: "single", wait: "block", frameBytes: 9018},
			variant{backend: backend, io: "batch", wait: "block", frameBytes: 9018, burst: 8},
			variant{backend: backend, io: "mmsg", wait: "spin", frameBytes: 64, burst: 64},
			variant{backend: backend, io: "batch", wait: "block", frameBytes: 64, flows: 16, flowField: "source_port"},
			variant{backend: backend, io: "single", wait: "block", frameBytes: 128, flows: 16, flowField: "source_address"},
			variant{backend: backend, io: "batch", wait: "block", frameBytes: 64, pattern: "poisson", burst: 4})
	}
	return all
}

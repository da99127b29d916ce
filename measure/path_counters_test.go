package measure

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

const snmp = `Ip: Forwarding DefaultTTL InReceives InHdrErrors ForwDatagrams
Ip: 1 64 100 0 40
Udp: InDatagrams NoPorts InErrors
Udp: 60 3 0
`

const dev = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    in:   46000    1000    1    2    0     0          0         0       90       2    3    4    0     0       0          0
`

func TestCountersOfAPath(t *testing.T) {
	if got, want := ipTable(snmp), map[string]uint64{
		"Ip.Forwarding": 1, "Ip.DefaultTTL": 64, "Ip.InReceives": 100, "Ip.InHdrErrors": 0, "Ip.ForwDatagrams": 40,
		"Udp.InDatagrams": 60, "Udp.NoPorts": 3, "Udp.InErrors": 0,
	}; !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got, want := interfaceTable(dev), map[string]uint64{
		"rx_packets": 1000, "rx_errors": 1, "rx_dropped": 2, "tx_packets": 2, "tx_errors": 3, "tx_dropped": 4,
	}; len(got) != 1 || !maps.Equal(got["in"], want) {
		t.Errorf("%v", got)
	}
	p := &plan.Plan{Traffic: &plan.Traffic{Path: []string{"a:tx", "dut:in", "dut:out", "a:rx"}}}
	was := pathCounters{"dut": {ip: map[string]uint64{"Ip.ForwDatagrams": 10}, services: map[string]time.Duration{"fwd": 5, "gone": 1}}}
	now := pathCounters{
		"dut": {ip: map[string]uint64{"Ip.ForwDatagrams": 40, "Udp.NoPorts": 0}, interfaces: map[string]map[string]uint64{"in": {"rx_packets": 7, "tx_packets": 0}}, services: map[string]time.Duration{"fwd": 12, "new": 3}},
		"a":   {},
	}
	list := now.since(was, p)
	if len(list) != 1 || list[0].Node != "dut" || !maps.Equal(list[0].Counters, map[string]uint64{"Ip.ForwDatagrams": 30}) ||
		!maps.Equal(list[0].Interfaces["in"], map[string]uint64{"rx_packets": 7}) || !slices.Equal(list[0].Services, []result.SeenService{{Name: "fwd", CPUNs: 7}}) {
		t.Errorf("%+v", list)
	}
}

// TestAServiceThatDidNothingIsTold: only where the file does not say how packets leave the device.
func TestAServiceThatDidNothingIsTold(t *testing.T) {
	for _, test := range []struct {
		leaves   spec.Leaves
		cpu      int64
		received uint64
		told     bool
	}{{"", 0, 10, true}, {"", 5, 10, false}, {"", 0, 0, false}, {spec.LeavesForwarded, 0, 10, false}} {
		p := &plan.Plan{Nodes: []plan.Node{{Name: "dut", App: &plan.App{Kind: spec.AppDevice, Leaves: test.leaves}}}}
		reasons := idle(p, []result.SeenNode{{Node: "dut", Services: []result.SeenService{{Name: "fwd", CPUNs: test.cpu}}}}, test.received)
		if told := len(reasons) == 1 && strings.Contains(reasons[0], "service fwd of node dut got no CPU time"); told != test.told {
			t.Errorf("%+v: %q", test, reasons)
		}
	}
}

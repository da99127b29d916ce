package measure

import (
	"testing"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/result"
)

func TestLossInWords(t *testing.T) {
	for name, test := range map[string]struct {
		missing  *client.Missing
		received uint64
		want     string
	}{
		"nothing is lost":      {&client.Missing{Next: 10_000}, 10_000, ""},
		"the first":            {&client.Missing{Runs: 1, Longest: 5_257, Next: 10_000}, 4_743, "all 5257 lost packets are the first 5.257s"},
		"the last":             {&client.Missing{Next: 7_000}, 7_000, "all 3000 lost packets are the last 3s"},
		"an outage":            {&client.Missing{Runs: 1, Longest: 1_000, LongestFrom: 2_500, Next: 10_000}, 9_000, "all 1000 lost packets are one gap of 1s, from 2.5s on"},
		"an outage, and a few": {&client.Missing{Runs: 4, Longest: 950, LongestFrom: 2_500, Next: 10_000}, 9_000, "950 of 1000 lost packets are one gap of 950ms, from 2.5s on"},
		"spread":               {&client.Missing{Runs: 400, Longest: 9, LongestFrom: 3, Next: 10_000}, 9_000, ""},
		"one packet":           {&client.Missing{Runs: 1, Longest: 1, LongestFrom: 3, Next: 10_000}, 9_999, ""},
		"nobody knows":         {nil, 9_000, ""},
		"nothing came":         {&client.Missing{}, 0, ""},
	} {
		sent := client.TrialResult{Counts: client.Counts{TxPackets: 10_000, IntendedPackets: 10_000}}
		if got := lossInWords(sent, test.missing, test.received, 10*time.Second); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestDroppedInWords(t *testing.T) {
	path := &result.SeenPath{Nodes: []result.SeenNode{
		{Node: "gen", Counters: map[string]uint64{"Udp.InDatagrams": 100}},
		{Node: "dut", Counters: map[string]uint64{"Udp.RcvbufErrors": 3700, "Ip.InDiscards": 2}, Interfaces: map[string]map[string]uint64{"in": {"rx_dropped": 500, "rx_packets": 9}}},
	}}
	want := "dropped, with the warm-up: 3700 in dut: socket receive buffers were full: its programs read too slowly (Udp.RcvbufErrors); " +
		"500 in dut: interface in dropped packets (rx_dropped)"
	if got := droppedInWords(path, 4000); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for name, lost := range map[string]uint64{"nothing lost": 0, "hardly any of it": 1_000_000} {
		if got := droppedInWords(path, lost); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

package nodefit

import (
	"testing"

	"nines.dev/nines/cluster/request"
)

func TestSpareRanksOrdinaryNodesFirst(t *testing.T) {
	spare := func(labels map[string]string, us ...int) int64 {
		var c cluster
		for _, v := range us {
			c = cluster{"n": append(c["n"], measured("t"+string(rune('a'+len(c["n"]))), "", "99", v, v))}
		}
		fastest, _ := Best(Read(c["n"]), now)
		return Spare(fastest, labels)
	}
	unknown, overlay, veth, fast := spare(nil), spare(nil, 20_000), spare(nil, 200), spare(nil, 5)
	if unknown != MaxScore || overlay != MaxScore || fast != 0 || veth <= fast || veth >= overlay {
		t.Errorf("unknown %d, overlay %d, veth %d, fast %d", unknown, overlay, veth, fast)
	}
	if a, b := spare(nil, 200), spare(nil, 230); a != b {
		t.Errorf("nodes that differ by a measurement's noise have %d and %d", a, b)
	}
	if both := spare(nil, 200, 5); both != fast {
		t.Errorf("a node with a fast tier beside a slow one has %d, not %d", both, fast)
	}
	if ports, ovs := spare(map[string]string{LabelPorts: "1"}), spare(map[string]string{LabelOVS: "true"}); ports != 0 || ovs <= ports || ovs >= MaxScore {
		t.Errorf("labels: ports %d, Open vSwitch %d", ports, ovs)
	}
	if none := spare(map[string]string{LabelPorts: "0"}); none != MaxScore {
		t.Errorf("a node without ports has %d", none)
	}
}

func TestScorePrefersTheSlowestTierWithRoom(t *testing.T) {
	r, err := request.Parse("p99 < 100us else p99 < 1ms else any")
	if err != nil {
		t.Fatal(err)
	}
	score := func(us int) int64 {
		answer, _ := cluster{"n": {measured("veth", "", "99", us, us)}}.askRequest(r, Node{Name: "n"})
		return Score(&answer, r, 50)
	}
	for _, pair := range [][2]int{
		{75, 5},      // the faster stays free
		{75, 98},     // too close to the limit
		{5, 101},     // the first alternative, however badly it fits
		{999, 1001},  // the second before any
		{120, 20000}, // and so on
	} {
		if better, worse := score(pair[0]), score(pair[1]); better <= worse {
			t.Errorf("%d µs has %d, %d µs has %d", pair[0], better, pair[1], worse)
		}
	}
	for us := 1; us < 20_000; us += 7 {
		if s := score(us); s < 0 || s > MaxScore {
			t.Fatalf("%d µs has the score %d", us, s)
		}
	}
}

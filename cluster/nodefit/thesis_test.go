package nodefit

import (
	"strconv"
	"strings"
	"testing"

	"nines.dev/nines/cluster/request"
)

func thesis(t *testing.T, us string, ports ...string) *request.Request {
	t.Helper()
	annotations := map[string]string{request.ThesisAnnotation: us}
	if len(ports) > 0 {
		annotations[request.PortsAnnotation] = ports[0]
	}
	r, err := request.Of(annotations)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The thesis's tiers with their boundaries, which its strict comparisons left out, so that its own
// 800, 5000 and 10000 were "not a proper latency value".
func TestThesisBoundaries(t *testing.T) {
	labels := map[string]map[string]string{
		"dpdk": {LabelPorts: "2", LabelOVS: "false"}, "ovs": {LabelPorts: "0", LabelOVS: "true"}, "plain": nil,
		"both": {LabelOVS: "true", LabelPorts: "1"}, "damaged": {LabelPorts: "many", LabelOVS: "yes"},
	}
	for _, c := range []struct {
		us   string
		tier map[string]string // of each node that suits
	}{
		{"100", nil}, {"799", nil},
		{"800", map[string]string{"dpdk": TierPort, "both": TierPort}},
		{"801", map[string]string{"dpdk": TierPort, "both": TierPort}},
		{"4999", map[string]string{"dpdk": TierPort, "both": TierPort}},
		// A better tier serves where the node lacks the cheaper one.
		{"5000", map[string]string{"dpdk": TierPort, "both": TierOVS, "ovs": TierOVS}},
		{"9999", map[string]string{"dpdk": TierPort, "both": TierOVS, "ovs": TierOVS}},
		{"10000", map[string]string{"dpdk": TierDefault, "both": TierDefault, "ovs": TierDefault, "plain": TierDefault, "damaged": TierDefault}},
		{"20000", map[string]string{"dpdk": TierDefault, "both": TierDefault, "ovs": TierDefault, "plain": TierDefault, "damaged": TierDefault}},
	} {
		for node, of := range labels {
			answer, sentence := cluster{}.askRequest(thesis(t, c.us), Node{Name: node, Labels: of})
			want := c.tier[node]
			if answer.Met != (want != "") || answer.Met && answer.Tier != want || !answer.ByLabel {
				t.Errorf("%s µs on %s: met %v by %q, want %q: %s", c.us, node, answer.Met, answer.Tier, want, sentence)
			}
			if ports := answer.TakesPorts; (want == TierPort) != (ports == 1) {
				t.Errorf("%s µs on %s takes %d ports", c.us, node, ports)
			}
		}
	}
}

// The thesis looked at the labels of a node one by one, in the random order of a map, and counted
// the node once for each. Here the answer depends on no order.
func TestThesisLabelsHaveNoOrder(t *testing.T) {
	labels := map[string]string{LabelPorts: "1", LabelOVS: "true"}
	for i := range 50 {
		labels["other"+strconv.Itoa(i)] = "x"
		answer, _ := cluster{}.askRequest(thesis(t, "6000"), Node{Name: "n", Labels: labels})
		if answer.Tier != TierOVS {
			t.Fatalf("with %d labels the tier is %q", len(labels), answer.Tier)
		}
	}
}

func TestThesisPortsAreCounted(t *testing.T) {
	for _, c := range []struct {
		ports string
		taken int
		met   bool
	}{{"1", 0, true}, {"1", 3, true}, {"1", 4, false}, {"2", 2, true}, {"2", 3, false}, {"4", 0, true}, {"5", 0, false}} {
		answer, sentence := cluster{}.askRequest(thesis(t, "800", c.ports), Node{Name: "n", Labels: map[string]string{LabelPorts: "4"}, PortsTaken: c.taken})
		if answer.Met != c.met {
			t.Errorf("%s ports with %d of 4 taken: met %v, want %v", c.ports, c.taken, answer.Met, c.met)
		}
		if !c.met && (answer.Miss != NoPort || !strings.Contains(sentence, "taken all ports")) {
			t.Errorf("%s ports with %d of 4 taken: %s", c.ports, c.taken, sentence)
		}
	}
	// Not the port, but the default network: no port is taken.
	if answer, _ := (cluster{}).askRequest(thesis(t, "10000"), Node{Name: "n", Labels: map[string]string{LabelPorts: "1"}, PortsTaken: 1}); !answer.Met {
		t.Error("a pod that needs no port is refused for want of one")
	}
}

// The tiers were constants of one rig. What is measured at a node outranks them, both ways.
func TestMeasurementOutranksTheThesisConstants(t *testing.T) {
	ports := map[string]string{LabelPorts: "1"}
	slow := cluster{"n": {measured("sriov", "", "99", 1500, 1600)}}
	if answer, sentence := slow.askRequest(thesis(t, "800"), Node{Name: "n", Labels: ports}); answer.Met || !strings.Contains(sentence, "1.5 ms") {
		t.Errorf("a port that is measured as slower than its constant suits: %s", sentence)
	}
	fast := cluster{"n": {measured("sriov", "", "99", 60, 65)}}
	if answer, sentence := fast.askRequest(thesis(t, "100"), Node{Name: "n", Labels: ports}); !answer.Met || answer.TakesPorts != 1 {
		t.Errorf("the thesis's own example of 100 µs is refused by a node that holds it: %s", sentence)
	}
	if answer, _ := fast.askRequest(thesis(t, "100"), Node{Name: "n", Labels: ports, PortsTaken: 1}); answer.Met || answer.Miss != NoPort {
		t.Error("a measured port is given away twice")
	}
	if answer, _ := fast.askRequest(thesis(t, "100"), Node{Name: "n"}); !answer.Met || answer.TakesPorts != 0 {
		t.Error("a node without the label dpdk has no count of ports to hold to")
	}
}

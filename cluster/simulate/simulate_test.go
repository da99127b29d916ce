package simulate

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

func recordings(t testing.TB) Recordings {
	t.Helper()
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func smaller(t *testing.T, seed uint64) []Outcome {
	t.Helper()
	shape := Usual()
	shape.Nodes = 500
	random := rand.New(rand.NewPCG(seed, 0))
	nodes := Populate(recordings(t), shape, random)
	pods, err := Pods(1500, shape.Zones, random)
	if err != nil {
		t.Fatal(err)
	}
	return Run(nodes, pods, seed)
}

// The order of the rules is no accident of one seed. It is what the issue is about: whose requests
// hold, and who sits on fast nodes without need.
func TestMeasuredHoldsMostRequests(t *testing.T) {
	for seed := range uint64(5) {
		outcomes := smaller(t, seed)
		ours := outcomes[len(outcomes)-1]
		for _, other := range outcomes[:len(outcomes)-1] {
			// The thesis breaks few, as it refuses most: its ports are soon gone to who needs none.
			if ours.Held <= other.Held || other.Refused == 0 && ours.Broken >= other.Broken {
				t.Errorf("seed %d: %s holds %d and breaks %d, %s %d and %d", seed, ours.Rule, ours.Held, ours.Broken, other.Rule, other.Held, other.Broken)
			}
		}
		if ours.OnFast > 0 {
			t.Errorf("seed %d: %d pods without a latency request are on fast nodes while others have room", seed, ours.OnFast)
		}
	}
}

func TestEachPodIsCountedOnce(t *testing.T) {
	for _, o := range smaller(t, 7) {
		if o.Held+o.Broken+o.Refused != o.Requests || o.Requests != 450 {
			t.Errorf("%s: of %d requests %d held, %d broken, %d refused", o.Rule, o.Requests, o.Held, o.Broken, o.Refused)
		}
	}
}

func TestTheSameSeedGivesTheSame(t *testing.T) {
	if a, b := smaller(t, 3), smaller(t, 3); !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// What is placed is placed within what there is.
func TestNoNodeHasMoreThanItsRoom(t *testing.T) {
	shape := Usual()
	shape.Nodes = 120
	random := rand.New(rand.NewPCG(1, 0))
	nodes := Populate(recordings(t), shape, random)
	pods, err := Pods(3000, shape.Zones, random)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range Run(nodes, pods, 1) {
		if placed := o.Held + o.Broken; placed > 120*8 || o.Wasted > o.Ports {
			t.Errorf("%s: %d placed on %d, %d of %d ports wasted", o.Rule, placed, 120*8, o.Wasted, o.Ports)
		}
	}
}

// BenchmarkPlacement is the size of the issue: 5,000 nodes, 10,000 pods.
func BenchmarkPlacement(b *testing.B) {
	for b.Loop() {
		random := rand.New(rand.NewPCG(1, 0))
		shape := Usual()
		nodes := Populate(recordings(b), shape, random)
		pods, err := Pods(10_000, shape.Zones, random)
		if err != nil {
			b.Fatal(err)
		}
		for _, o := range Run(nodes, pods, 1) {
			b.Logf("%-22s held %4.1f %%  broken %4d  refused %4d  ports wasted %4d of %d  ordinary pods on fast nodes %4d",
				o.Rule, 100*float64(o.Held)/float64(o.Requests), o.Broken, o.Refused, o.Wasted, o.Ports, o.OnFast)
		}
	}
}

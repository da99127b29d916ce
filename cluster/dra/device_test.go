package dra

import (
	"fmt"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/port"
	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

func TestFiguresAreRoundedUpToTwoDigits(t *testing.T) {
	for ns, want := range map[int64]int64{0: 0, 7: 7, 99: 99, 100: 100, 101: 110, 4199: 4200, 4200: 4200, 4201: 4300, 99_001: 100_000, 995_000: 1_000_000} {
		if got := roundUp(ns); got != want {
			t.Errorf("%d ns are told as %d, not %d", ns, got, want)
		}
	}
}

func TestAFigureThatChangesALittleStays(t *testing.T) {
	s := Steady{}
	for i, step := range []struct{ measured, told int64 }{
		{100_000, 100_000}, {109_000, 100_000}, {91_000, 100_000}, {111_000, 120_000}, {107_000, 120_000}, {99_000, 99_000},
	} {
		if got := s.keep("x", step.measured); got != step.told {
			t.Errorf("step %d: %d is told as %d, not %d", i, step.measured, got, step.told)
		}
	}
}

func measured(tier string, p99 int64, change ...func(*v1alpha1.Figure)) v1alpha1.Figure {
	upper, half := p99, p99/2
	now := time.Now()
	f := v1alpha1.Figure{
		Tier: tier, Way: v1alpha1.OneWay, Count: 1_000_000, Verdict: v1alpha1.Clean,
		Percentiles: []v1alpha1.Percentile{{P: "50", ValueNs: half, UpperNs: &half}, {P: "99", ValueNs: p99, UpperNs: &upper}, {P: "99.99", ValueNs: p99}},
		MeasuredAt:  metav1.NewTime(now.Add(-time.Minute)), ValidUntil: metav1.NewTime(now.Add(time.Minute)),
	}
	for _, one := range change {
		one(&f)
	}
	return f
}

func TestOnlyWhatCountsNowIsTold(t *testing.T) {
	told := Latencies([]v1alpha1.Figure{
		measured("macvlan", 21_300),
		measured("veth", 9_000, func(f *v1alpha1.Figure) { f.Verdict = v1alpha1.Noisy }),
		measured("sriov", 9_000, func(f *v1alpha1.Figure) { f.Verdict = v1alpha1.Invalid }),
		measured("ovs", 9_000, func(f *v1alpha1.Figure) { f.ValidUntil = metav1.NewTime(time.Now().Add(-time.Second)) }),
		measured("node-network", 9_000, func(f *v1alpha1.Figure) { f.Peer, f.Way = "n2", v1alpha1.RoundTrip }),
	}, time.Now(), Steady{})
	if len(told) != 2 || told["veth"].Verdict != "Noisy" || told["macvlan"].Verdict != "Clean" {
		t.Errorf("told: %+v", told)
	}
	ns := told["macvlan"].Ns
	if _, unbound := ns["p9999Ns"]; unbound || ns["p99Ns"] != 22_000 || ns["p50Ns"] != 11_000 {
		t.Errorf("of macvlan: %v", ns)
	}
}

// TestATimeRarelyChangesSlices: it is told by the hour.
func TestATimeRarelyChangesSlices(t *testing.T) {
	at := time.Date(2026, 11, 26, 13, 0, 0, 0, time.UTC)
	said := map[string]bool{}
	for minute := range 120 {
		now := at.Add(time.Duration(minute) * time.Minute)
		f := measured("macvlan", 21_000, func(f *v1alpha1.Figure) {
			f.MeasuredAt, f.ValidUntil = metav1.NewTime(now), metav1.NewTime(now.Add(time.Minute))
		})
		attributes := map[resource.QualifiedName]resource.DeviceAttribute{}
		Latencies([]v1alpha1.Figure{f}, now, Steady{})["macvlan"].tell(attributes)
		said[*attributes[measuredAt].StringValue] = true
	}
	if len(said) != 2 || !said["2026-11-26T13:00:00Z"] || !said["2026-11-26T14:00:00Z"] {
		t.Errorf("in two hours it says %v", said)
	}
}

// TestTheWorstComeFirst, as the scheduler takes the first that suits.
func TestTheWorstComeFirst(t *testing.T) {
	inv, err := inventory(t, example, "n1")
	if err != nil {
		t.Fatal(err)
	}
	node := &host.Inventory{NICs: []host.NIC{
		{Name: "Eth0.7", MTU: 1500, SpeedMbit: 10_000, PCIAddress: "0000:01:00.0", NUMANode: 1},
		{Name: "br0", MTU: 1500, NUMANode: -1},
	}}
	at := time.Date(2026, 11, 26, 14, 59, 59, 0, time.FixedZone("CET", 3600))
	then := func(f *v1alpha1.Figure) {
		f.MeasuredAt, f.ValidUntil = metav1.NewTime(at), metav1.NewTime(at.Add(time.Minute))
	}
	pool, missing := Pool(inv, node, Latencies([]v1alpha1.Figure{measured("macvlan", 21_000, then), measured("switch", 3_000, then)}, at, Steady{}))
	if len(missing) > 0 || len(pool.Slices) != 1 {
		t.Fatalf("%d slices, missing %v", len(pool.Slices), missing)
	}
	var names []string
	for _, d := range pool.Slices[0].Devices {
		names = append(names, d.Name)
	}
	if got := fmt.Sprint(names); got != "[bridge-br0-1 macvlan-eth0-7-1 macvlan-eth0-7-2 switch-1 switch-2]" {
		t.Errorf("in the order %s", got)
	}
	said := map[string]string{}
	for name, a := range pool.Slices[0].Devices[1].Attributes {
		switch {
		case a.StringValue != nil:
			said[string(name)] = *a.StringValue
		case a.IntValue != nil:
			said[string(name)] = fmt.Sprint(*a.IntValue)
		}
	}
	for name, want := range map[string]string{
		"nines.dev/tier": "macvlan", "nines.dev/kind": "interface", "nines.dev/parent": "Eth0.7", "nines.dev/mtu": "1400",
		"nines.dev/speedMbit": "10000", "nines.dev/p99Ns": "21000", "nines.dev/verdict": "Clean", "nines.dev/measuredAt": "2026-11-26T13:00:00Z",
		"resource.kubernetes.io/pciBusID": "0000:01:00.0", "resource.kubernetes.io/numaNode": "1",
	} {
		if said[name] != want {
			t.Errorf("%s is %q, not %q", name, said[name], want)
		}
	}
}

// TestALogicalSwitchIsNoCard, whatever its name.
func TestALogicalSwitchIsNoCard(t *testing.T) {
	inv, err := inventory(t, "ports: [{tier: ovn, parent: lan, count: 1}]", "n1")
	if err != nil {
		t.Fatal(err)
	}
	for _, nics := range [][]host.NIC{nil, {{Name: "lan", MTU: 9000, SpeedMbit: 10_000, PCIAddress: "0000:01:00.0"}}} {
		pool, missing := Pool(inv, &host.Inventory{NICs: nics}, nil)
		if len(missing) > 0 || len(pool.Slices[0].Devices) != 1 {
			t.Fatalf("%+v, missing %v", pool, missing)
		}
		said := pool.Slices[0].Devices[0].Attributes
		if len(said) != 4 || *said["nines.dev/parent"].StringValue != "lan" || *said["nines.dev/mtu"].IntValue != port.OverlayMTU {
			t.Errorf("it says %+v", said)
		}
	}
}

func TestPortsThatTheKernelCannotMakeAreLeftOut(t *testing.T) {
	inv, err := inventory(t, "ports: [{tier: xdp, parent: fast, count: 2}, {tier: memif, count: 1}]", "n1")
	if err != nil {
		t.Fatal(err)
	}
	node := &host.Inventory{}
	if pool, missing := Pool(inv, node, nil); len(missing) > 0 || len(pool.Slices[0].Devices) != 3 {
		t.Errorf("%+v, missing %v", pool, missing)
	}
	node.Features = []host.Feature{{Name: host.FeatureXDPVeth, State: host.StateNo}}
	if pool, missing := Pool(inv, node, nil); len(missing) != 1 || missing[0] != host.FeatureXDPVeth || len(pool.Slices[0].Devices) != 1 {
		t.Errorf("%+v, missing %v", pool, missing)
	}
}

func TestPortsOfACardThatIsNotThereAreLeftOut(t *testing.T) {
	inv, err := inventory(t, "ports: [{tier: macvlan, parent: eth9, count: 300}, {tier: bridge, parent: br0, count: 300}]", "n1")
	if err != nil {
		t.Fatal(err)
	}
	pool, missing := Pool(inv, &host.Inventory{NICs: []host.NIC{{Name: "br0"}}}, nil)
	if len(missing) != 1 || missing[0] != "eth9" || len(pool.Slices) != 3 {
		t.Errorf("%d slices, missing %v", len(pool.Slices), missing)
	}
	for _, s := range pool.Slices {
		if len(s.Devices) > resource.ResourceSliceMaxDevices {
			t.Errorf("a slice of %d", len(s.Devices))
		}
	}
	if none, _ := Pool(Inventory{}, &host.Inventory{}, nil); len(none.Slices) != 1 {
		t.Error("a node without ports has no slice that says so")
	}
}

// TestAnInterfaceForAFXDPIsKnownByItsAttribute: and its pod sees the map, and nothing else of the folder that it is in.
func TestAnInterfaceForAFXDPIsKnownByItsAttribute(t *testing.T) {
	p := port.Port{Name: "xdp-fast-1", Tier: spec.LinkXDP, Parent: "fast", AFXDP: true}
	if has := device(p, host.NIC{}, "", Latency{}).Attributes[Domain+"afXDP"].BoolValue; has == nil || !*has {
		t.Error("its device does not say so")
	}
	held := port.Held{Order: port.Order{Holder: "claim", Port: p, Interface: "net1"}}
	mounts := cdiSpec(port.Keeper{Folder: "/f"}, []port.Held{held}, "").Devices[0].ContainerEdits.Mounts
	if len(mounts) != 1 || mounts[0].HostPath != "/f/fast/xdp-fast-1/maps/pod" || mounts[0].ContainerPath != "/run/nines/af-xdp/net1" {
		t.Errorf("its container mounts %+v", mounts)
	}
	p.AFXDP = false
	if _, has := device(p, host.NIC{}, "", Latency{}).Attributes[Domain+"afXDP"]; has {
		t.Error("another device has the attribute")
	}
}

package analyze

import (
	"bytes"
	"context"
	"testing"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/analyze/synthetic"
)

// TestSlowestPacketsAreFoundInBothFiles looks them up by the numbers that are told, in files where several packets have
// one time, and where times go backwards.
func TestSlowestPacketsAreFoundInBothFiles(t *testing.T) {
	for name, c := range map[string]struct {
		network    synthetic.Config
		resolution packetfile.Resolution
	}{
		"nanoseconds":  {network(1, 5000), packetfile.Nanoseconds},
		"microseconds": {synthetic.Config{Seed: 2, Packets: 5000, GapNs: 300, LatencyNs: 4200, JitterNs: 5000, Flows: 3}, packetfile.Microseconds},
		"set clock":    {synthetic.Config{Seed: 3, Packets: 3000, GapNs: 1_000_000, LatencyNs: 90_000, JitterNs: 5000, PostStepAfter: 1000, PostStepNs: -1_500_000, OffsetNs: 2_000_000}, packetfile.Nanoseconds},
	} {
		t.Run(name, func(t *testing.T) {
			pre, post, _ := writePair(t, c.network, packetfile.Layout{Format: packetfile.Pcapng, Interfaces: []packetfile.Interface{{LinkType: packetfile.Ethernet, Resolution: c.resolution}}}, ".pcapng")
			a, err := Analyze(context.Background(), Options{Pre: pre, Post: post})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			record, err := a.record(context.Background(), &a.Direction)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(record.Pair.Slowest); got != slowestShown {
				t.Fatalf("%d packets, want %d", got, slowestShown)
			}
			before, after := everyPacket(t, pre), everyPacket(t, post)
			for i, s := range record.Pair.Slowest {
				if s.PreFrame == 0 || s.PostFrame == 0 {
					t.Fatalf("%d: has no number: %+v", i, s)
				}
				x, y := before[s.PreFrame-1], after[s.PostFrame-1]
				if x.TimeNs != s.PreNs || y.TimeNs != s.PostNs || y.TimeNs-x.TimeNs != s.LatencyNs || !bytes.Equal(x.Data[14:], y.Data[14:]) {
					t.Errorf("%d: %+v is not the packet at %d and %d", i, s, x.TimeNs, y.TimeNs)
				}
				f := dissect(packetfile.Ethernet, x.Data)
				if s.Flow != endpointsOf(&f).String() || s.Flow == "other" {
					t.Errorf("%d: flow %q", i, s.Flow)
				}
			}
		})
	}
}

func everyPacket(t *testing.T, path string) (all []packetfile.Packet) {
	t.Helper()
	r, err := packetfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		p, err := r.Next()
		if err != nil {
			return all
		}
		p.Data = bytes.Clone(p.Data)
		all = append(all, p)
	}
}

// TestBothDirectionsAreRecorded: each is a trial, whose slowest packets are at their numbers in both files.
func TestBothDirectionsAreRecorded(t *testing.T) {
	p := talk(2000, 0, 3)
	o := p.write(t, plainPcap)
	a := analyze(t, o)
	records, err := a.Records(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 2 || records[0].Trial.Variables["direction"] != "pre > post" || records[1].Trial.Variables["direction"] != "post > pre" {
		t.Fatalf("%d records", len(records))
	}
	for i, paths := range [][2]string{{o.Pre, o.Post}, {o.Post, o.Pre}} {
		r := records[i]
		before, after := everyPacket(t, paths[0]), everyPacket(t, paths[1])
		if r.Trial.TxPackets != 2000 || r.Trial.LostPackets != 0 || r.Pair.Pre != paths[0] || len(r.Pair.Slowest) != slowestShown {
			t.Errorf("direction %d: %+v of %s", i, r.Trial, r.Pair.Pre)
		}
		for _, s := range r.Pair.Slowest {
			x, y := before[s.PreFrame-1], after[s.PostFrame-1]
			f := dissect(packetfile.Ethernet, x.Data)
			if x.TimeNs != s.PreNs || y.TimeNs != s.PostNs || !bytes.Equal(x.Data[14:], y.Data[14:]) || s.Flow != endpointsOf(&f).String() {
				t.Errorf("direction %d: %+v is not the packet at %d and %d", i, s, x.TimeNs, y.TimeNs)
			}
		}
	}
}

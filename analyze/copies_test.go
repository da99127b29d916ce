package analyze

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/result"
)

// copied writes PRE with copies of each packet, and POST, which has each 50 µs after the first copy.
//
//	copies: how much later, and with what in front
func copied(t *testing.T, layout packetfile.Layout, copies []copyOf, key func(i int) uint32) Options {
	t.Helper()
	var pre, post []taken
	const packets = 1000
	for i := range packets {
		p := packet{from: "10.0.0.1:4000", to: "10.0.1.1:5001", payload: append(binary.BigEndian.AppendUint32(nil, key(i)), make([]byte, 8)...)}
		at := int64(i) * 100_000
		for _, c := range copies {
			data := p.frame()
			if c.head != "" {
				data = append([]byte(c.head), p.ip()...)
			}
			pre = append(pre, taken{ns: at + c.laterNs, data: data})
		}
		post = append(post, taken{ns: at + 50_000, data: p.frame()})
	}
	slices.SortStableFunc(pre, func(a, b taken) int { return compare(a.ns, b.ns) })
	return Options{Pre: writeCapture(t, "pre", layout, pre), Post: writeCapture(t, "post", plainPcap, post)}
}

type copyOf struct {
	laterNs int64
	head    string
}

// sll2 is the head of a Linux cooked v2 packet of an interface that has received (0) or sent (4) it.
func sll2(index uint32, kind byte) string {
	head := binary.BigEndian.AppendUint32([]byte{8, 0, 0, 0}, index)
	return string(append(head, 0, 1, kind, 6, 2, 0, 0, 0, 0, 1, 0, 0))
}

// TestCopiesInPRE: a packet that PRE has at several interfaces, or twice within microseconds, is one
// packet, whose first copy counts.
func TestCopiesInPRE(t *testing.T) {
	cooked := packetfile.Layout{Format: packetfile.Pcap, Interfaces: []packetfile.Interface{{LinkType: packetfile.Cooked2, Resolution: packetfile.Nanoseconds}}}
	number := func(i int) uint32 { return uint32(i) }
	for name, c := range map[string]struct {
		layout packetfile.Layout
		copies []copyOf
		key    func(int) uint32
		want   Counts
	}{
		"none":              {plainPcap, []copyOf{{0, ""}}, number, Counts{Pairs: 1000}},
		"a mirror port":     {plainPcap, []copyOf{{0, ""}, {3000, ""}}, number, Counts{Pairs: 1000, PreCopies: 1000}},
		"three interfaces":  {cooked, []copyOf{{0, sll2(2, 0)}, {20_000, sll2(7, 4)}, {45_000, sll2(3, 4)}}, number, Counts{Pairs: 1000, PreCopies: 2000}},
		"in and out of one": {cooked, []copyOf{{0, sll2(2, 0)}, {20_000, sll2(2, 4)}}, number, Counts{Pairs: 1000, PreCopies: 1000}},
		"late at one":       {plainPcap, []copyOf{{0, ""}, {20_000, ""}}, number, Counts{PreAmbiguous: 2000, PostAmbiguous: 1000}},
		"all alike":         {plainPcap, []copyOf{{0, ""}}, func(int) uint32 { return 7 }, Counts{PreAmbiguous: 1000, PostAmbiguous: 1000}},
		"ten copies":        {plainPcap, []copyOf{{0, ""}, {1, ""}, {2, ""}, {3, ""}, {4, ""}, {5, ""}, {6, ""}, {7, ""}, {8, ""}, {9, ""}}, number, Counts{PreAmbiguous: 10_000, PostAmbiguous: 1000}},
	} {
		for _, kind := range []Key{Content, Flow} {
			t.Run(name+" "+string(kind), func(t *testing.T) {
				o := copied(t, c.layout, c.copies, c.key)
				o.Key = kind
				if kind == Flow && name == "all alike" || c.want.Pairs == 0 {
					if a, err := Analyze(t.Context(), o); err == nil {
						t.Errorf("%+v", a.Counts)
						_ = a.Close()
					}
					return
				}
				a := analyze(t, o)
				s := a.Summary()
				if a.Counts != c.want || s.LostByCounts != 0 || s.LossRatio != 0 || *s.Latency.Min != 50_000 || *s.Latency.Max != 50_000 || s.Verdict != result.Clean {
					t.Errorf("%+v, want %+v; %d by counts; %d to %d ns; %s %v", a.Counts, c.want, s.LostByCounts, *s.Latency.Min, *s.Latency.Max, s.Verdict, s.Reasons)
				}
				if said := strings.Contains(strings.Join(s.Notes, " "), "are copies of others"); said != (c.want.PreCopies > 0) {
					t.Errorf("said: %v; %v", said, s.Notes)
				}
				records, err := a.Records(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if trial := records[0].Trial; trial.TxPackets != 1000 || trial.LostPackets != 0 {
					t.Errorf("the result has %d packets, %d lost", trial.TxPackets, trial.LostPackets)
				}
			})
		}
	}
}

// TestCopiesByName: the files of a rotated capture describe the same interfaces again.
func TestCopiesByName(t *testing.T) {
	interfaces := []packetfile.Interface{{Name: "eth0"}, {Name: "eth1"}, {}, {Name: "eth0"}, {Name: "eth1"}, {}}
	var p places
	var got []uint32
	for i := range interfaces {
		got = append(got, p.name(interfaces, uint32(i)))
	}
	if want := []uint32{1, 2, 0, 1, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

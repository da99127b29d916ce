package analyze

import (
	"slices"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/result"
)

// Captures that did not run at the same time: what is lost, and what nobody can tell.
func TestWindowsThatDoNotOverlap(t *testing.T) {
	run := func() points {
		var p points
		for i := range 1000 {
			p.ahead(int64(i)*1_000_000, 3000+int64(i%100), numbered(i).frame())
		}
		return p
	}
	noise := func(ns int64) taken {
		return taken{ns: ns, data: append([]byte{1, 0x80, 0xc2, 0, 0, 0, 2, 0, 0, 0, 0, 9, 0, 38}, make([]byte, 46)...)}
	}
	for name, c := range map[string]struct {
		change                  func(p *points)
		pairs, lost, unclear    uint64
		postOutside, postForeig uint64
		verdict                 result.Verdict
	}{
		"all":            {func(*points) {}, 1000, 0, 0, 0, 0, result.Clean},
		"POST ends":      {func(p *points) { p.post = p.post[:600] }, 600, 0, 400, 0, 0, result.Noisy},
		"POST begins":    {func(p *points) { p.post = p.post[300:] }, 700, 0, 300, 0, 0, result.Noisy},
		"a gap":          {func(p *points) { p.post = slices.Delete(p.post, 300, 400) }, 900, 100, 0, 0, 0, result.Clean},
		"PRE ends":       {func(p *points) { p.pre = p.pre[:600] }, 600, 0, 0, 400, 0, result.Clean},
		"PRE begins":     {func(p *points) { p.pre = p.pre[300:] }, 700, 0, 0, 300, 0, result.Clean},
		"PRE has a gap":  {func(p *points) { p.pre = slices.Delete(p.pre, 300, 400) }, 900, 0, 0, 0, 0, result.Noisy},
		"a device died":  {func(p *points) { p.post = append(p.post[:600], noise(2e9)) }, 600, 400, 0, 0, 1, result.Clean},
		"it died, later": {func(p *points) { p.post = append(p.post[:600], noise(800e6)) }, 600, 200, 200, 0, 1, result.Noisy},
	} {
		t.Run(name, func(t *testing.T) {
			p := run()
			c.change(&p)
			a := analyze(t, p.write(t, plainPcap))
			s := a.Summary()
			if n := s.Counts; n.Pairs != c.pairs || n.Lost != c.lost || n.OutsideOrLost != c.unclear || n.PostOutside != c.postOutside || n.PostForeign != c.postForeig || s.Verdict != c.verdict {
				t.Errorf("%s %v: %+v", s.Verdict, s.Reasons, n)
			}
			if s.LossRatio != float64(c.lost)/float64(len(p.pre)) {
				t.Errorf("loss %v", s.LossRatio)
			}
			r, err := a.record(t.Context(), &a.Direction)
			if err != nil || r.Trial.LostPackets != c.lost || r.Trial.TxPackets != c.pairs+c.lost {
				t.Errorf("%+v, %v", r.Trial, err)
			}
		})
	}
}

// Statistics in POST say when it ran.
func TestStatisticsSayWhenACaptureRan(t *testing.T) {
	source := func(start, end int64) Source {
		return Source{FirstNs: 100, LastNs: 600, Info: packetfile.Info{Interfaces: []packetfile.Interface{{StartNs: start, EndNs: end}}}}
	}
	with := source(50, 700)
	if r := with.span(1000); r != (span{100, 1700, true, true}) {
		t.Errorf("%+v", r)
	}
	d := Direction{matched: new(matched)}
	if err := d.matched.receivedNs.reserve(8); err != nil {
		t.Fatal(err)
	}
	defer d.matched.receivedNs.free()
	copy(d.matched.receivedNs.all, []int64{lost, lost, 110, lost, 605, lost, lost})
	d.pre = &side{count: 7}
	if err := d.pre.times.reserve(8); err != nil {
		t.Fatal(err)
	}
	defer d.pre.times.free()
	copy(d.pre.times.all, []int64{10, 60, 100, 300, 595, 620, 800})
	d.Counts.Lost = 5
	d.leaveOutside(span{}, with.span(0))
	// Due at 20, while it did not run; at 70 and 310, and at 630, while it did; and at 810.
	if d.Counts.Outside != 2 || d.Counts.OutsideOrLost != 0 || d.Counts.Lost != 3 {
		t.Errorf("%+v", d.Counts)
	}
}

// Traffic of hosts that one capture does not have is no part of the measurement.
func TestNoiseOfOneCapture(t *testing.T) {
	bpdu := func(i int) []byte {
		return append([]byte{1, 0x80, 0xc2, 0, 0, 0, 2, 0, 0, 0, 0, 9, 0, 38, 0x42, 0x42, 3}, make([]byte, 43)...)
	}
	arp := func(i int) []byte {
		return append([]byte{255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 8, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 8, 10, 0, 9, 1, 0, 0, 0, 0, 0, 0, 10, 0, 9, byte(i)}, make([]byte, 18)...)
	}
	lldp := func(i int) []byte {
		return append([]byte{1, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 7, 0x88, 0xcc, 2, 7, 4, 2, 0, 0, 0, 0, 7}, make([]byte, 40)...)
	}
	login := func(i int) []byte {
		return packet{from: "172.16.0.1:50000", to: "172.16.0.2:22", tcp: true, seq: uint32(i)}.frame()
	}
	mdns := func(i int) []byte {
		return packet{from: "10.9.0.1:5353", to: "224.0.0.251:5353", payload: []byte{byte(i), 1, 2, 3, 4, 5, 6, 7, 8}}.frame()
	}
	for name, c := range map[string]struct {
		pre, post []func(int) []byte
		verdict   result.Verdict
	}{
		"in PRE":            {[]func(int) []byte{bpdu, arp, lldp, mdns}, nil, result.Clean},
		"in POST":           {nil, []func(int) []byte{bpdu, arp, lldp, mdns, login}, result.Clean},
		"another path":      {[]func(int) []byte{login}, nil, result.Noisy},
		"different in both": {[]func(int) []byte{arp}, []func(int) []byte{bpdu}, result.Clean},
	} {
		t.Run(name, func(t *testing.T) {
			var p points
			for i := range 400 {
				at := int64(i) * 10_000_000
				p.ahead(at, 3000, numbered(i).frame())
				if i%20 == 19 && i < 390 {
					for _, n := range c.pre {
						p.pre = append(p.pre, taken{ns: at + 5000, data: n(i / 20)})
					}
					for _, n := range c.post {
						p.post = append(p.post, taken{ns: at + 5000, data: n(i / 20)})
					}
				}
			}
			s := analyze(t, p.write(t, plainPcap)).Summary()
			const times = 19
			if n := s.Counts; n.Pairs != 400 || n.Lost != 0 || n.PreAmbiguous != 0 || n.PreForeign != times*uint64(len(c.pre)) || n.PostForeign != times*uint64(len(c.post)) || s.Verdict != c.verdict {
				t.Errorf("%s %v: %+v", s.Verdict, s.Reasons, n)
			}
		})
	}
}

// A window says how late a packet may be, and tells equal packets apart.
func TestWindow(t *testing.T) {
	var p points
	for i := range 100 {
		later := int64(3000)
		if i == 50 {
			later = 6e9
		}
		p.ahead(int64(i)*10_000_000, later, numbered(i).frame())
	}
	for i := range 5 { // the same each two seconds
		p.ahead(1e9+int64(i)*2e9, 3000, numbered(1000).frame())
	}
	slices.SortStableFunc(p.post, func(a, b taken) int { return compare(a.ns, b.ns) })
	o := p.write(t, plainPcap)
	for window, want := range map[time.Duration]Counts{
		0:                {Pairs: 99, Late: 1, Lost: 1, PreAmbiguous: 5, PostAmbiguous: 5},
		10 * time.Second: {Pairs: 100, PreAmbiguous: 5, PostAmbiguous: 5},
		time.Second:      {Pairs: 104, Late: 1, Lost: 1},
	} {
		o.Window = window
		if s := analyze(t, o).Summary(); s.Counts != want {
			t.Errorf("%v: %+v, want %+v", window, s.Counts, want)
		} else if say := strings.Join(s.Reasons, "\n"); (want.Late > 0) != strings.Contains(say, "--window") {
			t.Errorf("%v: %s", window, say)
		}
	}
}

package trace

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func slow(id uint32, begin, latency int64) Packet {
	return Packet{ID: id, BeginNs: begin, EndNs: begin + latency, LatencyNs: latency}
}

// busy is what a CPU does in a stretch: one event every 800 ns, many times as many as at 100,000
// packets a second.
func busy(cpu int, s span) piece {
	p := piece{cpu: cpu, stretch: s, running: 7}
	for ns := s.begin - slackNs; ns < s.end+slackNs; ns += 800 {
		p.records = append(p.records, record{place: uint64(ns / 800), ns: ns, kind: kindSoftirqEntry})
	}
	return p
}

func TestTheSlowestAreKept(t *testing.T) {
	k := newKeeper(3, 0)
	for i, latency := range []int64{5, 1, 9, 7, 2, 9, 8} {
		k.offer(slow(uint32(i), int64(i)*1e9, latency))
	}
	var kept []int64
	for _, p := range k.slowest {
		kept = append(kept, p.LatencyNs)
	}
	slices.Sort(kept)
	if !slices.Equal(kept, []int64{8, 9, 9}) || k.threshold() != 8 {
		t.Errorf("%v, above %d", kept, k.threshold())
	}
	if k.offer(slow(8, 0, 8)) {
		t.Error("one that is no slower than all that are kept was taken")
	}
}

func TestOrdinaryPacketsTakePlaces(t *testing.T) {
	k := newKeeper(1, 2)
	first, second := Packet{ID: 1, Ordinary: true}, Packet{ID: 2, Ordinary: true}
	if !k.offer(first) || !k.offer(second) || k.keeps(first) || !k.keeps(second) {
		t.Errorf("%+v", k.ordinary)
	}
	for _, place := range []int{-1, 2} {
		if k.offer(Packet{Ordinary: true, Place: place}) {
			t.Errorf("there is no place %d", place)
		}
	}
}

// An hour at a million packets a second: only packets among the slowest so far and randomly picked
// ones are announced. These are drawn directly, for a stream with independent exponential
// latencies. Memory stays limited, and in the end there is a piece for every kept packet.
func TestAnHourAtAMillionPacketsASecond(t *testing.T) {
	const packets, most, places = 3_600_000_000, 200, 200
	random := rand.New(rand.NewPCG(1, 2))
	k := newKeeper(most, places)
	c := collector{keeper: *k}
	offered, peak := 0, 0
	// take simulates the rings of two CPUs.
	take := func(p Packet) {
		offered++
		if !c.offer(p) {
			return
		}
		for _, s := range without([]span{around(p)}, c.held()) {
			c.add(busy(0, s), busy(1, s))
		}
		peak = max(peak, c.records)
	}
	weight, pick := 1.0, uint64(0)
	for i := uint64(0); i < packets; {
		// The next slow enough packet: a geometric number of packets later.
		next := i
		if threshold := c.threshold(); threshold > 0 {
			chance := math.Exp(-float64(threshold) / 20_000)
			next += uint64(math.Log(1-random.Float64()) / math.Log1p(-chance))
		}
		for pick <= next && pick < packets {
			place := random.IntN(places)
			if pick < places {
				place = int(pick)
			}
			p := slow(uint32(pick), int64(pick)*1000, 20_000)
			p.Ordinary, p.Place = true, place
			take(p)
			pick++
			if pick >= places { // algorithm L, as in the engine
				weight *= math.Exp(math.Log(random.Float64()) / places)
				pick += uint64(math.Log(random.Float64()) / math.Log1p(-weight))
			}
		}
		if next >= packets {
			break
		}
		take(slow(uint32(next), int64(next)*1000, c.threshold()+1+int64(random.ExpFloat64()*20_000)))
		i = next + 1
	}
	if expected := most*(1+math.Log(packets/most)) + places*(1+math.Log(packets/places)); float64(offered) > 1.3*expected {
		t.Errorf("%d packets were announced, of about %.0f", offered, expected)
	}
	if peak > recordsLimit {
		t.Errorf("at one time %d records were held", peak)
	}
	if len(c.slowest) != most || len(c.ordinary) != places || c.evicted != 0 {
		t.Errorf("%d slow and %d ordinary packets are kept", len(c.slowest), len(c.ordinary))
	}
	c.prune()
	if missing := without(c.wanted(), c.held()); len(missing) > 0 {
		t.Errorf("of %d stretches nothing is held, such as %+v", len(missing), missing[0])
	}
	// 200 slow and 200 ordinary packets, 120 to 600 us, 2 CPUs, 1.25 events a us.
	if c.records > 400*2*750 {
		t.Errorf("%d records are held", c.records)
	}
	t.Logf("%d announced, at most %d records held, %d in the end", offered, peak, c.records)
}

// If everything is slow for long, fewer packets are kept; memory does not grow.
func TestAStreamThatIsTooMuch(t *testing.T) {
	k := newKeeper(200, 0)
	k.limit = 100_000
	for i := range int64(100) {
		p := slow(uint32(i), i*1e9, 2_000_000+i) // 2700 records each
		if k.offer(p) {
			k.add(busy(0, around(p)))
		}
	}
	if k.records > k.limit || k.evicted == 0 || len(k.slowest) < 10 {
		t.Errorf("%d records of %d packets, %d evicted", k.records, len(k.slowest), k.evicted)
	}
	for _, p := range k.slowest {
		if p.LatencyNs < 2_000_050 {
			t.Errorf("%+v is kept, and slower ones are not", p)
		}
	}
}

// Late ordinary packets, as in an overload, leave room for the slowest.
func TestOrdinaryPacketsThatAreTooMuch(t *testing.T) {
	k := newKeeper(200, 200)
	k.limit = 100_000
	for i := range int64(200) {
		p := slow(uint32(i), i*1e9, 2_000_000)
		p.Ordinary, p.Place = true, int(i)
		late := slow(uint32(1000+i), i*1e9+5e8, 2_100_000+i)
		for _, p := range []Packet{p, late} {
			if k.offer(p) {
				k.add(busy(0, around(p)))
			}
		}
	}
	if k.records > k.limit || len(k.slowest) < 5 || len(k.ordinary) < 5 {
		t.Errorf("%d records of %d slow packets and %d ordinary ones", k.records, len(k.slowest), len(k.ordinary))
	}
	if k.evicted == 0 || k.evictedOrdinary == 0 {
		t.Errorf("%d and %d were evicted, it says", k.evicted, k.evictedOrdinary)
	}
}

// A long stretch is dropped when only a part of it is still wanted; for the rest it is known which
// thread ran.
func TestAStretchIsCutDown(t *testing.T) {
	k := newKeeper(10, 0)
	k.offer(slow(1, 1e9, 10_000_000))
	k.offer(slow(2, 1e9+5_000_000, 100_000))
	p := busy(0, around(slow(1, 1e9, 10_000_000)))
	at := len(p.records) / 4
	p.records[at].kind, p.records[at].a, p.records[at].b = kindSwitch, 7, 8
	k.add(p)
	k.slowest = slices.DeleteFunc(k.slowest, func(p Packet) bool { return p.ID == 1 })
	k.prune()
	if len(k.pieces) != 1 || k.pieces[0].stretch != around(slow(2, 1e9+5_000_000, 100_000)) {
		t.Fatalf("%+v", k.pieces)
	}
	kept := k.pieces[0]
	if len(kept.records) > 1000 || kept.running != 8 {
		t.Errorf("%d records, thread %d", len(kept.records), kept.running)
	}
	if kept.records[0].ns > kept.stretch.begin || kept.records[len(kept.records)-1].ns < kept.stretch.end {
		t.Error("records of the stretch are gone")
	}
}

func TestSpans(t *testing.T) {
	merged := merge([]span{{50, 60}, {10, 20}, {15, 30}, {30, 31}, {58, 59}})
	if !slices.Equal(merged, []span{{10, 31}, {50, 60}}) {
		t.Errorf("%v", merged)
	}
	for _, c := range []struct{ wanted, others, want []span }{
		{[]span{{0, 100}}, nil, []span{{0, 100}}},
		{[]span{{0, 100}}, []span{{10, 20}, {50, 60}}, []span{{0, 10}, {20, 50}, {60, 100}}},
		{[]span{{0, 100}}, []span{{0, 100}}, nil},
		{[]span{{10, 20}, {30, 40}}, []span{{0, 15}, {35, 99}}, []span{{15, 20}, {30, 35}}},
	} {
		if got := without(c.wanted, c.others); !slices.Equal(got, c.want) {
			t.Errorf("%v without %v is %v, want %v", c.wanted, c.others, got, c.want)
		}
	}
}

// Two adjacent pieces are joined: what begins in the first may end in the second.
func TestPiecesAreJoined(t *testing.T) {
	k := newKeeper(1, 0)
	k.pieces = []piece{
		{cpu: 1, stretch: span{100, 200}, running: 7, records: []record{{place: 5, ns: 150, kind: kindSoftirqEntry, a: 3}, {place: 6, ns: 210, kind: kindTLBFlush}}},
		{cpu: 0, stretch: span{100, 300}, running: 1},
		{cpu: 1, stretch: span{200, 300}, running: 7, lost: 2, records: []record{{place: 6, ns: 210, kind: kindTLBFlush}, {place: 7, ns: 250, kind: kindSoftirqExit, a: 3}}},
	}
	joined := k.joined()
	if len(joined) != 2 || joined[1].stretch != (span{100, 300}) || len(joined[1].records) != 3 || joined[1].lost != 2 {
		t.Fatalf("%+v", joined)
	}
	hold(t, eventsOf(joined[1], &names{threads: map[uint32]string{7: "engine"}}),
		brief{100, 300, "thread", "engine", 7}, brief{150, 250, "softirq", "NET_RX", 7}, brief{210, 210, "tlb_flush", "task switch", 7})
}

package undisturbed

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// The simulated path: a sender, a device and a receiver, each on a CPU of its own, which works on one packet at a time
// and stands still while it is interrupted. Times are microseconds.
const (
	stages   = 3
	lengthUs = 5e6
	// sendUs and receiveUs are what the ends take for a packet, wireUs what it takes between two stages.
	sendUs, receiveUs, wireUs = 0.5, 0.7, 1.0
	// constantUs is from one packet of constant traffic to the next.
	constantUs = 50.0
)

// traffic is when packets are due, and what the device takes for each.
type traffic struct {
	name string
	due  func(*rand.Rand) []float64
	work func(*rand.Rand) float64
}

func lognormalWork(r *rand.Rand) float64 { return 8 * math.Exp(0.8*r.NormFloat64()-0.32) }

func traffics() []traffic {
	sorted := func(due []float64) []float64 {
		slices.Sort(due)
		return due
	}
	uniform := func(r *rand.Rand, n int) []float64 {
		due := make([]float64, n)
		for i := range due {
			due[i] = lengthUs * r.Float64()
		}
		return sorted(due)
	}
	return []traffic{
		{"Poisson", func(r *rand.Rand) []float64 { return uniform(r, int(0.05*lengthUs)) }, lognormalWork},
		{"constant", func(*rand.Rand) []float64 {
			due := make([]float64, int(lengthUs/constantUs))
			for i := range due {
				due[i] = constantUs * float64(i)
			}
			return due
		}, func(r *rand.Rand) float64 {
			work := lognormalWork(r)
			if r.Float64() < 0.01 {
				work += 30 * r.ExpFloat64()
			}
			return work
		}},
		{"bursts", func(r *rand.Rand) []float64 {
			var due []float64
			for _, begin := range uniform(r, int(0.0025*lengthUs)) {
				for i := range 12 {
					due = append(due, begin+float64(i))
				}
			}
			return sorted(due)
		}, lognormalWork},
	}
}

// span is an interruption.
type span struct{ begin, end float64 }

func merged(spans []span) []span {
	slices.SortFunc(spans, func(x, y span) int { return cmp.Compare(x.begin, y.begin) })
	var out []span
	for _, s := range spans {
		if n := len(out); n > 0 && s.begin <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, s.end)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// pass returns when a stage is ready with the packets that come at some times.
func pass(come []float64, work func(i int) float64, spans []span) []float64 {
	done := make([]float64, len(come))
	ready := 0.0
	for i, at := range come {
		ready = max(ready, at)
		for left := work(i); ; {
			for len(spans) > 0 && spans[0].end <= ready {
				spans = spans[1:]
			}
			if len(spans) > 0 && spans[0].begin <= ready {
				ready = spans[0].end
				continue
			}
			if len(spans) == 0 || ready+left <= spans[0].begin {
				ready += left
				break
			}
			left -= spans[0].begin - ready
			ready = spans[0].begin
		}
		done[i] = ready
	}
	return done
}

// received returns when packets arrive.
func received(due, work []float64, spans [stages][]span) []float64 {
	return through(due, work, spans)[stages]
}

// through returns when packets come to each stage, and arrive.
func through(due, work []float64, spans [stages][]span) [stages + 1][]float64 {
	wire := func(at []float64) []float64 {
		for i := range at {
			at[i] += wireUs
		}
		return at
	}
	sent := wire(pass(due, func(int) float64 { return sendUs }, spans[0]))
	passed := wire(pass(sent, func(i int) float64 { return work[i] }, spans[1]))
	return [...][]float64{due, sent, passed, pass(passed, func(int) float64 { return receiveUs }, spans[2])}
}

// kind is how interruptions come. Driven ones begin when many packets are on the path.
type kind struct {
	name   string
	driven bool
	spans  func(r *rand.Rand, share, meanUs float64) []span
	// random is the share of driven ones that begin at random all the same.
	random float64
}

func kinds() []kind {
	atRandom := func(length func(*rand.Rand) float64) func(*rand.Rand, float64, float64) []span {
		return func(r *rand.Rand, share, meanUs float64) []span {
			var spans []span
			apart := meanUs / share
			for at := apart * r.ExpFloat64(); at < lengthUs; at += apart * r.ExpFloat64() {
				spans = append(spans, span{at, at + meanUs*length(r)})
			}
			return merged(spans)
		}
	}
	return []kind{
		{name: "Poisson", spans: atRandom((*rand.Rand).ExpFloat64)},
		{name: "lognormal", spans: atRandom(func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64() - 0.5) })},
		{name: "periodic", spans: func(r *rand.Rand, share, meanUs float64) []span {
			return each(r, meanUs/share, meanUs)
		}},
		{name: "in step with constant traffic", spans: func(r *rand.Rand, share, meanUs float64) []span {
			return each(r, constantUs*math.Ceil(meanUs/share/constantUs), meanUs)
		}},
		{name: "driven", driven: true},
		{name: "weakly driven", driven: true, random: 0.7},
	}
}

// each are spans of one length, evenly apart.
func each(r *rand.Rand, apart, length float64) []span {
	var spans []span
	for at := r.Float64() * apart; at < lengthUs; at += apart {
		spans = append(spans, span{at, at + length})
	}
	return spans
}

// drivenSpans begin 2 µs after packets that found more on the path than nine of ten others.
func (k kind) drivenSpans(r *rand.Rand, due, work []float64, share, meanUs float64) []span {
	arrive := slices.Sorted(slices.Values(received(due, work, [stages][]span{})))
	onPath := make([]int, len(due))
	for i, gone := 0, 0; i < len(due); i++ {
		for arrive[gone] < due[i] {
			gone++
		}
		onPath[i] = i - gone
	}
	many := slices.Sorted(slices.Values(onPath))[len(onPath)*9/10]
	var full []float64
	for i, n := range onPath {
		if n >= many {
			full = append(full, due[i])
		}
	}
	r.Shuffle(len(full), func(i, j int) { full[i], full[j] = full[j], full[i] })
	var spans []span
	for _, at := range full[:min(int(share*lengthUs/meanUs), len(full))] {
		if at += 2; r.Float64() < k.random {
			at = lengthUs * r.Float64()
		}
		spans = append(spans, span{at, at + meanUs*r.ExpFloat64()})
	}
	return merged(spans)
}

// simulated is a trial, and what would have been.
type simulated struct {
	traffic traffic
	kind    kind
	trial   Trial
	// share of the time is taken by interruptions of a mean length.
	share, meanUs float64
}

// simulate draws case number i: 0.1 to 10 % of the time, 10 µs to 1 ms each, at one stage or at all. byPacket tells that
// interruptions are seen from when a packet waits.
func simulate(i int, byPacket bool) simulated {
	r := rand.New(rand.NewPCG(4100, uint64(i)))
	c := simulated{traffic: traffics()[i%3], kind: kinds()[i/3%6]}
	due := c.traffic.due(r)
	work := make([]float64, len(due))
	for i := range work {
		work[i] = c.traffic.work(r)
	}
	c.share, c.meanUs = math.Pow(10, -3+2*r.Float64()), math.Pow(10, 1+2*r.Float64())
	at := r.IntN(stages)
	everywhere := r.Float64() < 0.4
	var spans [stages][]span
	switch {
	case c.kind.driven && everywhere:
		spans[1] = c.kind.drivenSpans(r, due, work, c.share, c.meanUs)
	case c.kind.driven:
		spans[at] = c.kind.drivenSpans(r, due, work, c.share, c.meanUs)
	case everywhere:
		for s := range spans {
			spans[s] = c.kind.spans(r, c.share/stages, c.meanUs)
		}
	default:
		spans[at] = c.kind.spans(r, c.share, c.meanUs)
	}
	come := through(due, work, spans)
	c.trial = Trial{LengthNs: lengthUs * 1000, Packets: packets(due, come[stages])}
	for s := range spans {
		if byPacket {
			c.trial.CPUs = append(c.trial.CPUs, waited(come[s], spans[s]))
		} else {
			c.trial.CPUs = append(c.trial.CPUs, witness(r, spans[s]))
		}
	}
	return c
}

// waited is what the kernel sees of a thread that sleeps: from when a packet comes that waits, from 1 µs on.
func waited(come []float64, spans []span) CPU {
	cpu := CPU{Name: "the CPU"}
	for _, s := range spans {
		for len(come) > 0 && come[0] < s.begin {
			come = come[1:]
		}
		if len(come) > 0 && s.end-come[0] > 1 {
			cpu.Interruptions = append(cpu.Interruptions, Interruption{BeginNs: int64(1000 * come[0]), EndNs: int64(1000 * s.end), ByPacket: true})
		}
	}
	return cpu
}

func packets(due, arrive []float64) func(func(Packet) bool) {
	return func(yield func(Packet) bool) {
		for i := range due {
			if !yield(Packet{int64(1000 * due[i]), int64(1000 * arrive[i])}) {
				return
			}
		}
	}
}

// witness is what a thread sees: its shortest turn takes 0.6 to 5 µs, and it lists what is longer than 8 of them. It
// adds up what is longer than two, by its binary digits. The begin and end are of turns before and after.
func witness(r *rand.Rand, spans []span) CPU {
	turnUs := 0.625 * math.Pow(8, r.Float64())
	cpu, short := CPU{Name: "the CPU"}, map[int64]int64{}
	for _, s := range spans {
		switch length := s.end - s.begin; {
		case length > 8*turnUs:
			cpu.Interruptions = append(cpu.Interruptions, Interruption{BeginNs: int64(1000 * (s.begin - 0.2*r.Float64())), EndNs: int64(1000 * (s.end + 0.2*r.Float64()))})
		case length > 2*turnUs:
			below := int64(1) << bits.Len64(uint64(1000*length))
			short[below] += int64(1000 * length)
		}
	}
	for below, total := range short {
		cpu.Short = append(cpu.Short, Short{EachBelowNs: below, TotalNs: total})
	}
	return cpu
}

// truth are percentiles of traffic without interruptions.
func truth(t traffic, ps []float64) []float64 {
	const trials = 16
	r := rand.New(rand.NewPCG(1, 1))
	var latencies []float64
	for range trials {
		due := t.due(r)
		work := make([]float64, len(due))
		for i := range work {
			work[i] = t.work(r)
		}
		for i, at := range received(due, work, [stages][]span{}) {
			latencies = append(latencies, 1000*(at-due[i]))
		}
	}
	slices.Sort(latencies)
	var at []float64
	for _, p := range ps {
		at = append(at, latencies[int(p*float64(len(latencies)))])
	}
	return at
}

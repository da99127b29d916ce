package duet

import (
	"nines.dev/nines/analysis/undisturbed"
	"nines.dev/nines/result"
)

// Side is a variant.
type Side int

// The two sides.
const (
	A Side = iota
	B
)

// blockNs is the length of a block of time. What delays packets together, such as a stall, mostly ends within one, so
// that blocks are independent.
const blockNs = 20_000_000

// Trial collects the packets of both sides, in the order in which they were due. Its memory grows by the latencies that
// differ in each block: some 10 MB for 20 s.
type Trial struct {
	options Options
	sieve   *undisturbed.Sieve
	blocks  []block
	now     block // under way
	dense   [2][kinds][]uint32
	looks   int
	answers map[Question]Answer // that are decided
}

// The two kinds of packets.
const (
	whole           = iota // all that were received
	undisturbedOnly        // without those that an interruption touched
	kinds
)

// block is the packets that were due in a block of time.
type block struct {
	counts     [2][kinds][]count
	sent, lost [2]uint32
}

// count is how many packets have a latency, by result.IndexOf.
type count struct{ index, packets uint32 }

// NewTrial begins a trial.
func NewTrial(o Options) *Trial {
	t := &Trial{options: o.withDefaults(), sieve: undisturbed.NewSieve(), answers: map[Question]Answer{}}
	for side := range t.dense {
		for kind := range t.dense[side] {
			t.dense[side][kind] = make([]uint32, result.IndexOf(result.HighestNs)+1)
		}
	}
	return t
}

// Interrupted takes what each CPU on either path listed since it was last called, before the packets of that time.
func (t *Trial) Interrupted(cpus []undisturbed.CPU) { t.sieve.Add(cpus) }

// Add takes the next packet.
func (t *Trial) Add(side Side, p undisturbed.Packet) {
	t.endBlocks(p.DueNs)
	t.now.sent[side]++
	touched := t.sieve.Touched(p)
	if p.ReceivedNs < 0 {
		t.now.lost[side]++
		return
	}
	index := uint32(result.IndexOf(min(max(p.ReceivedNs-p.DueNs, 0), result.HighestNs)))
	t.count(side, whole, index)
	if !touched {
		t.count(side, undisturbedOnly, index)
	}
}

func (t *Trial) count(side Side, kind int, index uint32) {
	at := &t.dense[side][kind][index]
	if *at == 0 {
		used := &t.now.counts[side][kind]
		*used = append(*used, count{index: index})
	}
	*at++
}

// endBlocks ends those before a time.
func (t *Trial) endBlocks(ns int64) {
	for int64(len(t.blocks)+1)*blockNs <= ns {
		for side := range t.now.counts {
			for kind := range t.now.counts[side] {
				for i := range t.now.counts[side][kind] {
					c := &t.now.counts[side][kind][i]
					c.packets, t.dense[side][kind][c.index] = t.dense[side][kind][c.index], 0
				}
			}
		}
		t.blocks = append(t.blocks, t.now)
		t.now = block{}
	}
}

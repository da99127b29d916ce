package undisturbed

// triggers compare packets that found the path empty: those after which an interruption was seen that a packet shows, and
// all. Before an interruption of that kind there is always a packet on the path, so a random moment is no comparison.
type triggers struct {
	// latest is the packet that last found the path empty.
	latest struct {
		dueNs       int64
		short, long int // how many were due a short and a long time before
	}
	begun  int // stretches
	seen   int
	clean  [2]int
	states [2]twoSamples
}

// The samples of a state.
const (
	atInterruption = iota
	atRandom
)

// oneIn of the packets that find the path empty are enough to tell what all are like.
const oneIn = 7

// starts takes a packet that finds the path empty.
func (t *triggers) starts(dueNs, freeNs int64, short, long int) {
	t.latest.dueNs, t.latest.short, t.latest.long = dueNs, short, long
	if t.seen++; t.seen%oneIn == 0 {
		t.add(atRandom, freeNs)
	}
}

// begins is called where a stretch begins that a packet shows.
func (t *triggers) begins(freeNs int64) {
	t.begun++
	t.add(atInterruption, freeNs)
}

func (t *triggers) add(sample int, freeNs int64) {
	if t.latest.dueNs-freeNs <= cleanNs {
		return
	}
	t.clean[sample]++
	t.states[0].add(sample, t.latest.short)
	t.states[1].add(sample, t.latest.long)
}

// tell reports whether there are enough of them to compare.
func (t *triggers) tell() bool {
	return min(t.clean[atInterruption], t.clean[atRandom]) >= fewestToTell
}

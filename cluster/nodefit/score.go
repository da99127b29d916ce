package nodefit

import (
	"math"
	"time"

	"nines.dev/nines/cluster/request"
)

// MaxScore is the best of a node's scores; 0 is the worst. It is that of Kubernetes' scheduler.
const MaxScore = 100

// The range in which nodes are told apart as fast or ordinary, in ns: what a port that bypasses
// the kernel has, and what an overlay on a busy host has. Outside of it all are alike.
const (
	fastNs     = 10e3
	ordinaryNs = 10e6
)

// steps is in how many steps Spare goes from fast to ordinary: each is a factor of 5.6.
const steps = 4

// comfortable is the part of a limit from which on a figure is likely to outgrow it: figures of
// the same tier differ by about a fifth from one measurement to the next.
const comfortable = 0.8

// Spare is how little is lost if a pod without a latency request goes to a node: nothing where the node has
// nothing fast, or nothing is known of it. It is told how fast the node can be (Best), 0 if that is
// not known.
func Spare(fastest time.Duration, labels map[string]string) int64 {
	best := float64(fastest)
	if best == 0 {
		switch {
		case Ports(labels) > 0:
			best = fastNs
		case labels[LabelOVS] == "true":
			best = math.Sqrt(fastNs * ordinaryNs)
		default:
			return MaxScore
		}
	}
	// In few steps: nodes that differ by what a figure differs from one measurement to the next are
	// alike, and Kubernetes' own scores choose among them.
	part := math.Log(best/fastNs) / math.Log(ordinaryNs/fastNs)
	return within(math.Round(part*steps) / steps)
}

// Score ranks the nodes that suit a latency request. Earlier alternatives come before later ones, whatever
// else. Among nodes of the same alternative the slowest tier that holds is best, so that the faster
// stay free for who needs them, unless its bound is so close to the limit that it may not hold
// for long; and a node that also has something fast is left alone where another will do.
func Score(a *Answer, r *request.Request, spare int64) int64 {
	levels := len(r.Alternatives)
	if r.Any {
		levels++
	}
	level := a.Alternative
	if !a.Met {
		level = levels - 1
	}
	fit := int64(0)
	if a.Met {
		room := a.Evidence.Room()
		if a.ByLabel {
			room *= comfortable // constants do not change
		}
		fit = (3*fit64(room) + spare) / 4
	}
	if levels == 1 {
		return fit
	}
	// Each alternative has a step of the range, of which the fit takes less than half: the worst
	// node of an earlier one is clearly before the best of a later one.
	return (int64(levels-1-level)*MaxScore + fit*2/5) / int64(levels)
}

// fit64 is best at a comfortable distance from the limit. Four decades below it is none: the
// port would be wasted.
func fit64(room float64) int64 {
	if room > comfortable {
		return within(1 - (room-comfortable)/(1-comfortable)/2)
	}
	return within(1 + math.Log10(room/comfortable)/4)
}

// within makes a score of a part.
func within(part float64) int64 {
	return int64(math.Round(MaxScore * min(max(part, 0), 1)))
}

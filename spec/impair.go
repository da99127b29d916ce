package spec

import (
	"fmt"
	"math"
	"strings"
)

// Impairment is what happens to the packets of one direction of a link, deliberately. Its words and
// units are those of tc-netem(8).
type Impairment struct {
	// Delay is added to every packet.
	Delay Duration `yaml:"delay" json:"delay"`
	// Jitter is how far the delay spreads: half the width of a uniform distribution, the standard
	// deviation of a normal one, the unit of netem's table for a pareto one. Packets overtake one
	// another where it lets them.
	Jitter Duration `yaml:"jitter" json:"jitter"`
	// Distribution is how the delay spreads (default uniform).
	Distribution Distribution `yaml:"distribution,omitempty" json:"distribution,omitempty"`
	// Loss is the share of packets that are lost.
	Loss float64 `yaml:"loss,omitempty" json:"loss,omitempty"`
	// Duplicate is the share of packets that are followed by a copy, with a delay of its own.
	Duplicate float64 `yaml:"duplicate,omitempty" json:"duplicate,omitempty"`
	// Reorder is the share of packets that skip delay and rate, and so overtake those that wait.
	Reorder float64 `yaml:"reorder,omitempty" json:"reorder,omitempty"`
	// Corrupt is the share of packets of which one bit is flipped.
	Corrupt float64 `yaml:"corrupt,omitempty" json:"corrupt,omitempty"`
	// Rate is how many bits a second pass, of frames with their FCS; 0bit/s does not limit.
	Rate BitRate `yaml:"rate,omitempty" json:"rate,omitempty"`
	// Limit is how many packets wait at most; more are dropped.
	Limit int `yaml:"limit,omitempty" json:"limit,omitempty"`
	// Seed decides the fate of each packet: the same seed does the same to the n-th packet. The
	// n-th endpoint of the link uses seed + n - 1, so that directions differ.
	Seed int `yaml:"seed" json:"seed"`
}

// Distribution is how delays spread around their mean.
type Distribution string

// The distributions of delays, as netem has them; normal and pareto end at four times the jitter.
const (
	DistributionUniform Distribution = "uniform"
	DistributionNormal  Distribution = "normal"
	DistributionPareto  Distribution = "pareto"
)

// Below is how far below its mean the distribution reaches, in jitters.
func (d Distribution) Below() float64 {
	switch d {
	case DistributionNormal:
		return 4
	case DistributionPareto:
		return 2.0 / 3
	case DistributionUniform:
	}
	return 1
}

// above is how far above its mean it reaches.
func (d Distribution) above() float64 {
	if d == DistributionUniform || d == "" {
		return 1
	}
	return 4
}

// LongestDelay is the longest time that a packet waits besides what the rate makes it wait.
func (i Impairment) LongestDelay() Duration {
	return i.Delay + Duration(float64(i.Jitter)*i.Distribution.above())
}

// ShortestDelay is the shortest time that a packet waits.
func (i Impairment) ShortestDelay() Duration {
	if i.Reorder > 0 {
		return 0 // some skip it
	}
	return max(0, i.Delay-Duration(float64(i.Jitter)*i.Distribution.Below()))
}

// LongestQueue is the longest time that the rate makes a packet wait, in whole milliseconds: as many
// as the limit allows leave with it, all of this size with their FCS. At most a year, as a low rate may
// ask for more than a Duration holds.
func (i Impairment) LongestQueue(frameBytes int) Duration {
	if i.Rate == 0 {
		return 0
	}
	const year = 365 * 24 * 3600 * 1e3
	ms := float64(i.Limit) * float64(frameBytes) * 8 / float64(i.Rate) * 1e3
	return Duration(math.Ceil(min(ms, year)) * 1e6)
}

// String is the impairment in one line: "delay 1ms ± 100us (normal), loss 0.001".
func (i Impairment) String() string {
	var parts []string
	switch {
	case i.Jitter > 0:
		parts = append(parts, fmt.Sprintf("delay %v ± %v (%s)", i.Delay, i.Jitter, i.Distribution))
	case i.Delay > 0:
		parts = append(parts, fmt.Sprintf("delay %v", i.Delay))
	}
	for _, one := range []struct {
		name  string
		share float64
	}{{"loss", i.Loss}, {"duplicate", i.Duplicate}, {"reorder", i.Reorder}, {"corrupt", i.Corrupt}} {
		if one.share > 0 {
			parts = append(parts, fmt.Sprintf("%s %g", one.name, one.share))
		}
	}
	if i.Rate > 0 {
		parts = append(parts, fmt.Sprintf("rate %v", i.Rate))
	}
	if len(parts) == 0 {
		return "no impairment" // a sweep's case without any
	}
	return strings.Join(parts, ", ")
}

// Impaired is true where the file impairs the link, even if by nothing: what impairs it is then
// there in all runs of a sweep alike.
func (l *Link) Impaired() bool { return l.Impair != nil || len(l.ImpairFrom) > 0 }

// ImpairmentOf is what happens to the packets that an endpoint sends on the link; nil: nothing.
func (l *Link) ImpairmentOf(endpoint string) *Impairment {
	if own := l.ImpairFrom[endpoint]; own != nil {
		return own
	}
	return l.Impair
}

// ImpairBy is what impairs links of a kind.
type ImpairBy string

// ImpairByNothing: the kind has no place where nines could. ImpairByProgram is the switch that the
// link has anyway, ImpairByHop one that stands between its ends only where the link is impaired,
// and ImpairByNetem the kernel's queueing discipline at each end.
const (
	ImpairByNothing ImpairBy = ""
	ImpairByProgram ImpairBy = "switch"
	ImpairByHop     ImpairBy = "hop"
	ImpairByNetem   ImpairBy = "netem"
)

// hop is the program between the ends of an impaired link that has none otherwise.
var hop = &LinkProgram{IsEngine: true, Listens: true, MostCPUs: 1, Opens: "AF_XDP"}

// ProgramOf is the program between a link's ends; nil: none.
func (d *LinkDescriptor) ProgramOf(impaired bool) *LinkProgram {
	if impaired && d.ImpairBy == ImpairByHop {
		return hop
	}
	return d.Program
}

// canBeImpaired is for kindsThat.
func canBeImpaired(d *LinkDescriptor) bool { return d.ImpairBy != ImpairByNothing }

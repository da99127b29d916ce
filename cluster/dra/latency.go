package dra

import (
	"math"
	"strings"
	"time"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/nodefit"
)

// Latency is the latency within the node that devices of a tier publish: nanoseconds by attribute, the
// verdict, and when the last measurement ended.
type Latency struct {
	Ns         map[string]int64
	Verdict    string
	MeasuredAt time.Time
}

// measuredAt is the attribute with the hour of the last measurement, in RFC 3339 and UTC, as text that CEL can
// compare. An exact time would change all slices at each measurement.
const measuredAt = Domain + "measuredAt"

const measuredAtStep = time.Hour

// published are the percentiles that devices have as attributes, of all that a figure may have. A device has
// at most 32 attributes.
var published = []string{"50", "99", "99.9", "99.99", "99.999"}

// attributeOf returns the name of a percentile's attribute: p9999Ns for 99.99.
func attributeOf(percentile string) string {
	return "p" + strings.ReplaceAll(percentile, ".", "") + "Ns"
}

// Steady holds published figures. A figure that changes by less than a tenth is not updated: each change is
// written to the API server, and read by every scheduler.
type Steady map[string]int64

const hysteresis = 0.1

// keep returns what to publish for a value.
func (s Steady) keep(name string, value int64) int64 {
	value = roundUp(value)
	if old, known := s[name]; known && math.Abs(float64(value-old)) <= hysteresis*float64(old) {
		return old
	}
	s[name] = value
	return value
}

// roundUp rounds up to two significant digits: a node never publishes less than was measured.
func roundUp(ns int64) int64 {
	unit := int64(1)
	for ns/unit >= 100 {
		unit *= 10
	}
	return (ns + unit - 1) / unit * unit
}

// Latencies returns the latencies of the tiers whose figures are valid now. A percentile is published by its
// upper bound, which is also what the scheduler plugin uses, and left out if it has none.
func Latencies(figures []v1alpha1.Figure, now time.Time, steady Steady) map[string]Latency {
	tiers := map[string]Latency{}
	for _, f := range nodefit.Read(figures) {
		if f.Peer != "" || f.StateAt(now) != nodefit.Fresh {
			continue
		}
		l := Latency{Ns: map[string]int64{}, Verdict: string(v1alpha1.Clean), MeasuredAt: f.MeasuredAt.UTC().Truncate(measuredAtStep)}
		if f.Noisy {
			l.Verdict = string(v1alpha1.Noisy)
		}
		for _, point := range f.Points {
			for _, p := range published {
				if point.P == p && point.BoundNs > 0 {
					l.Ns[attributeOf(p)] = steady.keep(f.Tier+" "+p, point.BoundNs)
				}
			}
		}
		tiers[f.Tier] = l
	}
	return tiers
}

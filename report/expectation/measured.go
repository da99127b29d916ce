package expectation

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/expect"
	"nines.dev/nines/result"
)

// measured are the latencies of one trial, or of several with the same variables.
type measured struct {
	all  confidence.Blocks
	each []confidence.Blocks // of several trials
}

// measuredIn takes the time blocks of each trial.
func measuredIn(trials [][]*result.Packed) measured {
	if len(trials) == 1 {
		return measured{all: confidence.BlocksOf(trials)}
	}
	m := measured{all: confidence.TrialBlocks(trials[0])}
	for i, one := range trials {
		b := confidence.TrialBlocks(one)
		if m.each = append(m.each, b); i > 0 {
			m.all.Add(b)
		}
	}
	return m
}

// percentile is that of all packets. It is bounded by how unevenly slow packets are spread over blocks of time and over
// the trials. The interval is at least as wide as the trials' own percentiles vary, lognormally: t·s/√n, which is how sure
// their mean is. Fewer than six tell that badly; there it is as wide as one more trial would differ, √(n + 1) times that.
func (m measured) percentile(p, level float64) expect.Interval {
	found := m.all.Percentile(p, level)
	i := expect.Interval{Value: found.Value, Low: found.Low, High: found.High}
	var logs []float64
	for _, one := range m.each {
		if !result.Supports(p, one.Total()) {
			return i
		}
		logs = append(logs, math.Log(one.Percentile(p, level).Value))
	}
	return atLeast(i, spreadOf(logs, level))
}

// spreadOf is how far an interval reaches on each side at least, as a logarithm, for what the trials' own values vary, by
// their logarithms; 0 of a single one.
func spreadOf(logs []float64, level float64) float64 {
	if len(logs) < 2 {
		return 0
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(len(logs) - 1)}.Quantile(1 - (1-level)/2)
	n := float64(len(logs))
	half := t * stat.StdDev(logs, nil) / math.Sqrt(n)
	if len(logs) < steadyTrials {
		half *= math.Sqrt(n + 1)
	}
	return half
}

// atLeast is an interval that reaches at least so far on each side, as a logarithm.
func atLeast(i expect.Interval, half float64) expect.Interval {
	if i.Low != nil {
		low := min(*i.Low, i.Value*math.Exp(-half))
		i.Low = &low
	}
	if i.High != nil {
		high := max(*i.High, i.Value*math.Exp(half))
		i.High = &high
	}
	return i
}

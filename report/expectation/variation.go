package expectation

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"gonum.org/v1/gonum/stat"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/expect"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// fewestSeconds is how many seconds of a trial tell how its rate varies from one to the next.
const fewestSeconds = 10

// variation is how the received rate varies from second to second: the standard deviation of the seconds of a trial, as a
// share of their mean. The interval is that of all trials' seconds, each trial around its own mean, and at least as wide as
// the trials' own deviations vary.
func (g *gatherer) variation(k known, group report.Group) (known, error) {
	var trials [][]float64
	packet := 0.0 // the largest share of a second's packets that one is
	for _, t := range group.Trials {
		rates, err := g.result.TrialFolder(t.ID).Rates()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			k.problem = fmt.Sprintf("trial %s does not tell how its rate varies: its %s is missing", t.ID, result.RateFile)
			return k, nil
		case err != nil:
			return k, err
		}
		seconds := wholeSeconds(rates, g.trafficNs(t))
		if len(seconds) < fewestSeconds {
			k.problem = fmt.Sprintf("trial %s has %s beside the first, and fewer than %d do not tell how a rate varies from one to the next: set traffic.duration to %ds or more",
				t.ID, terminal.Count(len(seconds), "whole second"), fewestSeconds, fewestSeconds+1)
			return k, nil
		}
		mean := stat.Mean(seconds, nil)
		if mean == 0 {
			k.problem = fmt.Sprintf("no packet of trial %s was received in its whole seconds", t.ID)
			return k, nil
		}
		for i := range seconds {
			seconds[i] /= mean
		}
		trials, packet = append(trials, seconds), max(packet, 1/mean)
	}
	k.interval = func(level float64) expect.Interval { return variationOf(trials, packet, level) }
	n := 0
	for _, seconds := range trials {
		n += len(seconds)
	}
	k.what = fmt.Sprintf("in %d seconds of %s", n, terminal.Count(len(trials), "trial"))
	if len(trials) < steadyTrials {
		k.notes = append(k.notes, fmt.Sprintf("it is of the time of %s: six or more tell how much the host changes from one to the next", terminal.Count(len(trials), "trial")))
	}
	return k, nil
}

// wholeSeconds are the packets received in each second in which all of the traffic was under way: neither the first, in
// which nothing has arrived yet, nor one that the traffic ended in.
func wholeSeconds(rates []result.Rate, trafficNs int64) []float64 {
	var seconds []float64
	for _, r := range rates {
		if r.Second > 0 && int64(r.Second+1) <= trafficNs/int64(time.Second) {
			seconds = append(seconds, float64(r.Received))
		}
	}
	return seconds
}

// variationOf is that of seconds as shares of their trial's mean. A second's count is right to one packet, as its ends fall
// between two; and where all packets come in one of n seconds, it is √n.
func variationOf(trials [][]float64, packet, level float64) expect.Interval {
	value, low, high := confidence.Deviation(trials, level)
	high = max(high, packet)
	i := expect.Interval{Value: value, Low: &low, High: &high}
	var logs []float64
	most := 0.0
	for _, one := range trials {
		logs = append(logs, math.Log(max(stat.StdDev(one, nil), packet)))
		most = max(most, math.Sqrt(float64(len(one))))
	}
	i = atLeast(i, spreadOf(logs, level))
	*i.High = min(*i.High, most)
	return i
}

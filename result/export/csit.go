package export

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// CSIT's latency strings: FD.io CSIT, "Packet Latency" in its methodology, and its test message
// "LATENCY [min/avg/max/hdrh] per stream". Minimum, average and maximum are whole microseconds,
// hdrh is the compressed V2 encoding of a histogram of microseconds in base64, and -1/-1/-1/ means
// no latency.
const (
	csitNone      = "-1/-1/-1/"
	nsPerUs       = 1000
	highestUs     = result.HighestNs / nsPerUs
	csitDirection = "forward" // nines measures one direction per trial
)

// CSITLatency formats a histogram of nanoseconds as CSIT's min/avg/max/hdrh. Values below half a
// microsecond count as 0.
func CSITLatency(h *result.Histogram) (string, error) {
	p := h.Percentiles()
	if p.Count == 0 {
		return csitNone, nil
	}
	us := hdrhistogram.New(1, highestUs, result.SignificantDigits)
	var before uint64
	for _, point := range h.Curve() {
		value := min(max(0, toUs(float64(point.ValueNs))), highestUs)
		if err := us.RecordValues(value, int64(point.Count-before)); err != nil {
			return "", err
		}
		before = point.Count
	}
	encoded, err := us.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d/%d/%d/%s", toUs(float64(*p.Min)), toUs(*p.Mean), toUs(float64(*p.Max)), encoded), nil
}

func toUs(ns float64) int64 { return int64(math.Round(ns / nsPerUs)) }

// WriteCSIT writes a tab-separated line for each trial: its ID, its direction, the intended rate in
// packets a second, its purpose if it is part of a search ("latency at 50 %"), the variables, and
// CSIT's string.
func WriteCSIT(w io.Writer, r *result.Result, trials []result.Trial, progress Progress) error {
	out := bufio.NewWriter(w)
	intended := map[string]float64{}
	for _, s := range r.Searches {
		for _, t := range s.Trials {
			intended[t.ID] = t.RatePPS
		}
	}
	fmt.Fprintln(out, "trial\tdirection\trate_pps\tpurpose\tvariables\tmin/avg/max/hdrh")
	for i, t := range trials {
		progress.tell(i, len(trials))
		histograms, err := r.TrialFolder(t.ID).Histograms()
		if err != nil {
			return err
		}
		latency, err := CSITLatency(histograms.Latency)
		if err != nil {
			return fmt.Errorf("trial %s: %w", t.ID, err)
		}
		rate, searched := intended[t.ID]
		if !searched {
			rate = t.OfferedPPS
		}
		fmt.Fprintf(out, "%s\t%s\t%.0f\t%s\t%s\t%s\n", t.ID, csitDirection, rate, terminal.Plain(t.Purpose),
			terminal.Plain(strings.TrimPrefix(tagOf(t, result.VariableNames(trials)), ";")), latency)
	}
	return out.Flush()
}

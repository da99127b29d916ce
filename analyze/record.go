package analyze

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nines.dev/nines/measure/metrics"
	"nines.dev/nines/result"
)

// recordOutliers is how many of the slowest packets go into outliers.csv.
const recordOutliers = 1000

// stream is what a result counts: packets of PRE with a unique key, without the trimmed ones.
type stream struct {
	sentNs, receivedNs []int64
	flow               []uint16 // nil: not separated
	again              uint64
	lost               uint64
	againOf            []uint64 // by flow
	owned              []interface{ free() }
}

func (s *stream) free() {
	for _, c := range s.owned {
		c.free()
	}
}

// stream copies nothing if all packets count.
func (a *Direction) stream() (*stream, error) {
	sent, received := a.pre.timesNs(), a.matched.receivedNs.all[:a.pre.count]
	s := &stream{sentNs: sent, receivedNs: received}
	flows := a.pre.flows
	if flows.several() {
		s.flow = flows.of.all[:a.pre.count]
		s.againOf = make([]uint64, len(flows.flows))
	}
	for _, r := range a.matched.again {
		if r.ns >= a.fromNs && received[r.packet] >= a.fromNs {
			s.again++
			if s.flow != nil {
				s.againOf[s.flow[r.packet]]++
			}
		}
	}
	if a.Counts.leftOut() == 0 && a.trimNs == 0 {
		s.lost = a.Counts.Lost
		return s, nil
	}
	var newSent, newReceived column[int64]
	var newFlow column[uint16]
	s.owned = []interface{ free() }{&newSent, &newReceived, &newFlow}
	if err := newSent.reserve(len(sent)); err != nil {
		return s, err
	}
	if err := newReceived.reserve(len(sent)); err != nil {
		return s, err
	}
	if s.flow != nil {
		if err := newFlow.reserve(len(sent)); err != nil {
			return s, err
		}
	}
	n := 0
	for i, ns := range received {
		switch {
		case ns == leftOut, ns == lost && sent[i] < sent[0]+a.trimNs, ns != lost && ns < a.fromNs:
			continue
		case ns == lost:
			s.lost++
		}
		newSent.all[n], newReceived.all[n] = sent[i], ns
		if s.flow != nil {
			newFlow.all[n] = s.flow[i]
		}
		n++
	}
	s.sentNs, s.receivedNs = newSent.all[:n], newReceived.all[:n]
	if s.flow != nil {
		s.flow = newFlow.all[:n]
	}
	return s, nil
}

// metrics returns those of all packets, and of each flow if there are several.
func (a *Direction) metrics(s *stream) *result.Metrics {
	whole := metrics.Stream{SentNs: s.sentNs, ReceivedNs: s.receivedNs, Duplicates: s.again}
	m := &result.Metrics{Schema: result.MetricsSchema, All: metrics.Of("", whole)}
	if s.flow == nil {
		return m
	}
	flows := make([]metrics.Flow, len(a.pre.flows.flows))
	for i, e := range a.pre.flows.flows {
		flows[i] = metrics.Flow{Name: e.String(), Duplicates: s.againOf[i]}
	}
	for _, f := range metrics.OfFlows(flows, func(i int) int { return int(s.flow[i]) }, whole) {
		if f.Sent > 0 { // not a flow of packets without a key only
			m.Flows = append(m.Flows, f)
		}
	}
	return m
}

// directionVariable is the variable of the trials of a pair with packets in both directions.
const directionVariable = "direction"

// Records returns the pair as trials of a result folder: one for each direction.
func (a *Analysis) Records(ctx context.Context) ([]result.Record, error) {
	var all []result.Record
	for i, d := range a.Directions() {
		r, err := a.record(ctx, d)
		if err != nil {
			return nil, err
		}
		if a.Back != nil {
			r.Trial.Variables = map[string]any{directionVariable: []string{"pre > post", "post > pre"}[i]}
		}
		all = append(all, r)
	}
	return all, nil
}

func (a *Analysis) record(ctx context.Context, d *Direction) (result.Record, error) {
	s, err := d.stream()
	defer s.free()
	if err != nil {
		return result.Record{}, err
	}
	latency, err := result.ImportHistogram(d.first)
	if err != nil {
		return result.Record{}, fmt.Errorf("the latencies: %w", err)
	}
	fromTx, err := result.ImportHistogram(d.first)
	if err != nil {
		return result.Record{}, fmt.Errorf("the latencies: %w", err)
	}
	blocks, err := s.blocks()
	if err != nil {
		return result.Record{}, fmt.Errorf("the latencies by time: %w", err)
	}
	m := d.metrics(s)
	if err := ctx.Err(); err != nil {
		return result.Record{}, err
	}
	t := result.Trial{
		Repeat:    1,
		TxPackets: uint64(len(s.sentNs)), RxPackets: uint64(len(s.sentNs)) - s.lost, LostPackets: s.lost,
		DuplicatePackets: s.again, ReorderedPackets: m.All.Reordering.Reordered,
	}
	t.Verdict, t.Reasons = a.verdict()
	r := result.Record{
		Trial:      t,
		Histograms: result.Histograms{Latency: latency, FromTx: fromTx, SendLag: result.NewHistogram()},
		Blocks:     blocks,
		Metrics:    m,
		Outliers:   a.outliers(d),
	}
	a.details(&r, d, s)
	r.Pair, err = a.ofPair(ctx, d, s)
	return r, err
}

func (a *Analysis) details(r *result.Record, of *Direction, s *stream) {
	first, last := s.sentNs[0], s.sentNs[len(s.sentNs)-1]
	span := last - first
	if span > 0 {
		r.Trial.OfferedPPS = float64(len(s.sentNs)-1) / float64(span) * 1e9
	}
	r.Rates = rates(s, first)
	d := &r.Details
	d.Role = result.CaptureRole
	d.IntendedPPS = r.Trial.OfferedPPS
	if received := r.Trial.ReceivedPPS(); received != nil {
		d.ReceivedPPS = *received
	}
	if bytes := a.Pre.FrameBytes; bytes > 0 && bytes == a.Post.FrameBytes || bytes > 0 && a.Back == nil {
		d.FrameBytes = bytes + 4 // plus the FCS, which captures lack
	}
	d.InvalidPackets = of.Counts.PostUnkeyed + of.Counts.PostAmbiguous
	d.EarlyPackets = of.Counts.Early
	d.DurationNs = span
	if sinceUnix(first) {
		d.StartedUnixNs = first
	}
	d.Spacing = r.Metrics.All.GapsSent
	for _, c := range []Source{a.Pre, a.Post} {
		for _, i := range c.Info.Interfaces {
			if i.Dropped > 0 {
				d.Drops = append(d.Drops, result.Counter{Name: fmt.Sprintf("%s: %s", c.Path, i.Name), Count: i.Dropped})
			}
		}
	}
	d.Notes = a.Notes()
	if r.Rates == nil {
		d.Notes = append(d.Notes, "the capture spans more than 48 days, so that rate.csv is left empty")
	}
}

// sinceUnix is false for times since the start of a device, as some tools write.
func sinceUnix(ns int64) bool { return time.Unix(0, ns).Year() > 1980 }

// Started is when the first packet was captured; false if the times do not say.
func (a *Analysis) Started() (time.Time, bool) {
	first := a.pre.timesNs()[0]
	return time.Unix(0, first), sinceUnix(first)
}

// maxRateSeconds limits rate.csv, which has a row for each second: 48 days. If a clock was set by
// years in between, the file would fill the disk.
const maxRateSeconds = 1 << 22

func rates(s *stream, first int64) []result.Rate {
	if (s.sentNs[len(s.sentNs)-1]-first)/1e9 > maxRateSeconds {
		return nil
	}
	var rows []result.Rate
	at := func(ns int64) *result.Rate {
		second := int((ns - first) / 1e9)
		for len(rows) <= second {
			rows = append(rows, result.Rate{Second: len(rows)})
		}
		return &rows[second]
	}
	// The times are in order, so the packets of a second are consecutive.
	for from := 0; from < len(s.sentNs); {
		second := (s.sentNs[from] - first) / 1e9
		n, _ := slices.BinarySearch(s.sentNs[from:], first+(second+1)*1e9)
		row := at(s.sentNs[from])
		row.Offered, row.Sent = uint64(n), uint64(n)
		from += n
	}
	for _, ns := range s.receivedNs {
		if ns != lost {
			at(ns).Received++
		}
	}
	return rows
}

func (a *Analysis) outliers(d *Direction) []result.Outlier {
	list := d.Worst[:min(len(d.Worst), recordOutliers)]
	first := d.pre.timesNs()[0]
	rows := make([]result.Outlier, len(list))
	for i, w := range list {
		rows[i] = result.Outlier{
			ID: w.ID, Stream: 1, LatencyNs: w.LatencyNs, FromTxNs: w.LatencyNs,
			IntendedNs: w.PreNs - first, TxNs: w.PreNs - first, RxNs: w.PostNs - first,
			TxCPU: -1, RxCPU: -1,
		}
		if a.Options.Key == Nines {
			rows[i].Stream = streamOf(w.Key)
		}
	}
	return rows
}

package result

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

const (
	everywhere = InSummary | InExport | InIndex
	asked      = InExport | InIndex // for exports and queries
)

// Descriptions that several columns share.
const (
	apartAbout   = "counted separately"
	spacingAbout = "from one send to the next"
	pdvAbout     = "latency − the smallest latency"
	ipdvAbout    = "difference of a packet's latency from that of the packet before, absolute"
	rangeAbout   = "the extremes of that difference, with their signs"
)

// columns has all columns of trials: add a line here for a new one. The tables of docs/ are
// generated from them (make generate); a new column in the index needs a new Version of its tables.
var columns = slices.Concat(
	[]Column{
		column("result", InExport, "the experiment's name", func(r *Row) string { return r.Summary.Name }),
		column("result_started", InExport, "when the run began", func(r *Row) time.Time { return r.Summary.Started.UTC() }),
		ofTrial("id", InSummary|InExport, "the trial", func(t *Trial) string { return t.ID }),
		ofTrial("repeat", everywhere, "counted from 1", func(t *Trial) int { return t.Repeat }),
	},
	searchColumns,
	[]Column{
		ofTrial("offered_pps", everywhere, "the rate that was actually sent", func(t *Trial) float64 { return t.OfferedPPS }),
		ofTrial("tx_packets", everywhere, "sent: `rx_packets` + `lost_packets`", func(t *Trial) uint64 { return t.TxPackets }),
		ofTrial("rx_packets", everywhere, "received, each counted once", func(t *Trial) uint64 { return t.RxPackets }),
		ofTrial("lost_packets", everywhere, "sent and not received", func(t *Trial) uint64 { return t.LostPackets }),
		ofTrial("received_pps", asked, "unique packets received", (*Trial).ReceivedPPS),
		ofTrial("loss_ratio", asked, "`lost_packets` / `tx_packets`, 0 to 1", (*Trial).LossRatio),
		ofTrial("duplicate_packets", everywhere, apartAbout, func(t *Trial) uint64 { return t.DuplicatePackets }),
		ofTrial("reordered_packets", everywhere, apartAbout, func(t *Trial) uint64 { return t.ReorderedPackets }),
	},
	latencyColumns("latency", "receive − intended send", func(t *Trial) *Percentiles { return &t.Latency }),
	latencyColumns("from_tx", "receive − actual send", func(t *Trial) *Percentiles { return &t.FromTx }),
	latencyColumns("send_lag", "actual − intended send", func(t *Trial) *Percentiles { return &t.SendLag }),
	undisturbedColumns(),
	[]Column{
		ofTrial("verdict", everywhere, "`clean`, `noisy` or `invalid`", func(t *Trial) Verdict { return t.Verdict }),
		ofTrial("reasons", everywhere, "why, separated by `; `", func(t *Trial) string { return strings.Join(t.Reasons, "; ") }),

		ofTrial("seen_path", InSummary|InExport, "the path that the packets took", func(t *Trial) *string {
			if t.SeenPath == nil {
				return nil
			}
			return known(t.SeenPath.Words)
		}),

		ofDetails("role", asked, "`loop`, `generate+sink`, `capture`", func(d *Details) *string { return known(d.Role) }),
		ofDetails("intended_pps", asked, "the rate asked for", func(d *Details) float64 { return d.IntendedPPS }),
		ofDetails("intended_packets", InExport, "how many packets the schedule had", func(d *Details) *uint64 { return known(d.IntendedPackets) }),
		ofDetails("frame_bytes", asked, "the frame with its FCS", func(d *Details) *int { return known(d.FrameBytes) }),
		ofDetails("maximum_fraction", InExport, "the fraction of a maximum that the rate is", ofMaximum(func(s *Share) float64 { return s.Fraction })),
		ofDetails("maximum_pps", InExport, "that maximum", ofMaximum(func(s *Share) float64 { return s.ReceivedPPS })),
		ofDetails("started", InExport, "when the first measured packet was due", func(d *Details) *time.Time {
			return known(unixTime(d.StartedUnixNs))
		}),
		ofDetails("started_unix_ns", InIndex, "when the first measured packet was due, since 1970", func(d *Details) *int64 { return known(d.StartedUnixNs) }),
		ofDetails("duration_ns", asked, "the measured time", func(d *Details) int64 { return d.DurationNs }),
		ofDetails("invalid_packets", asked, "damaged or foreign", func(d *Details) uint64 { return d.InvalidPackets }),
		ofDetails("early_packets", asked, "received before they were sent, according to the clocks", func(d *Details) uint64 { return d.EarlyPackets }),
		ofDetails("dropped_packets", InExport, "dropped, in all places", func(d *Details) (all uint64) {
			for _, drop := range d.Drops {
				all += drop.Count
			}
			return all
		}),
		ofDetails("tsc_drift_ppm", asked, "drift of the clock over the trial", func(d *Details) float64 { return d.TSC.DriftPPM }),
		ofDetails("tsc_max_error_ns", InExport, "the largest error of a time stamp", func(d *Details) int64 { return d.TSC.MaxErrorNs }),
		ofDetails("clock_error_ns", InExport, "how wrong a latency may be where sender and receiver have a clock each", func(d *Details) *int64 {
			if d.Clocks == nil {
				return nil
			}
			return &d.Clocks.ErrorNs
		}),
		ofDetails("gap_count", InExport, "stretches in which a measuring thread had no CPU, over all threads", func(d *Details) uint64 { return gaps(d).Count }),
		ofDetails("gap_total_ns", InExport, "their total time", func(d *Details) int64 { return gaps(d).TotalNs }),
		ofDetails("gap_max_ns", asked, "the longest stretch in which a measuring thread had no CPU", func(d *Details) int64 { return gaps(d).MaxNs }),
		ofDetails("spacing_p50_ns", InExport, spacingAbout, func(d *Details) *int64 { return d.Spacing.P50 }),
		ofDetails("spacing_p99_ns", InExport, spacingAbout, func(d *Details) *int64 { return d.Spacing.P99 }),
		ofDetails("spacing_max_ns", InExport, spacingAbout, func(d *Details) *int64 { return d.Spacing.Max }),
		ofDetails("steal_ns", asked, "taken by the hypervisor", func(d *Details) int64 { return d.StealNs }),
		ofDetails("run_delay_ns", asked, "measuring threads were runnable but waiting", func(d *Details) int64 { return d.RunDelayNs }),
		ofDetails("throttled_ns", asked, "held back by a CPU quota", func(d *Details) int64 { return d.ThrottledNs }),
		ofDetails("devices", InExport, "the network's devices and their settings, as JSON", deviceList),
		column("packets_file", InExport, "the file with one row per packet, below the result folder", func(r *Row) *string { return known(r.Packets) }),

		// Of all packets; metrics.json also has them per flow.
		ofMetrics("pdv_p50_ns", pdvAbout, func(m *FlowMetrics) *int64 { return m.PDV.P50 }),
		ofMetrics("pdv_p99_ns", pdvAbout, func(m *FlowMetrics) *int64 { return m.PDV.P99 }),
		ofMetrics("pdv_p99_9_ns", pdvAbout, func(m *FlowMetrics) *int64 { return m.PDV.P999 }),
		ofMetrics("pdv_max_ns", pdvAbout, func(m *FlowMetrics) *int64 { return m.PDV.Max }),
		ofMetrics("ipdv_abs_p50_ns", ipdvAbout, func(m *FlowMetrics) *int64 { return m.IPDV.P50 }),
		ofMetrics("ipdv_abs_p99_9_ns", ipdvAbout, func(m *FlowMetrics) *int64 { return m.IPDV.P999 }),
		ofMetrics("ipdv_least_ns", rangeAbout, func(m *FlowMetrics) int64 { return m.IPDVRange[0] }),
		ofMetrics("ipdv_most_ns", rangeAbout, func(m *FlowMetrics) int64 { return m.IPDVRange[1] }),
		ofMetrics("gaps_sent_p50_ns", "from a packet to the next, at the sender", func(m *FlowMetrics) *int64 { return m.GapsSent.P50 }),
		ofMetrics("gaps_received_p50_ns", "from a packet to the next, at the receiver", func(m *FlowMetrics) *int64 { return m.GapsReceived.P50 }),
		ofMetrics("loss_runs", "how often packets were lost in a row", func(m *FlowMetrics) (runs uint64) {
			for _, run := range m.LossRuns {
				runs += run.Count
			}
			return runs
		}),
		ofMetrics("loss_run_longest_packets", "the longest such run", func(m *FlowMetrics) (longest uint64) {
			for _, run := range m.LossRuns {
				longest = max(longest, run.Length)
			}
			return longest
		}),
		ofMetrics("reordering_ratio", "of the packets received", func(m *FlowMetrics) float64 { return m.Reordering.Ratio }),
		ofMetrics("reordering_extent_max_packets", "how far a packet came too late", func(m *FlowMetrics) uint64 { return m.Reordering.ExtentMax }),
		ofMetrics("reordering_late_max_ns", "how late a packet came", func(m *FlowMetrics) int64 { return m.Reordering.LateMaxNs }),
	},
)

// searchColumns come last in summary.csv, and only if trials belong to searches.
var searchColumns = []Column{
	ofTrial("search", asked, "the search that the trial belongs to", func(t *Trial) *string { return known(t.Search) }),
	ofTrial("purpose", asked, "why it ran the trial (\"latency at 50 %\")", func(t *Trial) *string { return known(t.Purpose) }),
}

func latencyColumns(prefix, about string, of func(*Trial) *Percentiles) []Column {
	figure := func(name string) Column {
		return ofTrial(prefix+"_"+name+"_ns", everywhere, about, func(t *Trial) *int64 { return of(t).Figure(name) })
	}
	list := []Column{figure("min"), ofTrial(prefix+"_mean_ns", everywhere, about, func(t *Trial) *float64 { return of(t).Mean })}
	for _, named := range NamedPercentiles() {
		list = append(list, figure(named.Name))
	}
	return append(list, figure("max"), ofTrial(prefix+"_count", everywhere, "number of these latencies", func(t *Trial) uint64 { return of(t).Count }))
}

func undisturbedColumns() []Column {
	list := []Column{ofTrial("undisturbed_share", InExport, "the share of the packets that no interruption of the host touched", func(t *Trial) *float64 {
		if t.Undisturbed == nil {
			return nil
		}
		return &t.Undisturbed.Share
	})}
	for _, figure := range []struct {
		end, about string
		of         func(*UndisturbedPercentile) *int64
	}{
		{"", "the latency without the host's interruptions", func(p *UndisturbedPercentile) *int64 { return p.ValueNs }},
		{"_low", "the lower end of its 95 % interval", func(p *UndisturbedPercentile) *int64 { return p.LowNs }},
		{"_high", "the upper end, empty if it is open", func(p *UndisturbedPercentile) *int64 { return p.HighNs }},
	} {
		for _, named := range NamedPercentiles() {
			list = append(list, ofTrial("latency_undisturbed_"+named.Name+figure.end+"_ns", InExport, figure.about, func(t *Trial) *int64 {
				if p := t.Undisturbed.Percentile(named.Name); p != nil {
					return figure.of(p)
				}
				return nil
			}))
		}
	}
	return list
}

func ofMaximum(of func(*Share) float64) func(*Details) *float64 {
	return func(d *Details) *float64 {
		if d.Maximum == nil {
			return nil
		}
		value := of(d.Maximum)
		return &value
	}
}

// unixTime is the zero time if unknown.
func unixTime(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// gaps merges the gap meters of a trial's threads.
func gaps(d *Details) (all GapMeter) {
	for _, g := range d.Gaps {
		all.Count += g.Count
		all.TotalNs += g.TotalNs
		all.MaxNs = max(all.MaxNs, g.MaxNs)
	}
	return all
}

func deviceList(d *Details) *string {
	if len(d.Devices) == 0 {
		return nil
	}
	encoded, err := json.Marshal(d.Devices)
	if err != nil {
		return nil
	}
	list := string(encoded)
	return &list
}

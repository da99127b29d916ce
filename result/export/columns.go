package export

import "nines.dev/nines/result"

// identity says which trial a row is.
var identity = []column{
	{Column{"result", Text}, func(t *row) any { return t.result.Summary.Name }},
	{Column{"result_started", Time}, func(t *row) any { return t.result.Summary.Started.UTC() }},
	trialColumn("id", Text, func(t *result.Trial) any { return t.ID }),
}

var counts = []column{
	trialColumn("repeat", Integer, func(t *result.Trial) any { return int64(t.Repeat) }),
	trialColumn("search", Text, func(t *result.Trial) any { return text(t.Search) }),
	trialColumn("purpose", Text, func(t *result.Trial) any { return text(t.Purpose) }),
	trialColumn("offered_pps", Real, func(t *result.Trial) any { return t.OfferedPPS }),
	trialColumn("tx_packets", Integer, func(t *result.Trial) any { return count(t.TxPackets) }),
	trialColumn("rx_packets", Integer, func(t *result.Trial) any { return count(t.RxPackets) }),
	trialColumn("lost_packets", Integer, func(t *result.Trial) any { return count(t.LostPackets) }),
	trialColumn("duplicate_packets", Integer, func(t *result.Trial) any { return count(t.DuplicatePackets) }),
	trialColumn("reordered_packets", Integer, func(t *result.Trial) any { return count(t.ReorderedPackets) }),
}

var verdict = []column{
	trialColumn("verdict", Text, func(t *result.Trial) any { return string(t.Verdict) }),
	trialColumn("reasons", Text, func(t *result.Trial) any { return sentences(t.Reasons) }),
}

// details are the part of details.json that fits a table.
var details = []column{
	detail("role", Text, func(d *result.Details) any { return text(d.Role) }),
	detail("intended_pps", Real, func(d *result.Details) any { return d.IntendedPPS }),
	detail("received_pps", Real, func(d *result.Details) any { return d.ReceivedPPS }),
	detail("intended_packets", Integer, func(d *result.Details) any {
		if d.IntendedPackets == 0 {
			return nil
		}
		return count(d.IntendedPackets)
	}),
	detail("frame_bytes", Integer, func(d *result.Details) any {
		if d.FrameBytes == 0 {
			return nil
		}
		return int64(d.FrameBytes)
	}),
	detail("maximum_fraction", Real, func(d *result.Details) any {
		if d.Maximum == nil {
			return nil
		}
		return d.Maximum.Fraction
	}),
	detail("maximum_pps", Real, func(d *result.Details) any {
		if d.Maximum == nil {
			return nil
		}
		return d.Maximum.ReceivedPPS
	}),
	detail("started", Time, func(d *result.Details) any { return unixTime(d.StartedUnixNs) }),
	detail("duration_ns", Integer, func(d *result.Details) any { return d.DurationNs }),
	detail("invalid_packets", Integer, func(d *result.Details) any { return count(d.InvalidPackets) }),
	detail("early_packets", Integer, func(d *result.Details) any { return count(d.EarlyPackets) }),
	detail("dropped_packets", Integer, func(d *result.Details) any {
		var total uint64
		for _, drop := range d.Drops {
			total += drop.Count
		}
		return count(total)
	}),
	detail("tsc_drift_ppm", Real, func(d *result.Details) any { return d.TSC.DriftPPM }),
	detail("tsc_max_error_ns", Integer, func(d *result.Details) any { return d.TSC.MaxErrorNs }),
	detail("gap_count", Integer, gaps(func(sum *result.GapMeter, g result.GapMeter) { sum.Count += g.Count },
		func(sum result.GapMeter) any { return count(sum.Count) })),
	detail("gap_total_ns", Integer, gaps(func(sum *result.GapMeter, g result.GapMeter) { sum.TotalNs += g.TotalNs },
		func(sum result.GapMeter) any { return sum.TotalNs })),
	detail("gap_max_ns", Integer, gaps(func(sum *result.GapMeter, g result.GapMeter) { sum.MaxNs = max(sum.MaxNs, g.MaxNs) },
		func(sum result.GapMeter) any { return sum.MaxNs })),
	detail("spacing_p50_ns", Integer, func(d *result.Details) any { return integer(d.Spacing.P50) }),
	detail("spacing_p99_ns", Integer, func(d *result.Details) any { return integer(d.Spacing.P99) }),
	detail("spacing_max_ns", Integer, func(d *result.Details) any { return integer(d.Spacing.Max) }),
	detail("steal_ns", Integer, func(d *result.Details) any { return d.StealNs }),
	detail("run_delay_ns", Integer, func(d *result.Details) any { return d.RunDelayNs }),
	detail("throttled_ns", Integer, func(d *result.Details) any { return d.ThrottledNs }),
	detail("devices", Text, func(d *result.Details) any {
		if len(d.Devices) == 0 {
			return nil
		}
		return jsonText(d.Devices)
	}),
	{Column{"packets_file", Text}, func(t *row) any { return text(t.packets) }},
}

// gaps folds the gap meters of a trial's threads into one.
func gaps(add func(*result.GapMeter, result.GapMeter), of func(result.GapMeter) any) func(*result.Details) any {
	return func(d *result.Details) any {
		var sum result.GapMeter
		for _, g := range d.Gaps {
			add(&sum, g)
		}
		return of(sum)
	}
}

// metrics are those of all packets; metrics.json has the flows as well.
var metrics = []column{
	metric("pdv_p50_ns", Integer, func(m *result.FlowMetrics) any { return integer(m.PDV.P50) }),
	metric("pdv_p99_ns", Integer, func(m *result.FlowMetrics) any { return integer(m.PDV.P99) }),
	metric("pdv_p99_9_ns", Integer, func(m *result.FlowMetrics) any { return integer(m.PDV.P999) }),
	metric("pdv_max_ns", Integer, func(m *result.FlowMetrics) any { return integer(m.PDV.Max) }),
	metric("ipdv_abs_p50_ns", Integer, func(m *result.FlowMetrics) any { return integer(m.IPDV.P50) }),
	metric("ipdv_abs_p99_9_ns", Integer, func(m *result.FlowMetrics) any { return integer(m.IPDV.P999) }),
	metric("ipdv_least_ns", Integer, func(m *result.FlowMetrics) any { return m.IPDVRange[0] }),
	metric("ipdv_most_ns", Integer, func(m *result.FlowMetrics) any { return m.IPDVRange[1] }),
	metric("gaps_sent_p50_ns", Integer, func(m *result.FlowMetrics) any { return integer(m.GapsSent.P50) }),
	metric("gaps_received_p50_ns", Integer, func(m *result.FlowMetrics) any { return integer(m.GapsReceived.P50) }),
	metric("loss_runs", Integer, func(m *result.FlowMetrics) any {
		var runs uint64
		for _, run := range m.LossRuns {
			runs += run.Count
		}
		return count(runs)
	}),
	metric("loss_run_longest_packets", Integer, func(m *result.FlowMetrics) any {
		var longest uint64
		for _, run := range m.LossRuns {
			longest = max(longest, run.Length)
		}
		return count(longest)
	}),
	metric("reordering_ratio", Real, func(m *result.FlowMetrics) any { return m.Reordering.Ratio }),
	metric("reordering_extent_max_packets", Integer, func(m *result.FlowMetrics) any { return count(m.Reordering.ExtentMax) }),
	metric("reordering_late_max_ns", Integer, func(m *result.FlowMetrics) any { return m.Reordering.LateMaxNs }),
}

package measure

import (
	"fmt"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/host"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/measure/trace"
	"nines.dev/nines/measure/traffic"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// observation is everything observed in one trial.
type observation struct {
	outcome traffic.Outcome
	// faults say why the trial measured something other than the file describes: what has happened to
	// the lab, events that did not, and machines whose times are unusable.
	faults []check.Fault
	// happened is what of these has happened to the lab.
	happened damage
	stream   spec.Traffic
	fromCPU  int
	// path is what was seen of the packets' way, and astray says which of them did not come as planned.
	path   *result.SeenPath
	astray []string
	// idle says which programs of a device did nothing.
	idle []string
	// isolation is the isolation in force; nil if the degree asks for nothing.
	isolation *result.Isolation
	// images are those that nodes were made of.
	images []result.NodeImage
	// tuning is the host settings that were changed; nil if nothing was requested.
	tuning *result.Tuning
	// shared is as in plan.Plan.
	shared []string
	// untuned is what others have changed of it since; empty if nothing.
	untuned string
	toCPU   int
	// forwarders are the engines on the path, by node.
	forwarders []forwarder
	// witnessed is what they and the links' switches tell of their interruptions.
	witnessed witnessed
	// outside is what the kernel tells of those that cannot.
	outside   witnessedOutside
	steal     time.Duration
	throttled time.Duration
	settings  []link.Setting
	// disturbances are the deliberate ones.
	disturbances []result.Disturbance
	// events are what happened to the lab deliberately.
	events []result.Occurrence
	// impairments are what was done to packets deliberately.
	impairments []result.Impairment
	// receive is how interfaces received if not only by interrupts.
	receive []result.Receive
	// programs and drops are the links' programs' waits and drops.
	programs []result.ProgramDelay
	drops    []result.Counter
	// recording is what the kernel did; nil if it was not recorded. traceNotes say which parts
	// could not be.
	recording  *trace.Recording
	traceNotes []string
	// realTime is the kernel's limit on real-time threads that never sleep.
	realTime host.RealTimeStop
}

// record turns an observation into a result record with its verdict. It is pure.
func record(o observation, variables map[string]any, repeat int) (result.Record, error) {
	tx, rx := o.outcome.Tx, o.outcome.Rx
	if rx.RxPackets > tx.TxPackets {
		return result.Record{}, fmt.Errorf("the sink counted %d packets of the %d that were sent: another stream uses the same port", rx.RxPackets, tx.TxPackets)
	}
	histograms, spacing, err := importHistograms(o.outcome)
	if err != nil {
		return result.Record{}, err
	}
	blocks, err := importBlocks(rx.LatencyBlocks)
	if err != nil {
		return result.Record{}, err
	}
	measured := time.Duration(o.stream.Duration)
	if tx.StoppedNs > 0 { // all that was asked of a duet is decided
		measured = time.Duration(tx.StoppedNs)
	}
	planned := measured
	if tx.Interrupted {
		measured = min(measured, time.Duration(max(tx.EndNs-tx.MeasuredStartNs-pausedNs(tx), 0)))
	}
	streams, err := importStreams(o.outcome, measured)
	if err != nil {
		return result.Record{}, err
	}
	r := result.Record{
		Trial: result.Trial{
			Variables: variables, Repeat: repeat,
			OfferedPPS: perSecond(tx.TxPackets, measured),
			TxPackets:  tx.TxPackets, RxPackets: rx.RxPackets, LostPackets: tx.TxPackets - rx.RxPackets,
			DuplicatePackets: rx.DuplicatePackets, ReorderedPackets: rx.ReorderedPackets,
			SeenPath: o.path, LostAs: lossOf(lossInWords(tx, missing(rx), rx.RxPackets, measured), droppedInWords(o.path, tx.TxPackets-rx.RxPackets)),
		},
		Details:    details(o, measured),
		Histograms: histograms,
		Blocks:     blocks,
		Streams:    streams,
		Outliers:   outliers(rx.Outliers, o.fromCPU),
		Rates:      rates(o.outcome),
		EngineLog:  []byte(o.outcome.Log),
	}
	if tx.IntendedPackets > tx.TxPackets && !tx.Interrupted {
		r.Trial.UnsentPackets = tx.IntendedPackets - tx.TxPackets
	}
	r.Trial.Ends = ends(o.stream, r.Details.Gaps)
	if received := r.Trial.ReceivedPPS(); received != nil {
		r.Details.ReceivedPPS = *received
	}
	r.Details.Spacing = spacing.Percentiles()
	r.Trial.SendLag = histograms.SendLag.Percentiles()
	r.Trial.Verdict, r.Trial.Reasons = judge(evidence{
		trial: r.Trial, details: r.Details, intended: tx.IntendedPackets, txFailed: tx.TxFailed,
		faults: o.faults, astray: o.astray, idle: o.idle, shared: o.shared, untuned: o.untuned, realTime: o.realTime, interrupted: tx.Interrupted || rx.Interrupted, duration: planned,
		whole: time.Duration(max(tx.EndNs, rx.EndNs) - tx.StartNs),
	})
	return r, nil
}

// pausedNs is how long the traffic of a trial paused.
func pausedNs(tx client.TrialResult) (ns int64) {
	for _, p := range tx.Pauses {
		ns += p[1]
	}
	return ns
}

// missing are the ids that the only stream's receiver missed; nil where that is not known.
func missing(rx client.TrialResult) *client.Missing {
	if len(rx.Streams) != 1 {
		return nil
	}
	return rx.Streams[0].Missing
}

// ends are how the engines ran that a stream begins and ends at, with their threads' own account.
func ends(stream spec.Traffic, threads []result.GapMeter) *result.Ends {
	e := &result.Ends{Backend: string(stream.Backend), IO: string(stream.IO), Wait: string(stream.Wait)}
	var all result.Wakes
	for _, t := range threads {
		if t.Wakes != nil {
			all.Count, all.TotalNs = all.Count+t.Wakes.Count, all.TotalNs+t.Wakes.TotalNs
		}
	}
	if all.Count > 0 {
		mean := all.TotalNs / int64(all.Count)
		e.WakeNs = &mean
	}
	return e
}

func perSecond(packets uint64, span time.Duration) float64 {
	if span <= 0 {
		return 0
	}
	return float64(packets) / span.Seconds()
}

// importHistograms takes the latencies from the sink and the rest from the generator, which saw
// every packet leave.
func importHistograms(outcome traffic.Outcome) (h result.Histograms, spacing *result.Histogram, err error) {
	for _, one := range []struct {
		name string
		from client.Histogram
		to   **result.Histogram
	}{
		{"latency", outcome.Rx.Latency, &h.Latency},
		{"from_tx", outcome.Rx.FromTx, &h.FromTx},
		{"send_lag", outcome.Tx.SendLag, &h.SendLag},
		{"spacing", outcome.Tx.Spacing, &spacing},
	} {
		if *one.to, err = result.ImportHistogram(result.Sparse(one.from)); err != nil {
			return h, nil, fmt.Errorf("the engine's histogram %s: %w", one.name, err)
		}
	}
	return h, spacing, nil
}

// importBlocks takes the latencies by time from the sink; nil if it has none.
func importBlocks(from client.Blocks) (*result.Blocks, error) {
	if len(from.Counts) == 0 {
		return nil, nil
	}
	blocks := &result.Blocks{Length: time.Duration(from.LengthNs)}
	for i, pairs := range from.Counts {
		counts, err := result.PackCounts(pairs)
		if err != nil {
			return nil, fmt.Errorf("the engine's time block %d: %w", i+1, err)
		}
		blocks.Counts = append(blocks.Counts, counts)
	}
	return blocks, nil
}

func details(o observation, measured time.Duration) result.Details {
	tx, rx := o.outcome.Tx, o.outcome.Rx
	d := result.Details{
		Role: "generate+sink", IntendedPPS: o.stream.PacketsPerSecond(), IntendedPackets: tx.IntendedPackets, FrameBytes: o.stream.FrameBytes,
		InvalidPackets: rx.InvalidPackets, EarlyPackets: rx.EarlyPackets,
		DurationNs: int64(measured), StartedNs: tx.MeasuredStartNs,
		PollGapFrom:  result.PollGapFromLook,
		TSC:          tsc(tx.TSC, rx.TSC),
		RunDelayNs:   tx.RunDelayNs,
		Runs:         tx.Runs,
		WaitedNs:     tx.WaitedNs,
		StealNs:      int64(o.steal),
		ThrottledNs:  int64(o.throttled),
		Programs:     o.programs,
		Receive:      o.receive,
		Isolation:    o.isolation,
		Images:       o.images,
		Tuning:       o.tuning,
		Disturbances: o.disturbances,
		Impairments:  o.impairments,
		Events:       o.events,
		Notes:        o.outcome.Notes,
	}
	if kept := o.outcome.Synchrony; kept != nil {
		d.Clocks = &result.Clocks{ErrorNs: kept.ErrorNs, DriftNs: kept.DriftNs, Lost: kept.Lost, Untold: kept.Untold}
	}
	if !o.outcome.Started.IsZero() {
		d.StartedUnixNs = o.outcome.Started.UnixNano()
	}
	for _, setting := range o.settings {
		d.Devices = append(d.Devices, result.Device(setting))
	}
	if o.outcome.Loop {
		d.Role = "loop"
		d.Gaps = append(d.Gaps, gapMeter("loop", o.fromCPU, tx.Scheduling, tx.Gaps))
	} else {
		d.RunDelayNs += rx.RunDelayNs
		d.Runs += rx.Runs
		d.WaitedNs += rx.WaitedNs
		d.Gaps = append(d.Gaps, gapMeter("generate", o.fromCPU, tx.Scheduling, tx.Gaps), gapMeter("sink", o.toCPU, rx.Scheduling, rx.Gaps))
		d.Drops = counters(d.Drops, "sink", rx.Drops)
	}
	d.Drops = counters(d.Drops, "generator", tx.Drops)
	for _, f := range o.forwarders {
		d.Gaps = append(d.Gaps, gapMeter("forward "+f.node, f.stats.CPU, f.stats.Scheduling, f.stats.Gaps))
		for _, port := range f.stats.Ports {
			d.Drops = counters(d.Drops, f.node+":"+port.Port, port.Drops)
		}
	}
	d.Drops = append(d.Drops, o.drops...)
	return d
}

// tsc keeps the worse of the two ends' calibrations.
func tsc(tx, rx client.TSC) result.TSC {
	worse := tx
	if abs(rx.DriftPPM) > abs(tx.DriftPPM) {
		worse = rx
	}
	return result.TSC{
		HzStart: worse.HzStart, HzEnd: worse.HzEnd, DriftPPM: worse.DriftPPM,
		BracketNs:  max(tx.BracketNs, rx.BracketNs),
		MaxErrorNs: max(tx.MaxErrorNs, rx.MaxErrorNs),
		Constant:   tx.Constant && rx.Constant, Nonstop: tx.Nonstop && rx.Nonstop,
	}
}

func abs(f float64) float64 { return max(f, -f) }

func gapMeter(thread string, cpu int, scheduling string, from client.Gaps) result.GapMeter {
	meter := result.GapMeter{
		Thread: thread, CPU: cpu, Scheduling: scheduling, ThresholdNs: from.ThresholdNs,
		Count: from.Count, TotalNs: from.TotalNs, MaxNs: from.MaxNs,
		Worst: make([]result.Gap, 0, len(from.Worst)),
	}
	if wakes := result.Wakes(from.Wakes); wakes.Count > 0 {
		meter.Wakes = &wakes
	}
	for _, row := range from.Worst {
		meter.Worst = append(meter.Worst, result.Gap{AtNs: row[0], LengthNs: row[1]})
	}
	return meter
}

// counters adds drop counters, each under the place of the drop.
func counters(to []result.Counter, place string, from []client.Counter) []result.Counter {
	for _, drop := range from {
		if drop.Count > 0 {
			to = append(to, result.Counter{Name: place + " " + drop.Name, Count: drop.Count})
		}
	}
	return to
}

// outliers converts the sink's rows. A separate sink does not know the sender's CPU, but the
// generator is pinned to it.
func outliers(rows [][11]int64, fromCPU int) []result.Outlier {
	list := make([]result.Outlier, 0, len(rows))
	for _, row := range rows {
		if row[9] < 0 {
			row[9] = int64(fromCPU)
		}
		list = append(list, result.Outlier{
			ID: uint32(row[0]), Stream: uint16(row[1]) + 1,
			LatencyNs: row[2], FromTxNs: row[3], SendLagNs: row[4],
			IntendedNs: row[5], TxNs: row[6], RxNs: row[7], PollGapNs: row[8],
			TxCPU: int(row[9]), RxCPU: int(row[10]),
		})
	}
	return list
}

// rates joins packets sent and packets received, by second.
func rates(outcome traffic.Outcome) []result.Rate {
	seconds := max(len(outcome.Tx.Rate), len(outcome.Rx.Rate))
	list := make([]result.Rate, seconds)
	for i := range list {
		list[i].Second = i
	}
	for _, row := range outcome.Tx.Rate {
		if second := row[0]; second < uint64(seconds) {
			list[second].Offered, list[second].Sent = row[1], row[2]
		}
	}
	for _, row := range outcome.Rx.Rate {
		if second := row[0]; second < uint64(seconds) {
			list[second].Received = row[3]
		}
	}
	return list
}

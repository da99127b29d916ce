package stall

import (
	"errors"
	"io"
	"slices"

	"nines.dev/nines/result"
)

// Variables that distinguish the trials of such a result.
const (
	cpuVariable    = "cpu"
	threadVariable = "thread"
)

// Write writes a result folder below dir: one trial per subject, whose packets are its stalls, so
// that nines explain and the page can show them. page writes the page of a folder.
func (r *Report) Write(dir, name string, host any, page func(folder string, out io.Writer) error) (err error) {
	w, err := result.Create(dir, name, r.Started)
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			err = w.Close()
		} else if w.Empty() {
			err = errors.Join(err, w.Discard())
		}
	}()
	if host != nil {
		if err := w.WriteHost(host); err != nil {
			return err
		}
	}
	for i := range r.Subjects {
		if _, err := w.AddTrial(r.record(&r.Subjects[i])); err != nil {
			return err
		}
	}
	r.Folder = w.Dir()
	return w.WriteReport(func(out io.Writer) error { return page(w.Dir(), out) })
}

// record converts a subject to a trial.
func (r *Report) record(s *Subject) result.Record {
	own := r.traceOf(s)
	var events []result.Event
	own.Stretches, events = r.part(s)
	own.Kept = uint64(len(events))
	count := s.lengths.Count()
	aSecond := 0.0
	if r.Elapsed > 0 {
		aSecond = float64(count) / r.Elapsed.Seconds()
	}
	variables := map[string]any{threadVariable: s.Name}
	role, packets := result.ProgramRole, "stretches in which the thread could have run and did not"
	if s.thread.Spins {
		variables, role, packets = map[string]any{cpuVariable: s.CPU}, result.JitterRole, "the gaps of a thread that spins"
	} else if r.sameName(s.Name) {
		variables["tid"] = s.TID
	}
	record := result.Record{
		Trial: result.Trial{Variables: variables, Repeat: 1, OfferedPPS: aSecond, TxPackets: count, RxPackets: count, Verdict: result.Clean},
		Details: result.Details{Role: role, ReceivedPPS: aSecond, DurationNs: int64(r.Elapsed), StartedNs: r.startedNs,
			StartedUnixNs: r.Started.UnixNano(), StealNs: s.StealNs, Trace: &own,
			Notes: []string{"its packets are " + packets}},
		Histograms: result.Histograms{Latency: s.lengths, FromTx: result.NewHistogram(), SendLag: s.lengths},
		Outliers:   s.outliers,
		Events:     events,
		Ordinary:   []result.Outlier{},
		Causes:     s.Causes,
	}
	if s.thread.Spins {
		record.Details.Gaps = []result.GapMeter{{Thread: "watch", CPU: s.CPU, Scheduling: s.Scheduling, ThresholdNs: r.ThresholdNs,
			Count: count, TotalNs: s.Stalls[0].TotalNs, MaxNs: s.longest(), Worst: []result.Gap{}}}
	}
	return record
}

func (r *Report) sameName(name string) bool {
	count := 0
	for _, s := range r.Subjects {
		if s.Name == name {
			count++
		}
	}
	return count > 1
}

func (s *Subject) longest() int64 {
	if most := s.lengths.Percentiles().Max; most != nil {
		return *most
	}
	return 0
}

// part returns what was recorded around a subject's stalls: the stretches and their events. The
// stalls of other subjects are in their own trials.
func (r *Report) part(s *Subject) (stretches [][2]int64, events []result.Event) {
	stretches, events = [][2]int64{}, []result.Event{}
	for _, held := range r.recording.Trace.Stretches {
		if slices.ContainsFunc(s.outliers, func(o result.Outlier) bool {
			return r.startedNs+o.IntendedNs <= held[1] && r.startedNs+o.RxNs >= held[0]
		}) {
			stretches = append(stretches, held)
		}
	}
	next := 0
	for _, e := range r.recording.Events { // ordered by begin
		for next < len(stretches) && stretches[next][1] < e.BeginNs {
			next++
		}
		if next == len(stretches) {
			break
		}
		if e.EndNs >= stretches[next][0] {
			events = append(events, e)
		}
	}
	return stretches, events
}

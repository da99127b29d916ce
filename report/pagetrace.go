package report

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"slices"

	"nines.dev/nines/result"
)

// Limits on the page's data of traced trials.
const (
	maxTracePackets    = 50
	maxTraceCauses     = 20
	maxPacketEvents    = 1200
	minPacketEvents    = 60
	maxPageTraceEvents = 60_000 // of all trials together
)

// pageTrace is what is known about why a trial's packets were late.
type pageTrace struct {
	Trial string `json:"trial"`
	// Recorder is null if details.json does not mention it; its stretches are left out.
	Recorder    *result.Trace        `json:"recorder"`
	Ranking     []result.RankedCause `json:"ranking"`
	RankingAll  int                  `json:"ranking_all"`
	Ordinary    int                  `json:"ordinary"`
	Notes       []string             `json:"notes"`
	Packets     []pageLate           `json:"packets"`
	Slowest     int                  `json:"slowest"`
	Recorded    int                  `json:"recorded"`
	Kinds       []result.EventKind   `json:"kinds"`
	Names       []string             `json:"names"`
	kinds       map[result.EventKind]int
	names       map[string]int
	eventsLimit int
}

// pageLate is a late packet. Its times are nanoseconds since it was due.
type pageLate struct {
	ID        uint32 `json:"id"`
	LatencyNs int64  `json:"latency_ns"`
	DueNs     int64  `json:"due_ns"` // since the trial's start
	TxCPU     int    `json:"tx_cpu"`
	RxCPU     int    `json:"rx_cpu"`
	// Together is how many of the slowest were late at the same time, including this one.
	Together int                  `json:"together"`
	Phases   []result.PhaseCauses `json:"phases"`
	FromNs   int64                `json:"from_ns"`
	ToNs     int64                `json:"to_ns"`
	// Events are [begin, length, CPU, kind, name, TID, value, other CPU, state], with kind and name
	// as indexes into the trace's lists.
	Events    []pageEvent `json:"events"`
	EventsAll int         `json:"events_all"`
}

// pageEvent is an event as an array, to save the space of field names.
type pageEvent [9]any

// traceInput is the content of a traced trial's files.
type traceInput struct {
	trial string
	// startedNs is when its first measured packet was due; outliers count from there, but events
	// and causes do not.
	startedNs int64
	causes    result.Causes
	recorder  *result.Trace
	outliers  []result.Outlier
	events    []result.Event
	// packets and packetEvents are the page's limits.
	packets, packetEvents int
}

// addTraces reads the traced trials.
func (p *pageData) addTraces(r *result.Result) {
	var recorded []pageTrial
	for _, t := range p.Trials {
		if t.Details != nil && t.Details.Trace != nil {
			recorded = append(recorded, t)
		}
	}
	limit := maxPageTraceEvents / max(len(recorded)*maxTracePackets, 1)
	for _, t := range recorded {
		in := traceInput{trial: t.ID, startedNs: t.Details.StartedNs, recorder: t.Details.Trace, packets: maxTracePackets,
			packetEvents: min(max(limit, minPacketEvents), maxPacketEvents)}
		folder := r.TrialFolder(t.ID)
		if causes, err := folder.Causes(); err != nil {
			p.problem(err)
		} else if causes != nil {
			in.causes = *causes
		}
		if events, err := folder.Events(); err == nil {
			in.events = events
		} else if !errors.Is(err, fs.ErrNotExist) {
			p.problem(err)
		}
		if outliers, err := folder.Outliers(); err == nil {
			in.outliers = outliers
		}
		p.Traces = append(p.Traces, newPageTrace(in))
		t.Details.Trace = nil // the page has it once
	}
}

func newPageTrace(in traceInput) pageTrace {
	t := pageTrace{Trial: in.trial, RankingAll: len(in.causes.Ranking), Ordinary: in.causes.Ordinary,
		Ranking: append([]result.RankedCause{}, in.causes.Ranking[:min(len(in.causes.Ranking), maxTraceCauses)]...),
		Notes:   []string{}, Packets: []pageLate{}, Slowest: in.causes.Slowest, Recorded: in.causes.Recorded,
		Kinds: []result.EventKind{}, Names: []string{}, kinds: map[result.EventKind]int{}, names: map[string]int{}, eventsLimit: in.packetEvents}
	var said []string // from the recorder's own line
	if in.recorder != nil {
		recorder := *in.recorder
		recorder.Stretches = nil
		t.Recorder = &recorder
		said = recorder.NotRecorded()
	}
	for _, note := range in.causes.Notes {
		if !slices.Contains(said, note) {
			t.Notes = append(t.Notes, note)
		}
	}
	events := slices.SortedStableFunc(slices.Values(in.events), func(a, b result.Event) int { return cmp.Compare(a.BeginNs, b.BeginNs) })
	find := outlierFinder(in.outliers)
	for _, chosen := range choosePackets(in.causes.Packets, in.packets) {
		causes := in.causes.Packets[chosen.at]
		late := t.late(causes, find(chosen.at, causes), events, in.startedNs)
		late.Together = chosen.together
		t.Packets = append(t.Packets, late)
	}
	return t
}

// lateOf is a packet of causes.json, and how many were late at the same time.
type lateOf struct{ at, together int }

// choosePackets takes the slowest of each moment first, and others that were late with them only if
// there is room: one stall of a fast stream delays more packets than a page has. Packets without
// kept events are left out: all of their time would appear as unexplained.
func choosePackets(packets []result.PacketCauses, most int) []lateOf {
	type stretch struct{ begin, end int64 }
	at := func(i int) stretch {
		begin := packets[i].Phases[0].BeginNs
		return stretch{begin, begin + packets[i].LatencyNs}
	}
	var order []int
	for i := range packets {
		if packets[i].Recorded && len(packets[i].Phases) > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(packets[j].LatencyNs, packets[i].LatencyNs) })
	var slowest, others []lateOf
	for _, i := range order {
		s := at(i)
		with := slices.IndexFunc(slowest, func(l lateOf) bool { o := at(l.at); return s.begin <= o.end && o.begin <= s.end })
		if with < 0 {
			slowest = append(slowest, lateOf{i, 1})
			continue
		}
		slowest[with].together++
		others = append(others, lateOf{at: i})
	}
	for i := range others {
		s := at(others[i].at)
		for _, l := range slowest {
			if o := at(l.at); s.begin <= o.end && o.begin <= s.end {
				others[i].together = l.together
				break
			}
		}
	}
	chosen := append(slowest, others...)
	chosen = chosen[:min(len(chosen), most)]
	slices.SortStableFunc(chosen, func(a, b lateOf) int { return cmp.Compare(packets[b.at].LatencyNs, packets[a.at].LatencyNs) })
	return chosen
}

// outlierFinder returns the outlier for a packet of causes.json: both files have the same order,
// but outliers.csv may have more packets.
func outlierFinder(outliers []result.Outlier) func(int, result.PacketCauses) *result.Outlier {
	type key struct {
		id      uint32
		latency int64
	}
	index := make(map[key]int, len(outliers))
	for i := range slices.Backward(outliers) {
		index[key{outliers[i].ID, outliers[i].LatencyNs}] = i
	}
	return func(i int, p result.PacketCauses) *result.Outlier {
		is := func(i int) bool {
			return i < len(outliers) && outliers[i].ID == p.ID && outliers[i].LatencyNs == p.LatencyNs
		}
		if is(i) {
			return &outliers[i]
		}
		if i, ok := index[key{p.ID, p.LatencyNs}]; ok {
			return &outliers[i]
		}
		return nil
	}
}

func (t *pageTrace) late(causes result.PacketCauses, outlier *result.Outlier, events []result.Event, startedNs int64) pageLate {
	due := causes.Phases[0].BeginNs
	end := due + causes.LatencyNs
	late := pageLate{ID: causes.ID, LatencyNs: causes.LatencyNs, DueNs: due - startedNs, TxCPU: -1, RxCPU: -1, Events: []pageEvent{}}
	if outlier != nil {
		late.DueNs, late.TxCPU, late.RxCPU = outlier.IntendedNs, outlier.TxCPU, outlier.RxCPU
	}
	cpus := map[int]bool{late.TxCPU: true, late.RxCPU: true}
	if t.Recorder != nil {
		for _, thread := range t.Recorder.Threads {
			cpus[thread.CPU] = true
		}
	}
	for _, phase := range causes.Phases {
		end = max(end, phase.EndNs)
		for _, share := range phase.Causes {
			cpus[share.Cause.CPU] = true
		}
		phase.BeginNs -= due
		phase.EndNs -= due
		if phase.Causes == nil {
			phase.Causes = []result.CauseShare{}
		}
		late.Phases = append(late.Phases, phase)
	}
	// A little of the time before and after shows the context; the recorder keeps at most 50 µs of
	// it.
	margin := min(max((end-due)/10, 2_000), 50_000)
	from, to := due-margin, end+margin
	late.FromNs, late.ToNs = from-due, to-due
	var near []result.Event
	for _, e := range events {
		if e.BeginNs > to {
			break // they are ordered by begin
		}
		if e.EndNs >= from && cpus[int(e.CPU)] {
			near = append(near, e)
		}
	}
	late.EventsAll = len(near)
	for _, e := range mostTelling(near, from, to, t.eventsLimit) {
		late.Events = append(late.Events, t.event(e, due))
	}
	return late
}

// mostTelling keeps the longest events; of those without a length, the rare ones first. They are in
// time order, and stay so.
func mostTelling(events []result.Event, from, to int64, most int) []result.Event {
	if len(events) <= most {
		return events
	}
	weight := func(e result.Event) int64 {
		switch e.Kind {
		case result.EventDrop:
			return math.MaxInt64
		case result.EventStage, result.EventIPI:
			return 300 // the length of a short interrupt
		}
		return min(e.EndNs, to) - max(e.BeginNs, from)
	}
	// Sort numbers, not events: a long stall has some 100,000 events around each of its packets.
	weights := make([]int64, len(events))
	for i, e := range events {
		weights[i] = weight(e)
	}
	sorted := slices.Clone(weights)
	slices.Sort(sorted)
	least := sorted[len(sorted)-most]
	asLight := most // how many of the lightest events are kept
	for _, w := range sorted[len(sorted)-most:] {
		if w > least {
			asLight--
		}
	}
	kept := make([]result.Event, 0, most)
	for i, e := range events {
		if weights[i] == least {
			asLight--
		}
		if weights[i] > least || weights[i] == least && asLight >= 0 {
			kept = append(kept, e)
		}
	}
	return kept
}

func (t *pageTrace) event(e result.Event, due int64) pageEvent {
	state := e.State
	if e.Preempted {
		state = "R"
	}
	return pageEvent{e.BeginNs - due, e.EndNs - e.BeginNs, e.CPU, place(&t.Kinds, t.kinds, e.Kind), place(&t.Names, t.names, e.Name),
		e.TID, e.Value, e.Other, state}
}

// place returns the index of a text in a list, which it extends if needed.
func place[T comparable](list *[]T, index map[T]int, value T) int {
	at, known := index[value]
	if !known {
		at = len(*list)
		index[value] = at
		*list = append(*list, value)
	}
	return at
}

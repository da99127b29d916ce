package report

import (
	"encoding/json"
	"slices"
	"testing"

	"nines.dev/nines/result"
)

// tracedInput is a made-up traced trial: packet 7 was due at 1 ms, a FIFO thread delayed its sender
// by 200 µs, and a softirq its receiver by 30 µs. Nothing in it was measured.
func tracedInput() traceInput {
	const due = 1_000_000
	hog := result.Cause{Kind: "priority", Name: "hog", CPU: 1}
	softirq := result.Cause{Kind: "softirq", Name: "NET_RX", CPU: 0}
	lift := 12.5
	event := func(begin, length int64, cpu int32, kind result.EventKind, name string, tid int32) result.Event {
		return result.Event{BeginNs: due + begin, EndNs: due + begin + length, CPU: cpu, Kind: kind, Name: name, TID: tid, Other: -1}
	}
	preempted := event(-900_000, 895_000, 1, result.EventThread, "nines-loop", 70)
	preempted.Preempted = true
	ipi := event(120_000, 0, 0, result.EventIPI, "reschedule", 71)
	ipi.Other = 1
	in := traceInput{trial: "0001", packets: maxTracePackets, packetEvents: maxPacketEvents,
		recorder: &result.Trace{Events: 120_000, Kept: 900, ThresholdNs: 90_000, BufferBytes: 4 << 20, CostNs: new(int64),
			Threads: []result.TracedThread{{Role: result.RoleSender, Name: "nines-loop", PID: 70, TID: 70, CPU: 1, Spins: true},
				{Role: result.RoleReceiver, Name: "nines-sink", PID: 71, TID: 71, CPU: 0}},
			Stages: []result.StageDelay{{From: "send", To: "driver", Device: "tx", Delay: percentilesOf(900, 1100, 4000)}}},
		outliers: []result.Outlier{{ID: 7, Stream: 1, LatencyNs: 260_000, FromTxNs: 60_000, SendLagNs: 200_000, IntendedNs: due,
			TxNs: due + 200_000, RxNs: due + 260_000, TxCPU: 1, RxCPU: 0}},
		events: []result.Event{
			preempted,
			event(-5_000, 204_000, 1, result.EventThread, "hog", 99),
			event(50_000, 2_000, 1, result.EventInterrupt, "local_timer", 0),
			event(50_500, 1_000, 1, result.EventTimer, "tick_nohz_handler", 0),
			event(199_000, 400_000, 1, result.EventThread, "nines-loop", 70),
			event(-50_000, 265_000, 0, result.EventThread, "swapper/0", 0),
			event(210_000, 30_000, 0, result.EventSoftirq, "NET_RX", 0),
			event(211_000, 5_000, 0, result.EventPoll, "tx", 0),
			event(215_000, 300_000, 0, result.EventThread, "nines-sink", 71),
			event(214_000, 0, 0, result.EventWakeup, "nines-sink", 71),
			ipi,
			event(100_000, 50_000, 5, result.EventThread, "elsewhere", 8),
			event(9_000_000, 1_000, 1, result.EventThread, "later", 9),
		},
		causes: result.Causes{Schema: result.CausesSchema, Ordinary: 200, Notes: []string{"a note on <b>the recording</b>"},
			Ranking: []result.RankedCause{
				{Cause: hog, Packets: 1, Present: 1, TotalNs: 199_000, Lift: &lift, Sentence: "The FIFO thread hog ran on CPU 1.", Remedy: "nines tune apply --profile realtime keeps it off."},
				{Cause: softirq, Present: 1, TotalNs: 30_000, Sentence: "NET_RX ran on CPU 0."}},
			Packets: []result.PacketCauses{{ID: 7, LatencyNs: 260_000, Recorded: true, Phases: []result.PhaseCauses{
				{Phase: result.PhaseSend, BeginNs: due, EndNs: due + 200_000, Causes: []result.CauseShare{{Cause: hog, Ns: 199_000}}, UnexplainedNs: 1_000},
				{Phase: result.PhaseTransit, BeginNs: due + 200_000, EndNs: due + 210_000, UnexplainedNs: 10_000, OrdinaryNs: 9_000},
				{Phase: result.PhaseReceive, BeginNs: due + 210_000, EndNs: due + 260_000, Causes: []result.CauseShare{{Cause: softirq, Ns: 30_000}}, UnexplainedNs: 20_000}}}}},
	}
	return in
}

func percentilesOf(values ...int64) result.Percentiles {
	h := result.NewHistogram()
	for _, v := range values {
		h.Record(v)
	}
	return h.Percentiles()
}

// eventNames returns the events of a late packet as "name@begin+length".
func (t *pageTrace) eventNames(packet int) []string {
	var names []string
	for _, e := range t.Packets[packet].Events {
		names = append(names, t.Names[e[4].(int)])
	}
	return names
}

func TestALatePacketHasTheEventsOfItsCPUs(t *testing.T) {
	trace := newPageTrace(tracedInput())
	p := trace.Packets[0]
	if p.TxCPU != 1 || p.RxCPU != 0 || p.DueNs != 1_000_000 || p.FromNs != -26_000 || p.ToNs != 286_000 {
		t.Errorf("%+v", p)
	}
	names := trace.eventNames(0)
	for _, want := range []string{"hog", "nines-sink", "swapper/0", "NET_RX", "reschedule"} {
		if !slices.Contains(names, want) {
			t.Errorf("no event %q: %q", want, names)
		}
	}
	// Events on other CPUs and later ones do not concern this packet.
	if slices.Contains(names, "elsewhere") || slices.Contains(names, "later") || p.EventsAll != 11 || len(p.Events) != 11 {
		t.Errorf("%d of %d events: %q", len(p.Events), p.EventsAll, names)
	}
	first := p.Events[0]
	if first[0].(int64) != -900_000 || first[1].(int64) != 895_000 || first[8] != "R" {
		t.Errorf("the preempted sender is %v", first)
	}
	if send := p.Phases[0]; send.BeginNs != 0 || send.EndNs != 200_000 || p.Phases[2].EndNs != 260_000 {
		t.Errorf("the phases are %+v", p.Phases)
	}
}

func TestAPageHasSoManyPacketsAndEventsAtMost(t *testing.T) {
	in := tracedInput()
	in.packetEvents = 4
	in.events = append(in.events, result.Event{BeginNs: 1_040_000, EndNs: 1_040_000, CPU: 0, Kind: result.EventDrop, Name: "NO_SOCKET", Other: -1})
	for range 70 {
		in.causes.Packets = append(in.causes.Packets, in.causes.Packets[0])
	}
	trace := newPageTrace(in)
	if len(trace.Packets) != maxTracePackets {
		t.Errorf("%d packets", len(trace.Packets))
	}
	// The drop is kept because of its kind, and the longest of the rest.
	if names := trace.eventNames(0); !slices.Equal(names, []string{"swapper/0", "hog", "NO_SOCKET", "nines-loop"}) || trace.Packets[0].EventsAll != 12 {
		t.Errorf("%q of %d", names, trace.Packets[0].EventsAll)
	}
	// 50 packets of 400 events are about 1 MB at most.
	text, err := json.Marshal(trace)
	if err != nil || len(text) > 50*(4*60+1200) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestThePageHasTheSlowestOfEachStall(t *testing.T) {
	packet := func(due, latency int64) result.PacketCauses {
		return result.PacketCauses{LatencyNs: latency, Recorded: true, Phases: []result.PhaseCauses{{BeginNs: due}}}
	}
	// Three delayed by a stall until 1000, one by another, and one without any record.
	packets := []result.PacketCauses{packet(0, 1000), packet(100, 900), packet(200, 800), packet(5000, 300), {LatencyNs: 700}, packet(9000, 200)}
	packets[5].Recorded = false
	if got := choosePackets(packets, 2); !slices.Equal(got, []lateOf{{0, 3}, {3, 1}}) {
		t.Errorf("of two: %v", got)
	}
	if got := choosePackets(packets, 10); !slices.Equal(got, []lateOf{{0, 3}, {1, 3}, {2, 3}, {3, 1}}) {
		t.Errorf("of all: %v", got)
	}
}

func TestAPacketThatOutliersDoNotHaveIsStillShown(t *testing.T) {
	in := tracedInput()
	in.outliers, in.startedNs = nil, 100_000
	p := newPageTrace(in).Packets[0]
	if p.TxCPU != -1 || p.RxCPU != -1 || p.DueNs != 900_000 || len(p.Events) == 0 {
		t.Errorf("%+v", p)
	}
}

// Of equally telling events the first are kept, all in time order.
func TestTheMostTellingEventsAreKept(t *testing.T) {
	var events []result.Event
	for i, length := range []int64{5, 1, 9, 5, 0, 5, 7, 5} {
		events = append(events, result.Event{Kind: result.EventSoftirq, BeginNs: int64(100 * i), EndNs: int64(100*i) + length})
	}
	var begins []int64
	for _, e := range mostTelling(events, 0, 1000, 4) {
		begins = append(begins, e.BeginNs)
	}
	if want := []int64{0, 200, 300, 600}; !slices.Equal(begins, want) {
		t.Errorf("kept those of %v, want %v", begins, want)
	}
	for i := range events {
		events[i].Kind = result.EventDrop
	}
	if kept := mostTelling(events, 0, 1000, 4); len(kept) != 4 || kept[3].BeginNs != 300 {
		t.Errorf("of drops alone %+v are kept", kept)
	}
}

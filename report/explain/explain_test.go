package explain

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
	"nines.dev/nines/test/golden"
)

// everyKind is a made-up trial with a cause of each kind in its ranking, so that the golden file
// has every sentence and remedy. Nothing in it was measured.
func everyKind() Shown {
	lift := 12.5
	names := map[string]result.Cause{
		attribution.Priority:     {Name: "nines-disturb", Source: "real-time priority 50"},
		attribution.Hog:          {Name: "cc1"},
		attribution.KernelThread: {Name: "kcompactd0"},
		attribution.Workqueue:    {Name: "vmstat_update", Source: "kworker/1:2"},
		attribution.Softirq:      {Name: "NET_RX"},
		attribution.Interrupt:    {Name: "virtio0-input.0"},
		attribution.IPI:          {Name: "call_function_single", Source: "bpftool"},
		attribution.TLBShootdown: {Source: "java"},
		attribution.Tick:         {Name: "tick_nohz_handler"},
		attribution.Timer:        {Name: "timerfd_tmrproc"},
		attribution.Stopped:      {Name: "nines-engine"},
		attribution.Blocked:      {Name: "D"},
		attribution.Forwarder:    {Name: "dut"},
		attribution.Impaired:     {Name: "wire", Source: "delay 5ms"},
	}
	cost, share, each := int64(12_300_000), 0.0123, 345.6
	s := Shown{Schema: Schema, Name: "made-up", Trial: "0001", Slowest: 209, LostEvents: 7, Recorder: Recorder{Events: 40_000, Kept: 1234, CostNs: &cost, Share: &share, PacketNs: &each,
		Against: &result.Traced{On: 6, Off: 5, Figures: []result.TracedFigure{
			{Name: "latency_p50_ns", On: 4100, Off: 3300, Ratio: 4100. / 3300}, {Name: "latency_p99_ns", On: 20_000, Off: 20_000, Ratio: 1}, {Name: "received_pps", On: 99_000, Off: 100_000, Ratio: 0.99}}}},
		Others: []string{"0002", "0003"}, Causes: result.Causes{Slowest: 209, Ordinary: 200,
			Notes: []string{"7 events were lost that should have been kept"}}}
	for i, kind := range attribution.Kinds() {
		c := names[kind]
		c.Kind, c.CPU = kind, 1
		if kind == attribution.Unexplained || kind == attribution.Impaired {
			c.CPU = -1
		}
		s.Causes.Ranking = append(s.Causes.Ranking, result.RankedCause{Cause: c, Packets: 20 - i, Present: 20, TotalNs: 1_234_567, Lift: &lift})
	}
	s.Causes.Ranking[1].Lift = nil
	almost := 1.1
	s.Causes.Ranking[2].Lift = &almost
	details := result.Details{StealNs: 12_000_000, Trace: &result.Trace{Threads: []result.TracedThread{
		{Role: result.RoleSender, Node: "gen", CPU: 0}, {Role: result.RoleForwarder, Node: "dut", CPU: 1}}}}
	Fill(&s.Causes, details)
	hog := result.Cause{Kind: attribution.Hog, Name: strings.Repeat("a thread with a name that never ends ", 5), CPU: 1}
	s.Causes.Packets = []result.PacketCauses{{ID: 7, LatencyNs: 70_000_000_000}, {ID: 4_294_967_295, LatencyNs: 60_000_000_000, Recorded: true, Phases: []result.PhaseCauses{
		{Phase: result.PhaseSend, BeginNs: 0, EndNs: 59_000_000_000, OrdinaryNs: 300, UnexplainedNs: 999_700, Causes: []result.CauseShare{{Cause: hog, Ns: 58_999_000_000}}},
		{Phase: result.PhaseTransit, BeginNs: 59_000_000_000, EndNs: 59_000_000_000},
		{Phase: result.PhaseReceive, BeginNs: 59_000_000_000, EndNs: 60_000_000_000, UnexplainedNs: 1_000_000_000},
	}}}
	return s
}

func TestEverySentenceAndRemedy(t *testing.T) {
	var out bytes.Buffer
	s := everyKind()
	for _, ranked := range s.Causes.Ranking {
		out.WriteString(ranked.Cause.Kind + ": " + ranked.Sentence + "\n    " + ranked.Remedy + "\n")
		if ranked.Sentence == "" || ranked.Remedy == "" {
			t.Errorf("%s has no sentence or no remedy", ranked.Cause.Kind)
		}
	}
	golden.Equal(t, "testdata/sentences.txt", out.Bytes())
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := WriteTable(&out, everyKind()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if width := utf8.RuneCountInString(strings.TrimRight(line, "\n")); width > terminal.Columns {
			t.Errorf("a line has %d columns: %s", width, line)
		}
	}
	golden.Equal(t, "testdata/table.txt", out.Bytes())
}

// TestWitness: the sentence about unexplained time depends on whether steal time was counted.
func TestWitness(t *testing.T) {
	for steal, want := range map[int64]string{0: "no steal time was counted", 5_000_000: "for 5 ms of the trial (steal time)"} {
		causes := result.Causes{Ranking: []result.RankedCause{{Cause: result.Cause{Kind: attribution.Unexplained, CPU: -1}, Packets: 3}}}
		Fill(&causes, result.Details{StealNs: steal})
		if got := causes.Ranking[0].Sentence; !strings.Contains(got, want) {
			t.Errorf("steal %d: %q lacks %q", steal, got, want)
		}
	}
}

// TestNamesDoNotMoveTheCursor: a result may come from elsewhere.
func TestNamesDoNotMoveTheCursor(t *testing.T) {
	s := Shown{Causes: result.Causes{Ranking: []result.RankedCause{{Cause: result.Cause{Kind: attribution.Hog, Name: "\x1b[2J\nx"}, Packets: 1}}}}
	Fill(&s.Causes, result.Details{})
	var out bytes.Buffer
	if err := WriteTable(&out, s); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("%q", out.String())
	}
}

// TestInterruptsBesideWhatIsUnexplained: the sentence mentions interrupts of one kind if they took
// part of most unexplained packets, but not if only one of many had them.
func TestInterruptsBesideWhatIsUnexplained(t *testing.T) {
	call := result.Cause{Kind: attribution.IPI, Name: "call_function_single", Source: "bpftool", CPU: 1}
	for with, want := range map[int]bool{1: false, 3: true} {
		causes := result.Causes{Slowest: 4, Ranking: []result.RankedCause{{Cause: result.Cause{Kind: attribution.Unexplained, CPU: -1}, Packets: 4}}}
		for i := range 4 {
			phase := result.PhaseCauses{UnexplainedNs: 20_000}
			if i < with {
				phase.Causes = []result.CauseShare{{Cause: call, Ns: 11_000}}
			}
			causes.Packets = append(causes.Packets, result.PacketCauses{Recorded: true, Phases: []result.PhaseCauses{phase}})
		}
		Fill(&causes, result.Details{})
		got := causes.Ranking[0].Sentence
		if said := strings.Contains(got, "; 3 of these 4 packets have calls of another CPU from `bpftool` on CPU 1 as well"); said != want {
			t.Errorf("%d of 4: %q", with, got)
		}
	}
}

// TestARemedyIsSaidOnce: the second cause that it helps against refers to the first.
func TestARemedyIsSaidOnce(t *testing.T) {
	s := Shown{Name: "a", Trial: "0001", Causes: result.Causes{Slowest: 2}}
	for _, cpu := range []int{0, 1} {
		s.Causes.Ranking = append(s.Causes.Ranking, result.RankedCause{Cause: result.Cause{Kind: attribution.Hog, Name: "cc1", CPU: cpu}})
	}
	Fill(&s.Causes, result.Details{Trace: &result.Trace{}})
	var out bytes.Buffer
	if err := WriteTable(&out, s); err != nil {
		t.Fatal(err)
	}
	if first := s.Causes.Ranking[0].Remedy; first == "" || strings.Count(out.String(), first[:30]) != 1 || !strings.Contains(out.String(), "What helps is that of 1.") {
		t.Error(out.String())
	}
}

// TestStages: the delays on the way through the kernel, with what was followed.
func TestStages(t *testing.T) {
	p99, most := int64(2_500), int64(3_600_000)
	s := Shown{StagesEvery: 4, Stages: []result.StageDelay{
		{From: "qdisc", To: "driver", Device: "dut:eth0", Delay: result.Percentiles{P99: &p99, Max: &most, Count: 500}},
	}}
	var out bytes.Buffer
	if err := WriteTable(&out, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"of one packet in 4", "dut:eth0", "qdisc", "driver", "500", "2.500", "3600.000"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	s.Stages = append(s.Stages, result.StageDelay{From: "stack", To: "read", Device: "dut:eth0", Guest: "dut", Delay: result.Percentiles{Max: &most, Count: 500}})
	out.Reset()
	if err := WriteTable(&out, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"WHERE", "host       dut:eth0  qdisc  driver", "guest dut  dut:eth0  stack  read", "each by its own clock"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// TestBystandersAreToldApart: a thread's name is that of many processes.
func TestBystandersAreToldApart(t *testing.T) {
	trace := &result.Trace{Bystanders: []result.Bystander{
		{Name: "nines", TID: 7, PID: 6, Command: "nines run lab.yaml", RanNs: 9},
		{Name: "stress", TID: 8, PID: 8, Command: "stress", Lab: "other", RanNs: 8},
		{Name: "nines", TID: 12, PID: 6, Command: "nines run lab.yaml"}, {Name: "nines", TID: 13, PID: 13, Command: "nines watch"},
	}}
	for c, want := range map[result.Cause]string{
		{Kind: attribution.Hog, Name: "nines"}:       " (process 6: nines run lab.yaml; and 1 other)",
		{Kind: attribution.Priority, Name: "stress"}: " (process 8: stress, of lab other)",
		{Kind: attribution.Hog, Name: "sh"}:          "",
		{Kind: attribution.Softirq, Name: "nines"}:   "",
	} {
		if got := bystander(trace, c); got != want {
			t.Errorf("%+v: %q, not %q", c, got, want)
		}
	}
	if bystander(nil, result.Cause{Kind: attribution.Hog, Name: "nines"}) != "" {
		t.Error("an older result")
	}
}

package measure

import (
	"strings"
	"testing"
	"time"

	"nines.dev/nines/host"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/result"
)

// quiet is the evidence of an undisturbed one-second trial.
func quiet() evidence {
	lag := int64(2_000)
	return evidence{
		trial:    result.Trial{TxPackets: 10_000, RxPackets: 10_000, SendLag: result.Percentiles{P50: &lag}},
		details:  result.Details{DurationNs: 1e9, TSC: result.TSC{Constant: true, Nonstop: true}},
		intended: 10_000, duration: time.Second, whole: time.Second,
	}
}

func TestJudge(t *testing.T) {
	lateLag := int64(20 * time.Millisecond)
	tests := []struct {
		name   string
		change func(*evidence)
		want   result.Verdict
		reason string
	}{
		{"undisturbed", func(*evidence) {}, result.Clean, ""},
		{"loss is a finding, not noise", func(e *evidence) { e.trial.RxPackets = 9_000 }, result.Clean, ""},
		{"a few unsent at the very end", func(e *evidence) { e.trial.TxPackets = 9_995 }, result.Clean, ""},
		{"offered too little", func(e *evidence) { e.trial.TxPackets = 9_900 }, result.Invalid, "99.00 %"},
		{"offered too little for want of a CPU", func(e *evidence) { e.trial.TxPackets = 5_000; e.details.WaitedNs = 5e8 }, result.Invalid, "from its CPU for 500ms"},
		{"offered too little, stolen", func(e *evidence) {
			e.trial.TxPackets = 5_000
			e.details.Gaps = []result.GapMeter{{Thread: "loop", TotalNs: 6e8}}
		}, result.Invalid, "taken away for 600ms"},
		{"offered too little, refused", func(e *evidence) { e.trial.TxPackets = 5_000; e.txFailed = 5_000 }, result.Invalid, "refused the rest"},
		{"offered too little, undisturbed", func(e *evidence) { e.trial.TxPackets = 5_000 }, result.Invalid, "too slow for this rate"},
		{"nothing arrived", func(e *evidence) { e.trial.RxPackets = 0 }, result.Invalid, "no packet arrived"},
		{"nothing taken at rate 0", func(e *evidence) { e.intended, e.trial.TxPackets, e.trial.RxPackets = 0, 0, 0 }, result.Invalid, "took none"},
		{"overload is a finding at rate 0", func(e *evidence) { e.trial.TxPackets, e.intended, e.trial.RxPackets = 1e6, 1e6, 1e5 }, result.Clean, ""},
		{"refused for good", func(e *evidence) { e.txFailed = 3 }, result.Invalid, "refused 3 packets"},
		{"two clocks that are kept", func(e *evidence) { e.details.Clocks = &result.Clocks{ErrorNs: 80_000} }, result.Clean, ""},
		{"a clock whose error nobody told", func(e *evidence) { e.details.Clocks = &result.Clocks{ErrorNs: 80, Untold: "b"} }, result.Noisy, "clock of node b is"},
		{"a clock that was lost", func(e *evidence) { e.details.Clocks = &result.Clocks{Lost: "the clock of node b is not synchronised"} }, result.Invalid, "node b is not"},
		{"early by two clocks", func(e *evidence) { e.details.Clocks, e.details.EarlyPackets = &result.Clocks{ErrorNs: 80_000}, 3 }, result.Invalid, "an error of 80µs"},
		{"early by one", func(e *evidence) { e.details.EarlyPackets = 3 }, result.Invalid, "counters of the CPUs"},
		{"behind the schedule throughout", func(e *evidence) { e.trial.SendLag.P50 = &lateLag }, result.Invalid, "20ms after it was due"},
		{"behind by less than a time slice in a short trial", func(e *evidence) {
			lag := int64(5 * time.Millisecond)
			e.trial.SendLag.P50, e.duration, e.whole = &lag, 100*time.Millisecond, 100*time.Millisecond
		}, result.Clean, ""},
		{"interrupted", func(e *evidence) { e.interrupted = true; e.details.DurationNs = 4e8 }, result.Invalid, "interrupted after 400ms of 1s"},
		{"an unusable clock", func(e *evidence) { e.details.TSC.Nonstop = false }, result.Invalid, "time stamp counter"},
		{"clocks that disagree", func(e *evidence) { e.details.EarlyPackets = 2 }, result.Invalid, "2 packets arrived before"},
		{"a switch that died", func(e *evidence) { e.faults = []check.Fault{{Problem: "ovs-vswitchd of link l1 has died"}} }, result.Invalid, "ovs-vswitchd of link l1 has died"},
		{"a host that others have tuned", func(e *evidence) { e.untuned = "another program has changed the host's tuning: x" }, result.Noisy, "another program has changed"},
		{"one long gap", func(e *evidence) {
			e.details.Gaps = []result.GapMeter{{Thread: "loop", CPU: 1, Count: 1, TotalNs: 2e6, MaxNs: 2e6}}
		}, result.Noisy, "loop: CPU 1 was taken away 1 times, 2ms in all, 2ms at the longest: this affects the tail above p99.8"},
		{"a long gap of a thread without a CPU of its own", func(e *evidence) {
			e.details.Gaps = []result.GapMeter{{Thread: "loop", CPU: -1, Count: 1, TotalNs: 2e6, MaxNs: 2e6}}
		}, result.Noisy, "loop: its CPU was taken away 1 times"},
		{"RT throttling", func(e *evidence) {
			e.realTime = host.RealTimeStop{By: host.StopThrottling, Stop: 50 * time.Millisecond, Period: time.Second}
			e.details.Gaps = []result.GapMeter{{Thread: "forward dut", Scheduling: "SCHED_FIFO 5", Count: 1, TotalNs: 48e6, MaxNs: 48_094_959}}
		}, result.Noisy, "forward dut: its SCHED_FIFO 5 thread stood still for 48.09ms at once, which is how RT throttling takes a CPU from"},
		{"the fair server", func(e *evidence) {
			e.realTime = host.RealTimeStop{By: host.StopFairServer, Stop: 50 * time.Millisecond, Period: time.Second}
			e.details.Gaps = []result.GapMeter{{Thread: "loop", Scheduling: "SCHED_RR 1", Count: 1, TotalNs: 30e6, MaxNs: 30e6}}
		}, result.Noisy, "the fair server takes a CPU from"},
		{"many short gaps", func(e *evidence) {
			e.details.Gaps = []result.GapMeter{{Thread: "sink", CPU: 0, Count: 100, TotalNs: 380_000, MaxNs: 5_000}}
		}, result.Noisy, "above p99.96"},
		{"few short gaps", func(e *evidence) {
			e.details.Gaps = []result.GapMeter{{Thread: "sink", CPU: 0, Count: 10, TotalNs: 50_000, MaxNs: 9_000}}
		}, result.Clean, ""},
		{"ordinary wake-ups from idle", func(e *evidence) {
			e.details.Gaps = []result.GapMeter{{Thread: "loop", CPU: 1, Wakes: &result.Wakes{Count: 10_801, TotalNs: 4e8, MaxNs: 210_000}}}
		}, result.Clean, ""},
		{"a wake-up that something held up", func(e *evidence) {
			e.details.Gaps = []result.GapMeter{{Thread: "loop", CPU: 1, Wakes: &result.Wakes{Count: 10_801, TotalNs: 4e8, MaxNs: 2_400_000}}}
		}, result.Noisy, "loop: CPU 1 woke it 2.4ms after its timer at the longest, of 10801 times"},
		{"ordinary switches to a thread that sleeps", func(e *evidence) {
			e.details.Runs, e.details.RunDelayNs = 10_000, 3e7
		}, result.Clean, ""},
		{"other work before some of many switches", func(e *evidence) {
			e.details.Runs, e.details.RunDelayNs, e.details.WaitedNs = 10_000, 3e7, 3e6
		}, result.Noisy, "waited 3ms"},
		{"ordinary wake-ups while others ran", func(e *evidence) {
			e.details.Gaps = []result.GapMeter{{Thread: "loop", CPU: 1, Wakes: &result.Wakes{Count: 10_801, TotalNs: 4e8, MaxNs: 210_000}}}
			e.details.WaitedNs = 3e6
		}, result.Noisy, "waited 3ms"},
		{"steal", func(e *evidence) { e.details.StealNs = 2e7 }, result.Noisy, "hypervisor took 20ms"},
		{"run delay", func(e *evidence) { e.details.WaitedNs = 3e6 }, result.Noisy, "waited 3ms"},
		{"a switch kept from its CPU", func(e *evidence) {
			e.details.Programs = []result.ProgramDelay{{Link: "wire", Kind: "testpmd", RunDelayNs: 2e7}}
		}, result.Noisy, "testpmd of link wire waited 20ms"},
		{"a switch alone on its CPU", func(e *evidence) {
			e.details.Programs = []result.ProgramDelay{{Link: "wire", Kind: "testpmd", RunDelayNs: 2e5}}
		}, result.Clean, ""},
		{"throttled", func(e *evidence) { e.details.ThrottledNs = 1e6 }, result.Noisy, "quota"},
		{"drift either way", func(e *evidence) { e.details.TSC.DriftPPM = -80 }, result.Noisy, "-80 ppm"},
		{"damaged packets", func(e *evidence) { e.details.InvalidPackets = 1 }, result.Noisy, "damaged"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := quiet()
			test.change(&e)
			verdict, reasons := judge(e)
			if verdict != test.want {
				t.Fatalf("verdict %s (%v), want %s", verdict, reasons, test.want)
			}
			if (verdict == result.Clean) != (len(reasons) == 0) {
				t.Errorf("verdict %s has the reasons %q", verdict, reasons)
			}
			if all := strings.Join(reasons, "\n"); !strings.Contains(all, test.reason) {
				t.Errorf("reasons %q do not say %q", all, test.reason)
			}
		})
	}
}

func TestInvalidReasonsComeFirst(t *testing.T) {
	e := quiet()
	e.details.StealNs = 1e8
	e.trial.TxPackets = 1
	_, reasons := judge(e)
	if len(reasons) != 2 || !strings.HasPrefix(reasons[0], "offered") {
		t.Errorf("reasons = %q", reasons)
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{
		0.5: "50", 0.95: "95", 0.998: "99.8", 0.99962: "99.96", 0.999999: "99.9999", 0: "0", -1: "0",
	} {
		if got := percent(share); got != want {
			t.Errorf("percent(%v) = %s, want %s", share, got, want)
		}
	}
}

// The kernel stops only real-time threads, and only for about as long as the mechanism says: other
// gaps have other causes.
func TestGapsOfOtherCauses(t *testing.T) {
	throttling := host.RealTimeStop{By: host.StopThrottling, Stop: 50 * time.Millisecond, Period: time.Second}
	for _, test := range []struct {
		stop       host.RealTimeStop
		scheduling string
		longest    time.Duration
	}{
		{throttling, "SCHED_OTHER, nice 0", 48 * time.Millisecond},
		{throttling, "SCHED_FIFO 5", 3 * time.Millisecond},
		{throttling, "SCHED_FIFO 5", 200 * time.Millisecond},
		{host.RealTimeStop{}, "SCHED_FIFO 5", 48 * time.Millisecond},
	} {
		e := evidence{realTime: test.stop}
		if e.stopped(result.GapMeter{Scheduling: test.scheduling, MaxNs: int64(test.longest)}) {
			t.Errorf("%+v is taken for the kernel's doing", test)
		}
	}
}

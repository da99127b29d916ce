package disturb

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

// injection is a line of the log.
type injection struct {
	Kind    string `json:"kind"`
	CPU     int    `json:"cpu"`
	PID     int    `json:"pid"`
	TID     int    `json:"tid"`
	BeginNs int64  `json:"begin_ns"`
	EndNs   int64  `json:"end_ns"`
	BusyNs  int64  `json:"busy_ns"`
	Events  int64  `json:"events"`
}

func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join("..", "..", "bin", "nines-disturb")
	_, err := os.Stat(path)
	labtest.Require(t, "nines-disturb (make build)", err == nil)
	return path
}

// lastCPU returns a CPU that the test may use, and that nines-disturb can disturb from another one.
func lastCPU(t *testing.T) int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	labtest.Require(t, "two CPUs", set.Count() >= 2)
	for cpu := 4095; ; cpu-- {
		if set.IsSet(cpu) {
			return cpu
		}
	}
}

func monotonic(t *testing.T) int64 {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	return now.Nano()
}

// disturb runs the program to its end and returns its log, after checking what holds for every
// kind.
func disturb(t *testing.T, count int, length time.Duration, arguments ...string) ([]injection, *os.ProcessState) {
	t.Helper()
	arguments = append(arguments, "--count", strconv.Itoa(count), "--length", fmt.Sprintf("%dns", length), "--period", fmt.Sprintf("%dns", 2*length))
	cmd := exec.Command(program(t), arguments...)
	var said bytes.Buffer
	cmd.Stderr = &said
	begun := monotonic(t)
	out, err := cmd.Output()
	ended := monotonic(t)
	if err != nil {
		t.Fatalf("%v: %v: %s", arguments, err, said.String())
	}
	list := parse(t, out)
	if len(list) != count {
		t.Fatalf("%d lines, want %d: %s", len(list), count, out)
	}
	for i, one := range list {
		before := begun
		if i > 0 {
			before = list[i-1].EndNs
		}
		if one.BeginNs < before || one.EndNs-one.BeginNs < int64(length) || one.EndNs > ended || one.Events < 1 || one.TID != cmd.Process.Pid {
			t.Errorf("injection %d of process %d, after %d and before %d, is %+v", i, cmd.Process.Pid, before, ended, one)
		}
	}
	return list, cmd.ProcessState
}

func parse(t *testing.T, out []byte) []injection {
	t.Helper()
	var list []injection
	for line := range bytes.Lines(out) {
		var one injection
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, one)
	}
	return list
}

func total(list []injection, of func(injection) int64) (sum int64) {
	for _, one := range list {
		sum += of(one)
	}
	return sum
}

func events(one injection) int64 { return one.Events }
func busy(one injection) int64   { return one.BusyNs }

// counted returns a CPU's count in a line of /proc/softirqs or /proc/interrupts.
func counted(t *testing.T, path, label string, cpu int) int64 {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "\n")
	column := slices.Index(strings.Fields(head), "CPU"+strconv.Itoa(cpu))
	for line := range strings.Lines(rest) {
		if fields := strings.Fields(line); len(fields) > column+1 && fields[0] == label+":" {
			count, err := strconv.ParseInt(fields[column+1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return count
		}
	}
	t.Fatalf("%s has no %s of CPU %d", path, label, cpu)
	return 0
}

// Events that other work raises prove nothing. Some kinds only need a share of the events, because
// one interrupt may handle several; there the test makes many more events than other work does, and
// a busy host gets some more tries.
func TestKindsRaiseWhatTheySay(t *testing.T) {
	labtest.QuietCore(t)
	labtest.Require(t, "root", os.Geteuid() == 0)
	const tries = 5
	cpu := lastCPU(t)
	for _, test := range []struct {
		kind, path, label string
		length            time.Duration
		// share is the part of the events that the kernel must count.
		share float64
	}{
		{"softirq", "/proc/softirqs", "NET_RX", 300 * time.Microsecond, 1},
		{"ipi", "/proc/interrupts", "CAL", 10 * time.Millisecond, 0.9},
		{"tlb", "/proc/interrupts", "TLB", 10 * time.Millisecond, 0.2},
		{"timers", "/proc/interrupts", "LOC", 10 * time.Millisecond, 0.1},
	} {
		t.Run(test.kind, func(t *testing.T) {
			if test.kind == "ipi" {
				keepBusy(t, cpu)
			}
			var rose, did int64
			for range tries {
				before := counted(t, test.path, test.label, cpu)
				list, _ := disturb(t, 20, test.length, "--kind", test.kind, "--cpu", strconv.Itoa(cpu))
				rose, did = counted(t, test.path, test.label, cpu)-before, total(list, events)
				if float64(rose) >= test.share*float64(did) {
					return
				}
			}
			t.Errorf("%s of CPU %d rose by %d, for %d events", test.label, cpu, rose, did)
		})
	}
}

// keepBusy runs a process that spins on a CPU until the test ends: an idle CPU that polls sees a
// call from another CPU without an interrupt (call_function_single_prep_ipi() in
// kernel/sched/core.c), and the cpuidle governor haltpoll makes it poll nearly always.
func keepBusy(t *testing.T, cpu int) {
	t.Helper()
	cmd := exec.Command(program(t), "--kind", "spin", "--cpu", strconv.Itoa(cpu), "--length", "10s", "--period", "10s")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
}

// The softirq measures its own time: no less than requested, and no more than from its begin to its
// end.
func TestSoftirqLastsAsLongAsAsked(t *testing.T) {
	labtest.QuietCore(t)
	labtest.Require(t, "root", os.Geteuid() == 0)
	for _, length := range []time.Duration{20 * time.Microsecond, 500 * time.Microsecond, 3 * time.Millisecond} {
		list, _ := disturb(t, 10, length, "--kind", "softirq", "--cpu", strconv.Itoa(lastCPU(t)))
		for _, one := range list {
			if packets := (int64(length) + 499_999) / 500_000; one.BusyNs < int64(length) || one.BusyNs > one.EndNs-one.BeginNs || one.Events != packets {
				t.Errorf("%v in %d packets: %+v", length, packets, one)
			}
		}
	}
}

func TestSoftirqLeavesNothing(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	labtest.WholeHost(t)
	look := func() [2]string {
		interfaces, err := net.Interfaces()
		if err != nil {
			t.Fatal(err)
		}
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		var others []string // not the disks of tests beside this one, which build no labs
		for line := range strings.Lines(string(mounts)) {
			if !strings.Contains(line, " "+os.TempDir()+"/") {
				others = append(others, line)
			}
		}
		return [2]string{fmt.Sprint(interfaces), strings.Join(others, "")}
	}
	before := look()
	cmd, _ := started(t, "--kind", "softirq", "--cpu", strconv.Itoa(lastCPU(t)))
	if diff := cmp.Diff(before, look()); diff != "" {
		t.Errorf("while it runs (-want +got):\n%s", diff)
	}
	ends(t, cmd)
	if diff := cmp.Diff(before, look()); diff != "" {
		t.Errorf("when it has ended (-want +got):\n%s", diff)
	}
}

// The CPU time is the process's own, as the kernel counts it after its end.
func TestSpinAndForkTakeTheCPU(t *testing.T) {
	labtest.QuietCore(t)
	for _, kind := range []string{"spin", "fork"} {
		before := forks(t)
		list, state := disturb(t, 10, 2*time.Millisecond, "--kind", kind, "--cpu", strconv.Itoa(lastCPU(t)))
		whole := int64(state.UserTime() + state.SystemTime())
		if took := total(list, busy); took <= 0 || took > whole {
			t.Errorf("%s: says that it took %v of the CPU, and the kernel %v", kind, time.Duration(took), time.Duration(whole))
		}
		if kind == "fork" && forks(t)-before < total(list, events) {
			t.Errorf("%d forks, and the kernel counted %d", total(list, events), forks(t)-before)
		}
	}
}

// forks returns how many processes have been started since boot.
func forks(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	var count int64
	_, line, _ := strings.Cut(string(text), "\nprocesses ")
	if _, err := fmt.Sscan(line, &count); err != nil {
		t.Fatal(err)
	}
	return count
}

func TestRunsWhereAndHowItIsTold(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	cpu := lastCPU(t)
	cmd, _ := started(t, "--kind", "spin", "--cpu", strconv.Itoa(cpu), "--policy", "fifo", "--priority", "7")
	defer ends(t, cmd)
	attr, err := unix.SchedGetAttr(cmd.Process.Pid, 0)
	if err != nil || attr.Policy != unix.SCHED_FIFO || attr.Priority != 7 {
		t.Errorf("its scheduling is %+v, %v", attr, err)
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(cmd.Process.Pid, &set); err != nil || set.Count() != 1 || !set.IsSet(cpu) {
		t.Errorf("it may use %d CPUs, and CPU %d is %v; %v", set.Count(), cpu, set.IsSet(cpu), err)
	}
}

// Each kind is ended once in the middle of a long injection.
func TestEndsOnSIGTERM(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	cpu, victim := strconv.Itoa(lastCPU(t)), strconv.Itoa(sleeper(t))
	for _, kind := range []string{"spin", "fork", "softirq", "ipi", "tlb", "timers", "stop"} {
		target := []string{"--cpu", cpu}
		if kind == "stop" {
			target = []string{"--pid", victim}
		}
		cmd, out := started(t, append(target, "--kind", kind, "--length", "1000s", "--period", "1000s")...)
		ends(t, cmd)
		if list := parse(t, out.Bytes()); len(list) > 1 {
			t.Errorf("%s: %d lines", kind, len(list))
		}
	}
}

func TestEndsWhenNobodyReads(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program(t), "--kind", "spin", "--length", "1us", "--period", "1ms", "--priority", strconv.Itoa(labtest.Nice(t, 0)))
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	read.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// sleeper starts a process that the test may stop.
func sleeper(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// stopped reports whether a process is stopped.
func stopped(t *testing.T, pid int) bool {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(rest, "T")
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("not in 20 s: %s", what)
		}
	}
}

// However nines-disturb ends, the process that it stopped continues.
func TestStopLetsGo(t *testing.T) {
	for _, signal := range []os.Signal{unix.SIGTERM, unix.SIGKILL} {
		victim := sleeper(t)
		cmd, _ := started(t, "--kind", "stop", "--pid", strconv.Itoa(victim), "--length", "1000s", "--period", "1000s")
		await(t, "the process is stopped", func() bool { return stopped(t, victim) })
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		await(t, fmt.Sprintf("it goes on after %v", signal), func() bool { return !stopped(t, victim) })
	}
}

// started starts a disturber and waits until it is ready.
func started(t *testing.T, arguments ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	ready, readyWriter, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close()
	cmd := exec.Command(program(t), append([]string{"--priority", strconv.Itoa(labtest.Nice(t, 0)), "--ready-fd", "3"}, arguments...)...)
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = out, os.Stderr, []*os.File{readyWriter}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	readyWriter.Close()
	if line, err := bufio.NewReader(ready).ReadString('\n'); line != "ok\n" {
		t.Fatalf("%v: it says %q when it is ready: %v, %v", arguments, line, err, cmd.Wait())
	}
	return cmd, out
}

// ends ends it with SIGTERM, and checks that it exits cleanly.
func ends(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %v", cmd.Args, err)
	}
}

func TestWrongCalls(t *testing.T) {
	for _, test := range []struct {
		arguments string
		code      int
		says      string
	}{
		{"", 2, "--kind is missing"},
		{"--kind flood", 2, `there is no kind "flood"`},
		{"--kind stop", 2, "stop needs --pid"},
		{"--kind spin --pid 1", 2, "spin takes no --pid"},
		{"--kind ipi", 2, "ipi needs --cpu"},
		{"--kind tlb", 2, "tlb needs --cpu or --pid"},
		{"--kind spin --from 0", 2, "takes no --from"},
		{"--kind softirq --cpu 0 --from 0", 2, "--from and --cpu are the same"},
		{"--kind spin --length 2s --period 1s", 2, "--length is longer than --period"},
		{"--kind spin --length 0s", 2, `--length cannot be "0s"`},
		{"--kind spin --count many", 2, `--count cannot be "many"`},
		{"--kind spin --policy fifo --priority 0", 2, "fifo or rr with 1 to 99"},
		{"--kind spin more", 2, `"more" is not an option`},
		{"--kind spin --cpu 4095", 3, "run on CPU 4095"},
		{"--kind stop --pid 2147483647 --priority " + strconv.Itoa(labtest.Nice(t, 0)), 1, "cannot reach process 2147483647"},
	} {
		out, err := exec.Command(program(t), strings.Fields(test.arguments)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != test.code || !strings.Contains(string(out), test.says) {
			t.Errorf("%s: %v, says %s; want exit code %d and %q", test.arguments, err, out, test.code, test.says)
		}
	}
	if out, err := exec.Command(program(t), "--help").Output(); err != nil || !strings.Contains(string(out), "examples:") {
		t.Errorf("--help: %v\n%s", err, out)
	}
}

// TestPatternsSpaceTheStarts: how many starts follow the one before within half a period tells the patterns apart, however
// late a busy host runs the program now and then.
func TestPatternsSpaceTheStarts(t *testing.T) {
	for pattern, want := range map[string][2]float64{"constant": {0, 0.2}, "poisson": {0.2, 0.6}, "bursts": {0.6, 0.95}} {
		const period = 20 * time.Millisecond
		out, err := exec.Command(program(t), "--kind", "spin", "--count", "60", "--length", "100us", "--period", period.String(), "--pattern", pattern,
			"--priority", strconv.Itoa(labtest.Nice(t, 0))).Output()
		if err != nil {
			t.Fatal(err)
		}
		list, close := parse(t, out), 0
		for i := 1; i < len(list); i++ {
			if list[i].BeginNs-list[i-1].BeginNs < int64(period)/2 {
				close++
			}
		}
		if share := float64(close) / float64(len(list)-1); share < want[0] || share > want[1] {
			t.Errorf("%s: %.2f of the starts are close to the one before, want %v", pattern, share, want)
		}
	}
}

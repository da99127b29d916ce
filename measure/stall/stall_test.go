package stall

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

func program(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("NINES_LIBEXEC")
	if dir == "" {
		dir = filepath.Join("..", "..", "bin")
	}
	path := filepath.Join(dir, name)
	_, err := os.Stat(path)
	labtest.Require(t, name+" (make build)", err == nil)
	return path
}

// injection is a line of output from nines-disturb.
type injection struct {
	BeginNs int64 `json:"begin_ns"`
	EndNs   int64 `json:"end_ns"`
	BusyNs  int64 `json:"busy_ns"`
}

// disturbed runs nines-disturb during a measurement, and returns what it injected.
func disturbed(t *testing.T, arguments []string, measure func()) []injection {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	var out bytes.Buffer
	c := exec.Command(program(t, "nines-disturb"), append(arguments, "--ready-fd", "3")...)
	c.Stdout, c.Stderr, c.ExtraFiles = &out, os.Stderr, []*os.File{write}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(read).ReadString('\n'); err != nil {
		t.Fatalf("nines-disturb does not begin: %v", err)
	}
	measure()
	_ = c.Process.Signal(os.Interrupt)
	_ = c.Wait() // ended by the signal
	var list []injection
	for line := range strings.Lines(out.String()) {
		var one injection
		if err := json.Unmarshal([]byte(line), &one); err == nil {
			list = append(list, one)
		}
	}
	if len(list) == 0 {
		t.Fatalf("nothing was injected: %s", out.String())
	}
	return list
}

const (
	testDuration = 2 * time.Second
	threshold    = 100_000
)

// TestJitterNamesWhatTookTheCPU: a FIFO thread that takes the CPU for a millisecond, twenty times a
// second, is the first cause of its gaps, for as long as it reports.
func TestJitterNamesWhatTookTheCPU(t *testing.T) {
	labtest.QuietCore(t)
	labtest.Root(t)
	var report Report
	injected := disturbed(t, []string{"--kind", "spin", "--cpu", "1", "--policy", "fifo", "--priority", "50", "--period", "50ms", "--length", "1ms"}, func() {
		var err error
		report, err = Jitter(context.Background(), JitterOptions{CPUs: []int{1}, Online: []int{0, 1}, Duration: testDuration, ThresholdNs: threshold,
			Worst: 200, Priority: 10, Engine: program(t, "nines-engine")})
		if err != nil {
			t.Fatal(err)
		}
	})
	s := report.Subjects[0]
	if s.CPU != 1 || s.TID == 0 || s.Explained == 0 || len(report.Causes) == 0 {
		t.Fatalf("%+v", s)
	}
	if found := blamed(t, &report, &s, injected); found < 20 {
		t.Errorf("%d of %d injections were found in %d gaps", found, len(injected), len(s.outliers))
	}
	checkFolder(t, &report)
	var table strings.Builder
	if err := report.WriteJitter(&table); err != nil || !strings.Contains(table.String(), "nines-disturb") {
		t.Errorf("%v\n%s", err, table.String())
	}
}

// blamed compares a subject's causes with the injections, and returns how many injections lie
// entirely within its stalls. If they make up most of a stall, the disturber must be the first
// cause; and over all such stalls it is blamed for the time that it reports. Its own interruptions
// and the hypervisor do not count for it: so at most the time of the injection, and at least its
// work, within a fifth.
func blamed(t *testing.T, report *Report, s *Subject, injected []injection) (found int) {
	t.Helper()
	var there, worked, had int64
	clear, first := 0, 0
	for i, o := range s.outliers {
		begin, end := report.startedNs+o.IntendedNs, report.startedNs+o.RxNs
		var within, busy int64
		for _, in := range injected {
			if in.BeginNs >= begin && in.EndNs <= end {
				within += in.EndNs - in.BeginNs
				busy += in.BusyNs
				found++
			}
		}
		// If a hypervisor takes the CPU while the disturber has it, before it begins or after it
		// ends, most of the stall is not the disturber's.
		if 3*within <= 2*o.LatencyNs {
			continue
		}
		clear++
		there += within
		worked += busy
		totals := attribution.Totals(s.Causes.Packets[i])
		for _, share := range totals {
			if share.Cause.Name == "nines-disturb" {
				had += share.Ns
			}
		}
		if cause := totals[0].Cause; cause.Kind == attribution.Priority && cause.Name == "nines-disturb" && cause.CPU == 1 {
			first++
		}
	}
	if had > there+there/5 || had < worked-worked/5 {
		t.Errorf("it was there for %d ns, worked for %d, and is blamed for %d", there, worked, had)
	}
	if clear == 0 || 10*first < 9*clear {
		t.Errorf("it is the first cause of %d of the %d stalls that it makes up most of", first, clear)
	}
	return found
}

// checkFolder: the written folder can be explained again, with the same outcome.
func checkFolder(t *testing.T, report *Report) {
	t.Helper()
	page := func(dir string, out io.Writer) error { _, err := io.WriteString(out, dir); return err }
	if err := report.Write(t.TempDir(), "jitter", nil, page); err != nil {
		t.Fatal(err)
	}
	r, err := result.Open(report.Folder)
	if err != nil || len(r.Problems) > 0 || len(r.Summary.Trials) != len(report.Subjects) {
		t.Fatalf("%v, %+v", err, r)
	}
	for i, trial := range r.Summary.Trials {
		folder := r.TrialFolder(trial.ID)
		in := attribution.Input{}
		if in.Details, err = folder.Details(); err != nil {
			t.Fatal(err)
		}
		if in.Slow, err = folder.Outliers(); err != nil {
			t.Fatal(err)
		}
		if in.Events, err = folder.Events(); err != nil {
			t.Fatal(err)
		}
		again, want := attribution.Attribute(in), report.Subjects[i].Causes
		if len(again.Ranking) != len(want.Ranking) {
			t.Fatalf("trial %s has %d causes, and %d when it is explained again", trial.ID, len(want.Ranking), len(again.Ranking))
		}
		for n := range again.Ranking {
			if again.Ranking[n].Cause != want.Ranking[n].Cause || again.Ranking[n].TotalNs != want.Ranking[n].TotalNs {
				t.Errorf("trial %s has %+v, and %+v when it is explained again", trial.ID, want.Ranking[n], again.Ranking[n])
			}
		}
	}
}

// TestAProgramIsToldWhatHadItsCPU: a program computes on a CPU that a FIFO thread takes again and
// again; the report names that thread and the preemptions.
func TestAProgramIsToldWhatHadItsCPU(t *testing.T) {
	labtest.QuietCore(t)
	labtest.Root(t)
	var report Report
	injected := disturbed(t, []string{"--kind", "spin", "--cpu", "1", "--policy", "fifo", "--priority", "50", "--period", "50ms", "--length", "2ms"}, func() {
		// A busy shell, and its child that sleeps and wakes again and again.
		c := exec.Command("taskset", "-c", "1", "sh", "-c", `(while :; do sleep 0.01; done) & while :; do :; done`)
		over := make(chan struct{})
		var err error
		report, err = Program(context.Background(), ProgramOptions{
			Start: func() (int, error) {
				if err := c.Start(); err != nil {
					return 0, err
				}
				go func() { _ = c.Wait(); close(over) }()
				return c.Process.Pid, nil
			},
			Over: over, Duration: testDuration, ThresholdNs: 500_000, Worst: 1000,
		})
		for tid := range threadsOf("/", c.Process.Pid) {
			if child, err := os.FindProcess(tid); err == nil {
				_ = child.Kill()
			}
		}
		<-over
		if err != nil {
			t.Fatal(err)
		}
	})
	var sleeper, shell *Subject
	for i := range report.Subjects {
		switch s := &report.Subjects[i]; s.Name {
		case "sleep":
			sleeper = s
		case "sh":
			if shell == nil || s.RanNs > shell.RanNs { // not the one that only starts sleeps
				shell = s
			}
		}
	}
	if shell == nil || sleeper == nil {
		t.Fatalf("its threads are %+v", report.Subjects)
	}
	if preempted := shell.Stalls[1]; preempted.Kind != "preempted" || preempted.Lengths.Count == 0 || preempted.TotalNs == 0 {
		t.Errorf("it was preempted %+v", preempted)
	}
	if found := blamed(t, &report, shell, injected); found < 20 {
		t.Errorf("%d of %d injections were found in %d stretches", found, len(injected), len(shell.outliers))
	}
	checkFolder(t, &report)
	var table strings.Builder
	if err := report.WriteProgram(&table); err != nil || !strings.Contains(table.String(), "nines-disturb") || !strings.Contains(table.String(), "sleep") {
		t.Errorf("%v\n%s", err, table.String())
	}
}

// TestAProgramThatIsStoppedIsToldSo: SIGSTOP for 20 ms, ten times a second.
func TestAProgramThatIsStoppedIsToldSo(t *testing.T) {
	labtest.Root(t)
	c := exec.Command("sh", "-c", "while :; do :; done")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	var report Report
	injected := disturbed(t, []string{"--kind", "stop", "--pid", strconv.Itoa(c.Process.Pid), "--period", "100ms", "--length", "20ms"}, func() {
		var err error
		if report, err = Program(context.Background(), ProgramOptions{PID: c.Process.Pid, Duration: testDuration, ThresholdNs: 10_000_000, Worst: 200}); err != nil {
			t.Fatal(err)
		}
	})
	if len(report.Subjects) != 1 || report.Subjects[0].Name != "sh" {
		t.Fatalf("its threads are %+v", report.Subjects)
	}
	s := report.Subjects[0]
	begin, end := report.startedNs, report.startedNs+int64(report.Elapsed)
	var within int64
	for _, in := range injected {
		if in.BeginNs >= begin && in.EndNs <= end {
			within += in.EndNs - in.BeginNs
		}
	}
	had := int64(0)
	for _, share := range s.Shares {
		if share.Cause.Kind == attribution.Stopped {
			had += share.Ns
		}
	}
	// One may lie at either end. On a busy host the thread is already off the CPU, or has to wait
	// for it afterwards: that is not the signal's time.
	if had == 0 || had > within+within/5+2*20_000_000 {
		t.Errorf("it was stopped for %d ns, which %d are blamed for: %+v", within, had, s.Shares)
	}
	if stopped := s.Stalls[3]; stopped.Kind != "stopped" || stopped.Lengths.Count == 0 {
		t.Errorf("%+v", s.Stalls)
	}
	var table strings.Builder
	if err := report.WriteProgram(&table); err != nil || !strings.Contains(table.String(), "was stopped by a signal") {
		t.Errorf("%v\n%s", err, table.String())
	}
}

func TestAProgramThatCannotStartIsAnError(t *testing.T) {
	labtest.Root(t)
	missing := errors.New("there is no such program")
	if _, err := Program(context.Background(), ProgramOptions{Worst: 1, Start: func() (int, error) { return 0, missing }}); !errors.Is(err, missing) {
		t.Errorf("%v", err)
	}
}

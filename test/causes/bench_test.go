package causes

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/report/explain"
	"nines.dev/nines/test/labtest"
)

// setup is what differs between the labs of the kinds of disturbance.
type setup struct {
	scheduling string
	// flooded sends more than a forwarder can take.
	flooded bool
	// slowest is how many packets to explain; 0: 200.
	slowest int
	// apart receives in a process of its own on CPU 1, and sends from another one on CPU 0.
	apart bool
	// wait is how the engine waits; empty: spin.
	wait string
}

// prefix is the lab's name prefix on the host, which identifies its engine.
const prefix = "ncause"

// file is the experiment of a setup.
func (s setup) file() string {
	if s.flooded {
		return fmt.Sprintf(`name: causes
prefix: %s
topology:
  nodes:
    gen: {cpus: 1, scheduling: %s}
    dut: {app: {kind: forward, backend: udp, io: single}, scheduling: %s}
  links:
    - {name: in, endpoints: ["gen:tx", "dut:in"], kind: veth}
    - {name: out, endpoints: ["dut:out", "gen:rx"], kind: veth}
traffic: {from: "gen:tx", to: "gen:rx", frame_bytes: 64, rate_pps: 400k, burst: 64, backend: udp, io: batch, wait: block,
          warmup: 100ms, duration: 300ms, drain: 100ms, outliers: 100}
trace: true
tracing: {packets: 100, ordinary: 100, buffer: 64MiB}
`, prefix, s.scheduling, s.scheduling)
	}
	if s.apart {
		return fmt.Sprintf(`name: causes
prefix: %s
topology:
  nodes:
    gen: {cpu_list: "0", scheduling: %s}
    dut: {cpu_list: "1", scheduling: %s}
  links:
    - {name: wire, endpoints: ["gen:tx", "dut:rx"], kind: veth}
traffic: {from: "gen:tx", to: "dut:rx", frame_bytes: 64, rate_pps: 10000, backend: udp, wait: %s,
          warmup: 100ms, duration: 500ms, drain: 50ms, outliers: 200}
trace: true
tracing: {packets: 200}
`, prefix, s.scheduling, s.scheduling, cmp.Or(s.wait, "spin"))
	}
	return fmt.Sprintf(`name: causes
prefix: %s
topology:
  nodes:
    gen: {cpu_list: "1", scheduling: %s}
  links:
    - {name: wire, endpoints: ["gen:tx", "gen:rx"], kind: veth}
traffic: {from: "gen:tx", to: "gen:rx", frame_bytes: 64, rate_pps: 10000, backend: raw, wait: %[4]s,
          warmup: 100ms, duration: 500ms, drain: 50ms, outliers: %[3]d}
trace: true
tracing: {packets: %[3]d}
`, prefix, s.scheduling, cmp.Or(s.slowest, 200), cmp.Or(s.wait, "spin"))
}

// bench runs trials.
type bench struct {
	folder string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	labtest.Root(t)
	b := &bench{folder: t.TempDir()}
	for _, program := range []string{"nines", disturber} {
		_, err := os.Stat(filepath.Join(os.Getenv("NINES_LIBEXEC"), program))
		labtest.Require(t, program+" (make build)", err == nil)
	}
	return b
}

// trial measures under a disturbance, and explains the result.
func (b *bench) trial(t *testing.T, kind injected) (explain.Shown, []injection) {
	t.Helper()
	file := filepath.Join(b.folder, "causes.yaml")
	if err := os.WriteFile(file, []byte(kind.setup.file()), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := func() []injection { return nil }
	disturbs := len(kind.disturb) > 0 || kind.foreign != ""
	if disturbs && !kind.process {
		stop = b.disturb(t, kind, "--cpu", "1")
	}
	run := exec.Command(filepath.Join(os.Getenv("NINES_LIBEXEC"), "nines"), "run", file, "--out", b.folder)
	var said bytes.Buffer
	run.Stdout, run.Stderr = &said, &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	if disturbs && kind.process {
		if pid := awaitEngine(ended); pid != 0 {
			stop = b.disturb(t, kind, "--pid", strconv.Itoa(pid))
		}
	}
	err := <-ended
	log := stop()
	// A trial that the injections made invalid is explained all the same.
	if code := run.ProcessState.ExitCode(); err != nil && code != 1 || strings.Contains(said.String(), "missing:") {
		t.Fatalf("nines run: %v\n%s", err, said.String())
	}
	explained := exec.Command(filepath.Join(os.Getenv("NINES_LIBEXEC"), "nines"), "explain", filepath.Join(b.folder, "latest"), "--worst", "1000", "--format", "json")
	explained.Stderr = &said
	out, err := explained.Output()
	if err != nil {
		t.Fatalf("nines explain: %v\n%s", err, said.String())
	}
	var shown explain.Shown
	if err := json.Unmarshal(out, &shown); err != nil {
		t.Fatal(err)
	}
	return shown, log
}

// awaitEngine waits for the engine of the lab; 0 if the run ends first.
func awaitEngine(ended chan error) int {
	for {
		select {
		case err := <-ended:
			ended <- err
			return 0
		case <-time.After(2 * time.Millisecond):
			if pid := engine(); pid != 0 {
				return pid
			}
		}
	}
}

// disturb starts the disturbance, which takes up to a second, and returns a function that ends it.
func (b *bench) disturb(t *testing.T, kind injected, whom ...string) func() []injection {
	t.Helper()
	ready, tell, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close()
	command := exec.Command(filepath.Join(os.Getenv("NINES_LIBEXEC"), disturber), slices.Concat(kind.disturb, whom, []string{"--ready-fd", "3"})...)
	if kind.foreign != "" {
		target := whom[1]
		if kind.target != "" {
			target = kind.target
		}
		command = exec.Command(b.foreign(t, kind.foreign), append([]string{target}, kind.arguments...)...)
	}
	command.ExtraFiles = []*os.File{tell}
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	err = command.Start()
	tell.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(ready); err != nil {
		t.Fatal(err)
	}
	return func() []injection {
		_ = command.Process.Signal(os.Interrupt)
		// With --pid it ends with the process.
		if err := command.Wait(); err != nil && !kind.process {
			t.Errorf("%s: %v\n%s", command, err, said.String())
		}
		log, err := readLog(&out)
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
}

// engine returns the process that sends and receives the lab's packets, or 0.
func engine() int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		name, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "comm"))
		if err != nil || strings.TrimSpace(string(name)) != "nines-engine" {
			continue
		}
		groups, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cgroup"))
		if err == nil && strings.Contains(string(groups), "/"+prefix) {
			return pid
		}
	}
	return 0
}

// injection is a line of nines-disturb's log.
type injection struct {
	BeginNs int64 `json:"begin_ns"`
	EndNs   int64 `json:"end_ns"`
	BusyNs  int64 `json:"busy_ns"`
	Events  int64 `json:"events"`
}

func readLog(r io.Reader) ([]injection, error) {
	var log []injection
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var one injection
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%s: %w", lines.Text(), err)
		}
		log = append(log, one)
	}
	return log, lines.Err()
}

// overlap returns how much of a period lies in injections.
func overlap(log []injection, begin, end int64) (ns int64) {
	for _, i := range log {
		ns += max(0, min(end, i.EndNs)-max(begin, i.BeginNs))
	}
	return ns
}

// foreign compiles a disturber that is not nines' own, once.
func (b *bench) foreign(t *testing.T, name string) string {
	t.Helper()
	program := filepath.Join(b.folder, name)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	compiler, err := exec.LookPath("cc")
	labtest.Require(t, "cc", err == nil)
	out, err := exec.Command(compiler, "-O2", "-pthread", "-o", program, filepath.Join("foreign", name+".c")).CombinedOutput()
	if err != nil {
		t.Fatalf("compile %s: %v\n%s", name, err, out)
	}
	return program
}

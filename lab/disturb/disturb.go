package disturb

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// mark begins the Name of a disturbance's step in the journal. The step belongs to no node
// or link: the disturbance runs on the host and represents the host's other work.
const mark = "nines-disturb "

// Injection is one occurrence of a disturbance, in nanoseconds of CLOCK_MONOTONIC.
type Injection struct {
	BeginNs int64 `json:"begin_ns"`
	EndNs   int64 `json:"end_ns"`
	// BusyNs is the CPU time that it took; 0 where unknown.
	BusyNs int64 `json:"busy_ns"`
	// Events is the number of forks, packets, interrupts, flushes or timers.
	Events uint64 `json:"events"`
}

// State is a disturbance as it is now.
type State struct {
	plan.Disturbance
	PID   int  `json:"pid"`
	Alive bool `json:"alive"`
	// LastLines are the last lines of output of a dead one.
	LastLines string `json:"last_lines,omitempty"`
}

// Maker starts the disturbances of a lab.
type Maker struct {
	*running.Lab
	Journal *journal.Journal
	// Program is nines-disturb.
	Program string
	// Measured is true for a lab that this process measures.
	Measured bool
}

// Start starts the plan's disturbances that are not running already.
func (m Maker) Start(ctx context.Context) error {
	there, err := processes(m.Lab)
	if err != nil {
		return err
	}
	for _, d := range m.Plan().Disturbances {
		if _, is := there[d.Name]; is || m.Stopped(d.Node) {
			continue
		}
		if err := m.start(ctx, d); err != nil {
			return fmt.Errorf("disturb.%s: %w", d.Name, err)
		}
	}
	return nil
}

func (m Maker) start(ctx context.Context, d plan.Disturbance) error {
	argv := arguments(d)
	if d.Node != "" {
		engine, err := m.EngineOf(d.Node)
		if err != nil {
			return err
		}
		argv = append(argv, "--pid", strconv.Itoa(engine.PID))
	}
	if err := os.MkdirAll(m.State().Disturbances(), 0o700); err != nil {
		return err
	}
	token := m.Journal.Token("disturb/" + d.Name)
	step := journal.Step{Name: mark + d.Name, Token: token}
	return process.Make(m.Journal, step, func() (proc.Identity, error) {
		return m.run(ctx, d.Name, token, argv)
	})
}

// arguments are the arguments of nines-disturb, except the process to stop.
func arguments(d plan.Disturbance) []string {
	argv := []string{"--kind", string(d.Kind), "--period", nanoseconds(d.Period), "--length", nanoseconds(d.Length), "--pattern", string(d.Pattern)}
	if d.CPU >= 0 {
		argv = append(argv, "--cpu", strconv.Itoa(d.CPU))
	}
	if d.From >= 0 {
		argv = append(argv, "--from", strconv.Itoa(d.From))
	}
	if s := d.Scheduling; s != nil {
		priority := s.Nice
		if s.Policy.RealTime() {
			priority = s.Priority
		}
		argv = append(argv, "--policy", string(s.Policy), "--priority", strconv.Itoa(priority))
	}
	return argv
}

func nanoseconds(d spec.Duration) string { return strconv.FormatInt(int64(d), 10) + "ns" }

// run starts nines-disturb and returns just before the first disturbance. Only a lab that
// is measured keeps its log, as nothing else would ever shorten the log.
func (m Maker) run(ctx context.Context, name, token string, argv []string) (proc.Identity, error) {
	said, err := os.Create(outputOf(m.Lab, name))
	if err != nil {
		return proc.Identity{}, err
	}
	defer said.Close()
	path := os.DevNull
	if m.Measured {
		path = logOf(m.Lab, name)
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return proc.Identity{}, err
	}
	defer log.Close()
	cmd := exec.Command(m.Program, append(argv, "--ready-fd", "3")...)
	cmd.Dir = "/"
	cmd.Env = []string{"NINES_TOKEN=" + token, "NINES_DISTURBANCE=" + m.Plan().Prefix + "-" + name}
	cmd.Stdout, cmd.Stderr = log, said
	id, err := proc.Start(ctx, cmd, proc.ReadyOnExtraFile)
	var ended *proc.EndedError
	if errors.As(err, &ended) {
		err = startError(ended.Err, node.LastLines(outputOf(m.Lab, name)))
	}
	return id, err
}

// startError is the error of a disturber that did not start; its exit code 3 means that the
// host lacks something.
func startError(failed error, said string) error {
	said = strings.TrimPrefix(said, "nines-disturb: ")
	var ended *exec.ExitError
	if errors.As(failed, &ended) && ended.ExitCode() == 3 {
		return &exit.MissingError{Capability: "disturb", Reason: said, Remedy: "use another kind or CPU, or remove disturb"}
	}
	return fmt.Errorf("nines-disturb: %w: %s", failed, said)
}

func logOf(l *running.Lab, name string) string {
	return filepath.Join(l.State().Disturbances(), name+".jsonl")
}

func outputOf(l *running.Lab, name string) string {
	return filepath.Join(l.State().Disturbances(), name+".log")
}

// disturbers are the running disturbances' processes, by the names in the plan.
func processes(l *running.Lab) (map[string]proc.Identity, error) {
	if len(l.Plan().Disturbances) == 0 {
		return nil, nil
	}
	j, err := journal.Read(l.State().Journal())
	if err != nil {
		return nil, err
	}
	found := map[string]proc.Identity{}
	for _, entry := range j.Entries() {
		if name, is := strings.CutPrefix(entry.Name, mark); is && IsStep(entry) && entry.Learnt != nil {
			found[name] = process.Of(entry)
		}
	}
	return found, nil
}

// IsStep is true for the step of a disturbance.
func IsStep(e journal.Entry) bool {
	return e.Kind == process.Kind && strings.HasPrefix(e.Name, mark)
}

// States are the plan's disturbances and their current state.
func States(l *running.Lab) ([]State, error) {
	running, err := processes(l)
	if err != nil {
		return nil, err
	}
	var list []State
	for _, d := range l.Plan().Disturbances {
		id := running[d.Name]
		s := State{Disturbance: d, PID: id.PID, Alive: id.PID != 0 && id.Alive()}
		if !s.Alive {
			s.LastLines = node.LastLines(outputOf(l, d.Name))
		}
		list = append(list, s)
	}
	return list, nil
}

// Faults says which disturbances have ended.
func Faults(l *running.Lab) ([]check.Fault, error) {
	states, err := States(l)
	var faults []check.Fault
	for _, s := range states {
		if s.Alive || l.Stopped(s.Node) {
			continue
		}
		fault := fmt.Sprintf("disturb.%s has ended (process %d)", s.Name, s.PID)
		if s.LastLines != "" {
			fault += "; its last output was: " + s.LastLines
		}
		faults = append(faults, check.Fault{
			Of: "disturb." + s.Name, Part: "disturb." + s.Name, Problem: fault, Remedy: check.DisturbAgain, Target: s.Name,
		})
	}
	return faults, err
}

// TakeInjections returns the injections of a disturbance in a span of CLOCK_MONOTONIC, and discards
// them and all before. Only a lab that is measured records them.
func TakeInjections(l *running.Lab, name string, fromNs, toNs int64) ([]Injection, error) {
	file, err := os.OpenFile(logOf(l, name), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var list []Injection
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var i Injection
		if err := json.Unmarshal(lines.Bytes(), &i); err != nil {
			return nil, fmt.Errorf("read %s: %w", file.Name(), err)
		}
		if i.EndNs > fromNs && i.BeginNs < toNs {
			list = append(list, i)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", file.Name(), err)
	}
	// The writer uses O_APPEND, so it continues at the new end.
	return list, file.Truncate(0)
}

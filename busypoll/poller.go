package busypoll

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/spec"
)

// PollerStep is the Name of a poller's step in a journal.
const PollerStep = "nines-poller"

// lacksExit is nines-poller's exit code for what the kernel does not have.
const lacksExit = 3

// busyPoll starts a thread that polls the devices all the time.
func (s Site) busyPoll(ctx context.Context, r Request, run *Running, devices []device) error {
	mechanism, why, err := Choose(s.Features, r.Mechanism)
	if err != nil {
		return err
	}
	run.Mechanism, run.Why = string(mechanism), why
	run.noteThrottling(r)
	if len(r.CPUs) == 0 {
		return errors.New("busy polling needs a CPU to poll on")
	}
	if err := s.useNAPI(run, devices); err != nil {
		return err
	}
	switch mechanism {
	case spec.PollIOUring:
		return s.pollByIOUring(ctx, r, run, devices)
	case spec.PollEpoll:
		return s.pollByEpoll(ctx, r, run, devices)
	case spec.PollNetlink:
		err = s.pollByNetlink(r, run, devices)
	case spec.PollLivepatch:
		err = s.pollByLivepatch(ctx, r, run, devices)
	default:
		err = fmt.Errorf("mechanism %q is not available here", mechanism)
	}
	if err != nil {
		return err
	}
	return s.guard(ctx, r, run)
}

// noteThrottling notes what the kernel does to real-time threads.
func (run *Running) noteThrottling(r Request) {
	if r.Scheduling == nil || !r.Scheduling.Policy.RealTime() {
		return
	}
	if share, err := os.ReadFile("/proc/sys/kernel/sched_rt_runtime_us"); err == nil && string(bytes.TrimSpace(share)) != "-1" {
		run.note("threads of a real-time policy may be stopped for a part of each second (sysctl kernel.sched_rt_runtime_us is %s); packets wait meanwhile", bytes.TrimSpace(share))
	}
}

// guard starts a watchdog for the kernel's own threads that poll or receive, if their
// policy allows them to starve the softirqs of their CPU.
func (s Site) guard(ctx context.Context, r Request, run *Running) error {
	if r.Scheduling == nil || !r.Scheduling.Policy.RealTime() {
		return nil
	}
	argv := []string{"guard"}
	cpus := r.CPUs
	guarded := 0
	for _, tid := range run.kernelThreads() {
		placement, err := napi.PlacementOf(tid)
		if err != nil {
			return err
		}
		if len(r.CPUs) == 0 { // the scheduler chooses
			cpus = placement.CPUs
		}
		for _, cpu := range placement.CPUs { // it may starve any of those
			if guarded++; guarded <= mostGuarded {
				argv = append(argv, "--thread", fmt.Sprintf("%d@%d", tid, cpu))
			}
		}
	}
	if guarded > mostGuarded {
		run.note("only the first %d threads and CPUs are watched, of %d: give the threads no real-time policy, or fewer CPUs", mostGuarded, guarded)
	}
	if guarded == 0 && !s.DryRun {
		return nil
	}
	argv = append(argv, "--scheduling", schedulingText(r.Scheduling))
	if len(cpus) > 0 { // a dry run cannot know them
		argv = append(argv, "--cpus", cpuList(cpus[:min(len(cpus), mostGuarded)]))
	}
	var err error
	run.Guard, err = s.startPoller(ctx, run, argv)
	return err
}

// mostGuarded is the number of threads in the statistics of nines-poller (statistics.h).
const mostGuarded = 64

// pollByNetlink makes the kernel's own threads poll without sleeping.
func (s Site) pollByNetlink(r Request, run *Running, devices []device) error {
	if err := s.list(run); err != nil {
		return err
	}
	if r.Scheduling == nil {
		r.Scheduling = &spec.Scheduling{Policy: spec.SchedulingIdle}
	}
	if r.Adaptive {
		run.note("the polling threads are the kernel's, which never sleep: adaptive has no effect")
	}
	for i, d := range devices {
		for _, instance := range run.Interfaces[i].NAPIs {
			if err := s.set(run, i, d, napi.ThreadedOf(instance.ID), "2"); err != nil {
				return err
			}
		}
		if err := s.placeThreads(r, run, i, d, nil); err != nil {
			return err
		}
	}
	return nil
}

// pollByIOUring starts a poller with a ring on each CPU.
func (s Site) pollByIOUring(ctx context.Context, r Request, run *Running, devices []device) error {
	named, err := s.nameDevices(devices)
	if err != nil {
		return err
	}
	if r.Shared {
		run.note("the polling threads share their CPUs, so interrupts stay on: softirqs receive packets while other threads have the CPUs")
	} else if err := s.keepInterruptsOff(run, devices); err != nil {
		return err
	}
	if err := s.list(run); err != nil {
		return err
	}
	argv := append(s.pollArguments(r, run, spec.PollIOUring), named...)
	run.Poller, err = s.startPoller(ctx, run, argv)
	return err
}

func (s Site) pollArguments(r Request, run *Running, mechanism spec.PollMechanism) []string {
	if run.Scheduling == "" {
		run.Scheduling = "idle:0"
	}
	argv := []string{"poll", "--mechanism", string(mechanism), "--cpus", cpuList(r.CPUs), "--scheduling", run.Scheduling}
	for _, i := range run.Interfaces {
		for _, instance := range i.NAPIs {
			argv = append(argv, "--napi", strconv.FormatUint(uint64(instance.ID), 10))
		}
	}
	if r.Adaptive {
		longest := r.Longest
		if longest == 0 {
			longest = defaultLongest
		}
		argv = append(argv, "--longest", strconv.FormatInt(max(longest.Microseconds(), 1), 10))
	}
	// The devices are found there, and with the namespace the poller ends in any case. With Watch
	// startPoller adds it to whatever it starts.
	if !s.Watch {
		argv = append(argv, "--netns", s.Namespace.Path())
	}
	return argv
}

func cpuList(cpus []int) string {
	words := make([]string, len(cpus))
	for i, cpu := range cpus {
		words[i] = strconv.Itoa(cpu)
	}
	return strings.Join(words, ",")
}

// What ends the names of the files that a poller writes into its folder.
const (
	statisticsEnd = ".statistics"
	logEnd        = ".poller.log"
)

// written are the names of the files that a poller writes.
func written(name string) []string { return []string{name + statisticsEnd, name + logEnd} }

// startPoller starts nines-poller and returns when it polls. The journal has the step
// before the process starts, with a token among its arguments. A dry run starts none.
func (s Site) startPoller(ctx context.Context, run *Running, argv []string) (*Poller, error) {
	poller := &Poller{
		Statistics: filepath.Join(s.Dir, s.Name+statisticsEnd),
		Log:        filepath.Join(s.Dir, s.Name+logEnd),
	}
	argv = append(argv, "--statistics", poller.Statistics)
	for _, group := range s.Groups {
		argv = append(argv, "--cgroup", group)
	}
	if s.Watch {
		argv = append(argv, "--netns", s.Namespace.Path())
	}
	run.step("start nines-poller %s", strings.Join(argv, " "))
	if s.DryRun {
		return nil, nil
	}
	token := s.Journal.Token("poller/" + s.Name)
	argv = append(argv, "--token", token)
	step := journal.Step{Node: s.Node, Name: PollerStep, Token: token}
	err := process.Make(s.Journal, step, func() (id proc.Identity, err error) {
		poller.Identity, err = s.runPoller(ctx, poller.Log, argv)
		return poller.Identity, err
	})
	if err != nil {
		return nil, err
	}
	return poller, nil
}

func (s Site) runPoller(ctx context.Context, logPath string, argv []string) (proc.Identity, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return proc.Identity{}, err
	}
	defer log.Close()
	cmd := exec.Command(s.Program, argv...)
	cmd.Dir, cmd.Env, cmd.Stderr = "/", []string{}, log
	id, err := proc.Start(ctx, cmd, proc.ReadyOnStdout)
	var ended *proc.EndedError
	if !errors.As(err, &ended) {
		return id, err
	}
	text, _ := os.ReadFile(logPath)
	said := strings.TrimPrefix(string(bytes.TrimSpace(text)), "nines-poller: ")
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) && ended.ExitCode() == lacksExit {
		return proc.Identity{}, &exit.MissingError{Capability: "busy polling", Reason: said, Remedy: "choose another mechanism, or rx: threaded or awake"}
	}
	return proc.Identity{}, fmt.Errorf("nines-poller: %s", said)
}

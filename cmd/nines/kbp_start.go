package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"nines.dev/nines/busypoll"
	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

// kbpStartCall holds the options of nines kbp start.
type kbpStartCall struct {
	name       string
	pid        int
	netns      string
	container  string
	interfaces []string
	rx         string
	mechanism  string
	cpus       string
	policy     string
	adaptive   bool
	longest    time.Duration
	dryRun     bool
	format     string
	// given reports whether an option is on the command line.
	given func(option string) bool
}

// kbpOptions are the options that only some ways of receiving use, with these ways.
var kbpOptions = []struct {
	name string
	ways []string
}{
	{"interface", []string{"busy_poll", "threaded", "suspend"}},
	{"mechanism", []string{"busy_poll"}},
	{"cpu", []string{"busy_poll", "threaded", "awake"}},
	{"policy", []string{"busy_poll", "threaded", "awake"}},
	{"adaptive", []string{"busy_poll"}},
	{"longest", []string{"busy_poll"}},
}

// The range of --longest, the same as that of polling.longest in an experiment file.
const (
	leastLongest = time.Microsecond
	mostLongest  = 10 * time.Millisecond
)

func newKbpStartCommand() *cobra.Command {
	call := kbpStartCall{}
	c := &cobra.Command{
		Use:   "start",
		Short: "Poll the devices of a container until 'nines kbp stop'",
		Long: `Change how a running container receives packets, without changing what runs in it. Name
the container (nines asks docker, podman, lxc and crictl), a process in it, or its
network namespace. For a Kubernetes pod, name any process in it.

--rx chooses how. busy_poll: a thread polls the interfaces all the time, so the kernel
raises no receive softirq. threaded: kernel threads receive. awake: only keep the
application's CPUs from going idle. suspend: for applications that poll with epoll.
nines chooses the polling mechanism from what the kernel offers; --mechanism overrides
that. A polling CPU is busy all the time: it costs a core and its power. awake costs
power only. docs/busy-polling.md has the mechanisms, figures and traps.

nines makes a veth pair use NAPI: GRO on in the container, TSO off at the other end. It
writes every change down before making it, and nines kbp stop restores exactly the old
state, also after a crash. When the container ends, polling ends too.`,
		Example: `  nines kbp start --container web --cpu 3
  nines kbp start --pid 4711 --interface eth0 --cpu 2,3 --policy fifo:10
  nines kbp start --netns blue --rx awake --cpu 1
  nines kbp start --container docker:web --cpu 3 --adaptive --longest 100us
  nines kbp start --container web --cpu 3 --dry-run
  nines kbp status
  nines kbp stop web`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			call.given = c.Flags().Changed
			return call.start(c.Context(), c.OutOrStdout())
		},
	}
	f := c.Flags()
	f.StringVar(&call.container, "container", "", "the container's name or id, or RUNTIME:NAME; without RUNTIME the first runtime that knows it")
	f.IntVar(&call.pid, "pid", 0, "a process in the container")
	f.StringVar(&call.netns, "netns", "", "the container's network namespace: a name of 'ip netns', or a path")
	f.StringVar(&call.name, "name", "", "a name for status and stop (default: the container's)")
	f.StringArrayVar(&call.interfaces, "interface", nil, "poll only this interface (repeatable; default: all that are up)")
	f.StringVar(&call.rx, "rx", string(spec.ReceiveBusyPoll), "busy_poll, threaded, awake or suspend")
	f.StringVar(&call.mechanism, "mechanism", string(spec.PollAuto), "what polls: auto, netlink, livepatch, io_uring or epoll")
	f.StringVar(&call.cpus, "cpu", "", "CPUs for the polling threads, or to keep awake, such as 3 or 2-3")
	f.StringVar(&call.policy, "policy", "", "the threads' policy: idle, other[:NICE], batch[:NICE], fifo:N or rr:N (default idle; threaded: the kernel's)")
	f.BoolVar(&call.adaptive, "adaptive", false, "sleep for longer and longer while no packets arrive")
	f.DurationVar(&call.longest, "longest", 50*time.Microsecond, "with --adaptive: the longest sleep, and so the longest wait of the first packet after a pause; 1us to 10ms")
	f.BoolVar(&call.dryRun, "dry-run", false, "show what would be done, and do nothing")
	command.FormatFlag(c, &call.format)
	return c
}

// target returns a description of what the user named, a default name, and the namespace's path.
func (k *kbpStartCall) target(ctx context.Context) (target, name, path string, err error) {
	given := 0
	for _, is := range []bool{k.pid != 0, k.netns != "", k.container != ""} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return "", "", "", exit.Wrongf("name the container by one of --container, --pid and --netns")
	case k.pid < 0:
		return "", "", "", exit.Wrongf("--pid %d: not a process id", k.pid)
	case k.pid != 0:
		return fmt.Sprintf("process %d", k.pid), fmt.Sprintf("pid-%d", k.pid), busypoll.PathOfPID(k.pid), nil
	case k.netns != "":
		if path, err = busypoll.NamespacePath(k.netns); err != nil {
			return "", "", "", exit.Wrongf("--netns: %w", err)
		}
		return "netns " + k.netns, filepath.Base(k.netns), path, nil
	}
	if k.pid, err = busypoll.ContainerPID(ctx, k.container); err != nil {
		return "", "", "", err
	}
	_, bare, found := strings.Cut(k.container, ":")
	if !found {
		bare = k.container
	}
	return "container " + k.container, bare, busypoll.PathOfPID(k.pid), nil
}

// notInNames matches characters that a session's name cannot have.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

func (k *kbpStartCall) request() (r busypoll.Request, err error) {
	ways := []spec.Receive{spec.ReceiveBusyPoll, spec.ReceiveThreaded, spec.ReceiveAwake, spec.ReceiveSuspend}
	if r.Receive = spec.Receive(k.rx); !slices.Contains(ways, r.Receive) {
		return r, exit.Wrongf("unknown --rx %q; allowed: busy_poll, threaded, awake, suspend", k.rx)
	}
	mechanisms := []spec.PollMechanism{spec.PollAuto, spec.PollNetlink, spec.PollLivepatch, spec.PollIOUring, spec.PollEpoll}
	if r.Mechanism = spec.PollMechanism(k.mechanism); !slices.Contains(mechanisms, r.Mechanism) {
		return r, exit.Wrongf("unknown --mechanism %q; allowed: auto, netlink, livepatch, io_uring, epoll", k.mechanism)
	}
	for _, option := range kbpOptions {
		if k.given(option.name) && !slices.Contains(option.ways, k.rx) {
			return r, exit.Wrongf("--%s does nothing with --rx %s: remove it; it requires --rx %s", option.name, k.rx, strings.Join(option.ways, ", "))
		}
	}
	if k.longest < leastLongest || k.longest > mostLongest {
		return r, exit.Wrongf("--longest %v: write a time from 1us to 10ms, such as 50us; a thread that sleeps longer is no longer polling", k.longest)
	}
	if k.given("longest") && !k.adaptive {
		return r, exit.Wrongf("--longest requires --adaptive: add --adaptive, or remove --longest")
	}
	if k.adaptive && r.Mechanism == spec.PollNetlink {
		return r, exit.Wrongf("--adaptive does nothing with --mechanism netlink, whose threads are the kernel's and never sleep: remove one of the two")
	}
	if r.Scheduling, err = parsePolicy(k.policy); err != nil {
		return r, exit.Wrongf("--policy: %w", err)
	}
	if s := r.Scheduling; s != nil && s.Policy.RealTime() && s.Priority > highestPolling {
		return r, exit.Wrongf("--policy %s: nothing could stop threads of that priority; write %s:%d or less", k.policy, s.Policy, highestPolling)
	}
	if r.Receive == spec.ReceiveAwake && r.Scheduling != nil && r.Scheduling.Policy != spec.SchedulingIdle {
		return r, exit.Wrongf("--policy: threads that keep CPUs awake use the policy idle, so that all other work runs first")
	}
	r.Interfaces, r.Adaptive, r.Longest = k.interfaces, k.adaptive, k.longest
	return r, nil
}

// highestPolling leaves the highest real-time priority to threads that must run before pollers: the
// watchdog, and with epoll the kernel's threads.
const highestPolling = 98

// parsePolicy parses "idle", "other:-5" or "fifo:50"; empty is nil.
func parsePolicy(text string) (*spec.Scheduling, error) {
	if text == "" {
		return nil, nil
	}
	name, value, found := strings.Cut(text, ":")
	if !found {
		value = "0"
	}
	if _, err := napi.ParsePlacement(name + ":" + value); err != nil {
		return nil, fmt.Errorf("%q is not a policy as idle, other:-5, or fifo:50", text)
	}
	number, err := strconv.Atoi(value)
	s := &spec.Scheduling{Policy: spec.SchedulingPolicy(name)}
	if s.Policy.RealTime() {
		s.Priority = number
	} else {
		s.Nice = number
	}
	return s, err
}

// chooseCPUs returns the requested CPUs, or those that follow from the process.
func (k *kbpStartCall) chooseCPUs(receive spec.Receive) ([]int, error) {
	if k.cpus != "" {
		inv, err := host.Read()
		if err != nil {
			return nil, err
		}
		return chosenCPUs("--cpu", k.cpus, inv)
	}
	if receive == spec.ReceiveSuspend || receive == spec.ReceiveThreaded {
		return nil, nil // suspend: the application's own CPUs; threaded: the scheduler's choice
	}
	var allowed unix.CPUSet
	if k.pid > 0 && unix.SchedGetaffinity(k.pid, &allowed) == nil && allowed.Count() == 1 {
		for cpu := 0; ; cpu++ {
			if allowed.IsSet(cpu) {
				return []int{cpu}, nil
			}
		}
	}
	return nil, exit.Wrongf("--cpu is missing: name the CPU to poll on, one with little other work; with --rx awake the application's CPU")
}

func (k *kbpStartCall) start(ctx context.Context, out io.Writer) error {
	request, err := k.request()
	if err != nil {
		return err
	}
	target, name, path, err := k.target(ctx)
	if err != nil {
		return err
	}
	if request.CPUs, err = k.chooseCPUs(request.Receive); err != nil {
		return err
	}
	if k.name != "" {
		name = k.name
	} else {
		name = strings.TrimLeft(notInNames.ReplaceAllString(name, "-"), "-._")
	}
	if err := busypoll.CheckName(name); err != nil {
		return exit.With(exit.Wrong, err)
	}
	if err := needRoot("changing how a container receives"); err != nil {
		return err
	}
	program, err := node.Program("nines-poller")
	if err != nil {
		return err
	}
	ns, err := busypoll.OpenNamespace(path)
	if err != nil {
		return err
	}
	defer ns.Close()
	if k.dryRun {
		return k.dry(ctx, out, ns, program, request)
	}
	record, err := busypoll.Session{Root: state.Root(), Name: name}.Start(ctx, ns, busypoll.Begin{
		Target: target, User: whoAmI(), Program: program, Request: request,
	})
	if err != nil {
		return err
	}
	return command.PrintAs(out, k.format, record, writeKbpStarted)
}

func (k *kbpStartCall) dry(ctx context.Context, out io.Writer, ns *netns.Namespace, program string, request busypoll.Request) error {
	site := busypoll.Site{
		Journal: &journal.Journal{}, Namespace: ns, Watch: true, Program: program, Dir: "STATE", Name: "poller",
		Features: busypoll.Probe(), DryRun: true,
	}
	run, err := site.Start(ctx, request)
	if err != nil {
		return err
	}
	if k.format == "json" {
		return command.WriteJSON(out, run)
	}
	return writeLines(out, slices.Concat([]string{fmt.Sprintf("by %s: %s", run.Mechanism, run.Why)}, run.Steps, kbpNotes(run)))
}

// kbpNotes returns the costs of polling, as lines.
func kbpNotes(run *busypoll.Running) []string {
	var lines []string
	for _, note := range run.Notes {
		lines = append(lines, "Note: "+note+".")
	}
	return lines
}

func writeKbpStarted(out io.Writer, r *busypoll.Record) error {
	var b strings.Builder
	run := r.Running
	terminal.Printf(&b, "%s: %s by %s, %s\n", r.Target, run.Receive, run.Mechanism, run.Why)
	for _, i := range run.Interfaces {
		if len(i.NAPIs) == 0 {
			continue
		}
		ids := make([]string, len(i.NAPIs))
		for n, instance := range i.NAPIs {
			ids[n] = fmt.Sprint(instance.ID)
		}
		terminal.Printf(&b, "  %s: NAPI %s\n", i.Name, strings.Join(ids, ", "))
	}
	for _, step := range run.Steps {
		terminal.Printf(&b, "  %s\n", step)
	}
	for _, note := range kbpNotes(run) {
		terminal.Println(&b, note)
	}
	terminal.Printf(&b, "nines kbp status shows it; nines kbp stop %s restores everything.\n", r.Name)
	_, err := io.WriteString(out, b.String())
	return err
}

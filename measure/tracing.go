package measure

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/engine/client"
	"nines.dev/nines/host"
	"nines.dev/nines/lab/receive"
	"nines.dev/nines/measure/trace"
	"nines.dev/nines/measure/traffic"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// smallHost is the number of CPUs up to which all are recorded.
const smallHost = 8

// noticesRoom is the room for announcements in an engine: many more than come between two looks of
// the recorder, except at the very beginning of a trial.
const noticesRoom = 16384

// tracer records a trial.
type tracer struct {
	recorder *trace.Recorder
	bench    *bench
	run      run
	// polling are the recorder's threads that receive in place of softirqs.
	polling []result.TracedThread
	// guests follow the packets in virtual machines.
	guests []*guestTracer
	// spaces are the network namespaces of nodes in which packets are followed; nil: none are.
	spaces map[uint32]string
	// since is what the threads of these nodes had done when the recording began.
	since threadsAt

	mu         sync.Mutex // engines report their start on their own goroutines, and guests too
	notes      []string
	guestNotes []string
}

// begin starts recording.
func (t *tracer) begin(ctx context.Context) error {
	b, r := t.bench, t.run
	setup := r.spec.Tracing
	if setup == nil {
		setup = &spec.Tracing{Packets: trace.DefaultPackets, Ordinary: trace.DefaultPackets}
	}
	cpus, senders := tracedCPUs(r.plan, b.online)
	stages := b.stages(r, setup)
	t.followGuests(ctx, stages)
	var err error
	if t.recorder, err = trace.Start(trace.Config{
		CPUs: cpus, Senders: senders, BufferBytes: int64(setup.Buffer),
		Slowest: min(setup.Packets, r.stream.Outliers), Ordinary: setup.Ordinary,
		Stages: stages, CollectOn: collectorCPUs(r.plan, b.online),
	}); err != nil {
		t.unfollowGuests()
		return err
	}
	t.addForwarders()
	t.addPrograms()
	t.addPollers()
	t.followPrograms(stages)
	b.generator.Trace(&traffic.Tracing{Ordinary: setup.Ordinary, Notices: noticesRoom, Started: t.started})
	return nil
}

// stages says how to follow packets through the kernel; nil: not at all.
func (b *bench) stages(r run, setup *spec.Tracing) *trace.Stages {
	if setup.Stages != nil && !*setup.Stages {
		return nil
	}
	s := &trace.Stages{
		UDPPort: r.plan.Traffic.To.UDPPort, IP: r.stream.IP, Every: trace.EveryAt(r.stream.PacketsPerSecond()), Nodes: make(map[uint32]string),
	}
	for _, node := range r.plan.Nodes {
		if pid := b.lab.PID(node.Name); pid > 0 {
			s.Nodes[trace.NetNamespace(pid)] = node.Name
		}
	}
	if pid := b.lab.FabricPID(); pid > 0 {
		s.Nodes[trace.NetNamespace(pid)] = "fabric"
	}
	return s
}

// tracedCPUs returns the CPUs to record, and those of which only the sent interrupts are recorded:
// on a large host, events far from the packets' path tell nothing, and cost time.
func tracedCPUs(p *plan.Plan, online []int) (cpus, senders []int) {
	if len(online) <= smallHost || p.Traffic.FromCPU < 0 {
		return online, nil
	}
	way := pathCPUs(p)
	for _, cpu := range online {
		if slices.Contains(way, cpu) {
			cpus = append(cpus, cpu)
		} else {
			senders = append(senders, cpu)
		}
	}
	return cpus, senders
}

// pathCPUs are the CPUs that handle packets: those of the nodes and of the programs in between.
func pathCPUs(p *plan.Plan) []int {
	cpus := []int{p.Traffic.FromCPU, p.Traffic.ToCPU}
	for _, node := range p.Nodes {
		cpus = append(cpus, node.CPUs...)
		if node.Receive != nil {
			cpus = append(cpus, node.Receive.CPUs...)
		}
	}
	for _, link := range p.Links {
		if link.Switch != nil {
			cpus = append(cpus, link.Switch.CPUs...)
		}
	}
	return cpus
}

// collectorCPUs are those that handle no packets; nil if all do.
func collectorCPUs(p *plan.Plan, online []int) []int {
	way := pathCPUs(p)
	return slices.DeleteFunc(slices.Clone(online), func(cpu int) bool { return slices.Contains(way, cpu) })
}

// started follows an engine of the stream, whose measuring thread is about to begin.
func (t *tracer) started(pid int, s client.Started) {
	if machines := virtualMachines(t.run.plan); slices.Contains(machines, t.run.plan.Traffic.From.Node) {
		return // both ends are in it, or neither
	}
	thread, err := trace.FindThread(pid, s.TID, "nines-measure")
	if err != nil {
		t.note("the engine is not traced: %v", err)
		return
	}
	stream := t.run.plan.Traffic
	sends := pid == t.bench.generator.Processes()[0]
	spins := t.run.stream.Wait == spec.WaitSpin
	if sends {
		t.recorder.AddThreads(traced(thread, result.RoleSender, stream.From.Node, spins))
	}
	if s.Notices == nil {
		return // it only sends
	}
	t.recorder.AddThreads(traced(thread, result.RoleReceiver, stream.To.Node, spins))
	if err := t.recorder.Follow(trace.Notices{PID: thread.PID, Address: s.Notices.Address}); err != nil {
		t.note("slow packets are not announced: %v", err)
	}
}

func traced(t trace.Thread, role, node string, spins bool) result.TracedThread {
	return result.TracedThread{Role: role, Node: node, Name: t.Name, PID: t.PID, TID: t.TID, CPU: t.CPU, Spins: spins}
}

func (t *tracer) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// addForwarders adds the threads of the engines between the ends.
func (t *tracer) addForwarders() {
	for _, name := range virtualMachines(t.run.plan) {
		t.note("%s", unseen(t.run.plan, name))
	}
	err := t.bench.eachForwarder(t.run.plan, func(node plan.Node, engine *client.Client) error {
		if node.Guest() {
			return nil
		}
		stats, err := engine.Stats()
		if err != nil {
			return err
		}
		thread, err := trace.FindThread(t.bench.lab.PID(node.Name), stats.TID, "nines-serve")
		if err != nil {
			return err
		}
		one := traced(thread, result.RoleForwarder, node.Name, node.App.Wait == spec.WaitSpin)
		t.recorder.AddThreads(one)
		return nil
	})
	if err != nil {
		t.note("a forwarder's thread is not known to the recorder: %v", err)
	}
}

// unseen says what is unknown about packets because a node is a virtual machine.
func unseen(p *plan.Plan, machine string) string {
	if machine == p.Traffic.From.Node {
		return machine + ", which sends and receives, is a virtual machine: its slow packets are not announced to this host, so none can be explained"
	}
	return machine + " is a virtual machine: what kept a packet within it is not recorded from here, and stays unexplained"
}

// virtualMachines are the names of the nodes with their own kernel.
func virtualMachines(p *plan.Plan) []string {
	var names []string
	for _, node := range p.Nodes {
		if node.Guest() {
			names = append(names, node.Name)
		}
	}
	return names
}

// addPrograms adds the pinned threads of the programs between links' ends.
func (t *tracer) addPrograms() {
	list, err := t.bench.lab.Programs()
	if err != nil {
		t.note("the threads of links' programs are not known to the recorder: %v", err)
	}
	for _, program := range list {
		for _, thread := range trace.Threads(program.PID) {
			if thread.CPU < 0 {
				continue // it manages those that poll
			}
			t.recorder.AddThreads(result.TracedThread{
				Role: result.RoleProgram, Link: program.Link, Name: thread.Name, PID: thread.PID, TID: thread.TID, CPU: thread.CPU, Spins: true,
			})
		}
	}
}

// addPollers adds the threads that receive in place of softirqs, unless known already. A poller's
// watchdog replaces a stopped thread by a new one, so call this before and after a trial. Threads
// that came and went in between stay unknown.
func (t *tracer) addPollers() {
	states, err := receive.States(t.bench.lab.Lab)
	if err != nil {
		t.note("the threads that receive are not known to the recorder: %v", err)
	}
	further := pollers(states, t.polling, trace.ThreadOf)
	t.polling = append(t.polling, further...)
	t.recorder.AddThreads(further...)
}

// pollers returns the threads that receive packets for interfaces, except known ones. Threads that
// only keep CPUs awake delay nothing and handle no packets. A sleeping thread counts: an adaptive
// one may sleep, and the kernel's do. One that has ended replaced a known one, or has seen nothing
// of the trial.
func pollers(states []receive.State, known []result.TracedThread, threadOf func(tid int) (trace.Thread, bool)) []result.TracedThread {
	var list []result.TracedThread
	for _, s := range states {
		if s.RX == spec.ReceiveAwake || s.Guest { // this kernel has no threads of a guest's
			continue
		}
		for _, receives := range s.Threads {
			if slices.ContainsFunc(slices.Concat(known, list), func(t result.TracedThread) bool { return t.TID == receives.TID }) {
				continue // it may poll several interfaces
			}
			if thread, alive := threadOf(receives.TID); alive {
				list = append(list, traced(thread, result.RolePoller, s.Node, false))
				continue
			}
			earlier := slices.IndexFunc(known, func(t result.TracedThread) bool {
				return t.Node == s.Node && slices.Equal(receives.CPUs, []int{t.CPU})
			})
			if earlier >= 0 {
				ended := known[earlier]
				ended.TID = receives.TID
				list = append(list, ended)
			}
		}
	}
	return list
}

// end ends the recording and adds it to the observation.
func (t *tracer) end(_ context.Context, o *observation) error {
	t.bench.generator.Trace(nil)
	t.addPollers()
	guests := t.unfollowGuests()
	recording, err := t.recorder.Stop()
	if err != nil {
		return err
	}
	for _, g := range guests {
		recording.Trace.Stages = append(recording.Trace.Stages, g.Stages...)
	}
	recording.Trace.GuestNotes = t.guestNotes
	recording.Trace.Threads = append(recording.Trace.Threads, t.services(recording)...)
	recording.Trace.Bystanders = bystanders(recording.Events, recording.Trace.Threads)
	o.recording = &recording
	o.traceNotes = append(t.notes, recording.Notes...)
	return nil
}

func (t *tracer) abandon(ctx context.Context) error { return t.end(ctx, &observation{}) }

// keepTrace adds what was recorded, and why packets were late, to a trial.
func keepTrace(rec *result.Record, o observation) {
	if o.recording == nil {
		return
	}
	trace := o.recording.Trace
	rec.Details.Trace = &trace
	rec.Details.Notes = append(rec.Details.Notes, o.traceNotes...)
	rec.Events = o.recording.Events
	rec.Ordinary = outliers(o.outcome.Rx.Ordinary, o.fromCPU)
	slices.SortFunc(rec.Ordinary, func(a, b result.Outlier) int { return int(a.IntendedNs - b.IntendedNs) })
	causes := attribution.Attribute(attribution.Input{
		Slow: rec.Outliers, Ordinary: rec.Ordinary, Events: rec.Events, Details: rec.Details,
	})
	attribution.Annotate(rec.Outliers, causes)
	rec.Causes = &causes
}

// checkTracing is the error if the host cannot record a trial, but the experiment asks for it.
func (e *Experiment) checkTracing() error {
	if !slices.ContainsFunc(e.runs, func(r run) bool { return r.spec.Trace }) {
		return nil
	}
	return trace.Check()
}

// onlineCPUs are those of the host.
func onlineCPUs(inv *host.Inventory) []int {
	var list []int
	for _, cpu := range inv.CPUs {
		if cpu.Online {
			list = append(list, cpu.ID)
		}
	}
	return list
}

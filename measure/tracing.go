package measure

import (
	"fmt"
	"slices"
	"sync"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/engine/client"
	"nines.dev/nines/host"
	"nines.dev/nines/lab"
	"nines.dev/nines/measure/trace"
	"nines.dev/nines/measure/traffic"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// smallHost is up to how many CPUs all of them are recorded.
const smallHost = 8

// noticesRoom is for how many announcements there is room in an engine: many more than
// come between two looks of the recorder, but at a trial's very beginning.
const noticesRoom = 16384

// tracer records a trial.
type tracer struct {
	recorder *trace.Recorder
	bench    *bench
	run      run
	// polling are those of the recorder's threads that receive in place of softirqs.
	polling []result.TracedThread

	mu    sync.Mutex // engines tell of their start on goroutines of their own
	notes []string
}

// startTrace begins to record, where the run asks for it; else the tracer is nil.
func (b *bench) startTrace(r run) (*tracer, error) {
	if !r.spec.Trace {
		return nil, nil
	}
	setup := r.spec.Tracing
	if setup == nil {
		setup = &spec.Tracing{Packets: trace.DefaultPackets, Ordinary: trace.DefaultPackets}
	}
	cpus, senders := tracedCPUs(r.plan, b.online)
	recorder, err := trace.Start(trace.Config{
		CPUs: cpus, Senders: senders, BufferBytes: int64(setup.Buffer),
		Slowest: min(setup.Packets, r.stream.Outliers), Ordinary: setup.Ordinary,
		Stages: b.stages(r, setup), CollectOn: collectorCPUs(r.plan, b.online),
	})
	if err != nil {
		return nil, err
	}
	t := &tracer{recorder: recorder, bench: b, run: r}
	t.addForwarders()
	t.addPrograms()
	t.addPollers()
	b.generator.Trace(&traffic.Tracing{Ordinary: setup.Ordinary, Notices: noticesRoom, Started: t.started})
	return t, nil
}

// stages says how packets are followed through the kernel; nil: they are not.
func (b *bench) stages(r run, setup *spec.Tracing) *trace.Stages {
	if setup.Stages != nil && !*setup.Stages {
		return nil
	}
	s := &trace.Stages{
		UDPPort: r.plan.Traffic.To.UDPPort, Every: trace.EveryAt(r.stream.PacketsPerSecond()), Nodes: make(map[uint32]string),
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

// tracedCPUs are those whose events are recorded, and those of which only the interrupts
// are that they send: on a large host what happens far from the packets' way tells
// nothing, and costs.
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

// pathCPUs are the CPUs that handle packets: those of the nodes and of what is between.
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

// collectorCPUs are those that handle no packets; nil where all do.
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

// addForwarders names the threads of the engines between the ends.
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

// unseen says what is not known of packets because a node is a virtual machine.
func unseen(p *plan.Plan, machine string) string {
	if machine == p.Traffic.From.Node {
		return machine + ", which sends and receives, is a virtual machine: its slow packets are not announced to this host, and none is explained"
	}
	return machine + " is a virtual machine: what kept a packet within it is not recorded from here, and stays unexplained"
}

// virtualMachines are the names of the nodes whose kernel is not this one.
func virtualMachines(p *plan.Plan) []string {
	var names []string
	for _, node := range p.Nodes {
		if node.Guest() {
			names = append(names, node.Name)
		}
	}
	return names
}

// addPrograms names the threads of the programs between links' ends that have a CPU.
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

// addPollers names the threads that receive in place of softirqs, as far as they are not
// known yet. One that the watchdog of its poller stops comes back as another thread: so it
// is called before a trial and after it. What came and went in between stays unknown.
func (t *tracer) addPollers() {
	states, err := t.bench.lab.Received()
	if err != nil {
		t.note("the threads that receive are not known to the recorder: %v", err)
	}
	further := pollers(states, t.polling, trace.ThreadOf)
	t.polling = append(t.polling, further...)
	t.recorder.AddThreads(further...)
}

// pollers are the threads that receive packets for interfaces, but those known already.
// Those that only keep CPUs awake are in nobody's way, and handle none. That one sleeps is
// not held against it: an adaptive one may, and those of the kernel do. One that has ended
// came in the place of one that is known, or has seen nothing of the trial.
func pollers(states []lab.ReceiveState, known []result.TracedThread, threadOf func(tid int) (trace.Thread, bool)) []result.TracedThread {
	var list []result.TracedThread
	for _, s := range states {
		if s.RX == spec.ReceiveAwake {
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

// stop ends the recording; what there is of it goes into the observation. It is to be
// called however the trial went.
func (t *tracer) stop(o *observation) error {
	if t == nil {
		return nil
	}
	t.bench.generator.Trace(nil)
	t.addPollers()
	recording, err := t.recorder.Stop()
	if err != nil {
		return err
	}
	o.recording = &recording
	o.traceNotes = append(t.notes, recording.Notes...)
	return nil
}

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

// checkTracing is the error of a host that cannot record a trial, where one is to be.
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

package plan

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// Receive is what the receive modes of a node's interfaces need; a node that uses only interrupts
// has none.
type Receive struct {
	// Mechanism polls the interfaces with rx busy_poll; with auto, it is chosen by what the kernel
	// has when the lab comes up. It is empty where no interface is polled.
	Mechanism spec.PollMechanism `json:"mechanism,omitempty"`
	// CPUs are for the polling threads and the threads of threaded interfaces; CPUsExclusive is
	// true if nothing else has them, and false if they are the node's.
	CPUs          []int `json:"cpus,omitempty"`
	CPUsExclusive bool  `json:"cpus_exclusive,omitempty"`
	// Polling is the policy of threads that poll all the time; Threaded that of threaded
	// interfaces, nil for the kernel's default.
	Polling  *spec.Scheduling `json:"polling,omitempty"`
	Threaded *spec.Scheduling `json:"threaded,omitempty"`
	// Adaptive threads sleep when no packets come, up to Longest.
	Adaptive bool          `json:"adaptive,omitempty"`
	Longest  spec.Duration `json:"longest,omitempty"`
	// AwakeCPUs are kept from going idle.
	AwakeCPUs []int `json:"awake_cpus,omitempty"`
}

// defaultLongest is the documented default of polling.longest.
const defaultLongest = spec.Duration(50e3)

// findReceiveModes determines each interface's receive mode, and which polling threads have their own CPUs:
// those demand CPUs like a node.
func (w *work) findReceiveModes() error {
	for _, n := range w.nodes {
		polls := false
		for _, e := range n.endpoints {
			e.rx = w.exp.ReceiveOf(e.link.spec, n.name, e.name)
			if e.rx == spec.ReceiveInterrupt {
				continue
			}
			if !e.kernel() || !n.guest() && e.function.Driver != "" {
				kernel := choose(n.guest(), "its guest's", "this host's")
				return at(&Conflict{n.title(), fmt.Sprintf("rx: %s at %s, whose packets %s kernel does not receive", e.rx, e, kernel), "remove rx there"}, n.steps())
			}
			polls = polls || e.rx.Polls()
		}
		p := n.spec.Polling
		switch {
		case p == nil:
		case !polls:
			w.note("%s has polling set up, and no interface with rx: busy_poll or threaded, so it has no effect.", n.title())
		case p.OwnCPUs() > 0:
			n.pollers = &node{name: "the poller of " + n.name, pollsFor: n, engineCPU: -1, why: []string{},
				spec: &spec.Node{CPUs: p.CPUs, CPUList: p.CPUList}}
		}
	}
	return nil
}

// received lists the node's interfaces with one of the given receive modes.
func (n *node) received(ways ...spec.Receive) []string {
	var list []string
	for _, e := range n.endpoints {
		if slices.Contains(ways, e.rx) {
			list = append(list, e.name)
		}
	}
	return list
}

// receive decides which CPUs and policy the threads of rx get, and notes what a reader should know.
func (w *work) receive() error {
	for _, n := range w.nodes {
		if len(n.received(spec.ReceiveAwake, spec.ReceiveThreaded, spec.ReceiveBusyPoll, spec.ReceiveSuspend)) == 0 {
			continue
		}
		n.receive = &Receive{}
		if awake := n.received(spec.ReceiveAwake); len(awake) > 0 {
			w.keepAwake(n)
		}
		if len(n.received(spec.ReceiveThreaded, spec.ReceiveBusyPoll)) > 0 {
			if err := w.placePolling(n); err != nil {
				return at(err, n.steps("polling"))
			}
		}
		if list := n.received(spec.ReceiveSuspend); len(list) > 0 {
			w.suspends(n, list)
		}
	}
	return nil
}

// keepAwake keeps the CPUs of a node's application from going idle: only its engine's CPU where it
// has an engine, as each CPU costs power.
func (w *work) keepAwake(n *node) {
	cpus := n.cpus
	if n.demand.engine && n.engineCPU >= 0 {
		cpus = []int{n.engineCPU}
	}
	n.receive.AwakeCPUs = cpus
	n.because("rx: awake keeps %s from going idle, so that waiting threads wake at once; %s never %s power while the lab is up",
		cpuText(cpus), choose(len(cpus) == 1, "it", "they"), choose(len(cpus) == 1, "saves", "save"))
	if n.demand.spin {
		w.note("%s: its engine never sleeps, so rx: awake changes nothing there.", n.title())
	}
}

// placePolling decides where an interface's threads run. Without their own CPUs they share the
// node's, but its engine's only where there is no other.
func (w *work) placePolling(n *node) error {
	r, p := n.receive, n.spec.Polling
	if p == nil {
		p = &spec.Polling{}
	}
	busy, threaded := n.received(spec.ReceiveBusyPoll), n.received(spec.ReceiveThreaded)
	r.CPUs = n.cpus
	if others := slices.DeleteFunc(slices.Clone(n.cpus), func(id int) bool { return id == n.engineCPU }); len(others) > 0 {
		r.CPUs = others
	}
	if n.pollers != nil {
		r.CPUs, r.CPUsExclusive = n.pollers.cpus, n.pollers.exclusive
		for _, why := range n.pollers.why {
			n.because("its polling threads: %s", why)
		}
	}
	if s := p.Scheduling; s != nil && s.Policy.RealTime() && s.Priority == highestPriority {
		return at(&Conflict{n.title(), fmt.Sprintf("its polling threads have priority %d, so nothing could stop them", highestPriority),
			fmt.Sprintf("give them %d or less", highestPriority-1)}, n.steps("polling", "scheduling", "priority"))
	}
	where := choose(r.CPUsExclusive, "of their own", "shared with everything else in the node")
	r.Threaded = p.Scheduling
	if len(threaded) > 0 {
		n.because("%s: received by kernel threads of its own on %s, %s", strings.Join(threaded, ", "), cpuText(r.CPUs), where)
	}
	if len(busy) == 0 {
		w.noteThreaded(n)
		return nil
	}
	r.Mechanism = p.Mechanism
	defaultTo(&r.Mechanism, spec.PollAuto)
	r.Polling = p.Scheduling
	if r.Polling == nil {
		r.Polling = &spec.Scheduling{Policy: spec.SchedulingIdle}
		if r.CPUsExclusive {
			r.Polling = &spec.Scheduling{Policy: spec.SchedulingOther}
		}
	}
	if r.Adaptive = p.Adaptive; r.Adaptive {
		r.Longest = p.Longest
		if r.Longest == 0 {
			r.Longest = defaultLongest
		}
	}
	n.because("%s: polled all the time on %s, %s, by threads scheduled as %s", strings.Join(busy, ", "), cpuText(r.CPUs), where, r.Polling)
	if r.Adaptive {
		n.because("polling is adaptive: its threads sleep when no packets come, which may add %v to the first after a pause", r.Longest)
	}
	return w.judgePolling(n, busy)
}

// remedyOwnCPUs is the remedy that gives a node's polling threads their own CPU.
const remedyOwnCPUs = "--set nodes.%s.polling.cpus=1 gives them one of their own"

// noteThreaded notes how kernel threads with a real-time policy affect other threads, and how the
// kernel limits them. They are no pollers, as they sleep when no packets come.
func (w *work) noteThreaded(n *node) {
	r := n.receive
	if r.Threaded == nil || !r.Threaded.Policy.RealTime() {
		return
	}
	if !r.CPUsExclusive {
		w.note("%s is received as %s on %s, where the node itself runs, so nothing else runs there while packets come; "+remedyOwnCPUs+".",
			n.title(), r.Threaded, cpuText(r.CPUs), n.name)
	}
	w.noteStop(n.title()+": a kernel thread that packets keep busy receives", r.CPUs[0], r.Threaded)
}

// judgePolling refuses pollers that leave no CPU time to others, and notes the effects of too few
// CPUs.
func (w *work) judgePolling(n *node, busy []string) error {
	r := n.receive
	realTime := r.Polling.Policy.RealTime()
	switch {
	case !r.CPUsExclusive && realTime:
		return &Impossible{fmt.Sprintf("%s is polled as %s on %s, where the node itself runs", n.title(), r.Polling, cpuText(r.CPUs)),
			"nothing else would run there", fmt.Sprintf(remedyOwnCPUs, n.name) + " on a host with more CPUs; or remove polling.scheduling"}
	case realTime:
		w.noteStop(n.pollers.title()+" polls", r.CPUs[0], r.Polling)
	case r.CPUsExclusive:
	case n.demand.spin && slices.Contains(r.CPUs, n.engineCPU) && len(r.CPUs) == 1:
		return &Impossible{fmt.Sprintf("%s is polled on %s, where its engine never sleeps", n.title(), cpuText(r.CPUs)),
			fmt.Sprintf("its pollers would get next to nothing of it as %s", r.Polling),
			fmt.Sprintf(remedyOwnCPUs, n.name) + " on a host with more CPUs; or let the engine sleep (wait: block)"}
	default:
		w.note("%s: its pollers share %s with the node, so they poll only while it is idle, and delay what wakes there; "+remedyOwnCPUs+".",
			n.title(), cpuText(r.CPUs), n.name)
	}
	if len(busy) > len(r.CPUs) {
		w.note("%s: %s polled on %s, so their threads take turns.", n.title(), terminal.Count(len(busy), "interface")+" are", cpuText(r.CPUs))
	}
	if own := numaOf(w.inv, n.cpus); n.exclusive && r.CPUsExclusive {
		if theirs := numaOf(w.inv, r.CPUs); !slices.Equal(own, theirs) && len(own) > 0 && len(theirs) > 0 {
			w.note("%s runs on NUMA %s and is polled on %s: each packet crosses over.", n.title(), numaText(own), numaText(theirs))
		}
	}
	return nil
}

// suspends notes that interrupts are suspended only for an application that polls by epoll.
func (w *work) suspends(n *node, list []string) {
	n.because("%s: its interrupts stay off while an application polls by epoll, and are enabled again when it sleeps", strings.Join(list, ", "))
	if n.demand.engine && w.wait(n) != spec.WaitBusyPoll {
		w.note("%s: rx: suspend is for applications that poll by epoll, and its engine waits by %s: with wait: busy_poll it does.", n.title(), w.wait(n))
	}
}

// keepPollersQuiet isolates the CPUs of polling threads. Some of these are kernel threads, which
// are in no cpuset of a node, so affinity keeps them there, like the programs of links.
func (w *work) keepPollersQuiet(degree spec.Isolation) {
	for _, n := range w.nodes {
		p := n.pollers
		if p == nil || !p.exclusive {
			continue
		}
		off := ""
		if degree == spec.IsolationIsolated {
			w.quiet = append(w.quiet, p.cpus...)
			off = "; interrupts and kernel threads keep off it"
		}
		p.because("they are kept on %s by affinity only, without a partition%s", cpuText(p.cpus), off)
	}
	slices.Sort(w.quiet)
}

// ReceivedBy lists a node's interfaces with one receive mode.
func (n Node) ReceivedBy(way spec.Receive) []string {
	var list []string
	for _, i := range n.Interfaces {
		if i.RX == way {
			list = append(list, i.Name)
		}
	}
	return list
}

// ReceiveOrder is the order in which a node's receive modes are set up.
var ReceiveOrder = []spec.Receive{spec.ReceiveThreaded, spec.ReceiveBusyPoll, spec.ReceiveSuspend, spec.ReceiveAwake}

package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/lab/receive"
	"nines.dev/nines/measure/trace"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

func (o *outside) addCPUs() {
	cpus, spinning, kernel := pathCPUs(o.run.plan), o.run.spinningCPUs(), softirqThreads()
	slices.Sort(cpus)
	for _, cpu := range slices.Compact(cpus) {
		if cpu < 0 {
			continue
		}
		if tid := kernel[cpu]; tid > 0 {
			o.thread(result.Witness{Thread: fmt.Sprintf("ksoftirqd/%d", cpu), CPU: cpu}, tid, false)
		}
		w := result.Witness{Thread: fmt.Sprintf("CPU %d", cpu), CPU: cpu, By: result.BySoftirq}
		if o.run.sleeps() {
			o.of[w.Thread] = w
			o.missed(w.Thread, o.watch.CPU(w.Thread, cpu))
		}
		if o.bench.inventory.Virtualisation.Hypervisor == "" || slices.Contains(spinning, cpu) {
			continue
		}
		w = result.Witness{Thread: fmt.Sprintf("CPU %d timer", cpu), CPU: cpu, By: result.ByTimer}
		o.of[w.Thread] = w
		o.missed(w.Thread, o.watch.Ticks(w.Thread, cpu))
	}
}

// softirqThreads are the threads that handle softirqs that the kernel puts off, by CPU.
func softirqThreads() map[int]int {
	list := map[int]int{}
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return list
	}
	for _, name := range names {
		var cpu int
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		if n, err := fmt.Sscanf(string(text), "ksoftirqd/%d", &cpu); n != 1 || err != nil {
			continue
		}
		if tid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			list[cpu] = tid
		}
	}
	return list
}

// sleeps is true where a thread on the packets' way sleeps, or is not of nines.
func (r run) sleeps() bool {
	if r.stream.Wait != spec.WaitSpin {
		return true
	}
	return slices.ContainsFunc(r.plan.Nodes, func(node plan.Node) bool {
		return node.App != nil && (!node.App.Handling().HasEngine() || node.App.Wait != spec.WaitSpin)
	})
}

// spinningCPUs are those on which a thread of an engine never sleeps, which notices a hypervisor's pauses by itself.
func (r run) spinningCPUs() []int {
	var cpus []int
	if r.stream.Wait == spec.WaitSpin {
		cpus = append(cpus, r.plan.Traffic.FromCPU, r.plan.Traffic.ToCPU)
	}
	for _, node := range r.plan.Nodes {
		if node.App.Handling().HasEngine() && node.App.Wait == spec.WaitSpin && !node.Apart() {
			cpus = append(cpus, node.App.CPU)
		}
	}
	for _, link := range r.plan.Links {
		if link.HasEngine() && link.Switch != nil {
			cpus = append(cpus, link.Switch.CPUs...)
		}
	}
	return cpus
}

// started adds the measuring thread of an end when it is about to begin: one that spins tells of itself.
func (o *outside) started(pid int, s client.Started) {
	if o.watch == nil {
		return
	}
	found, err := trace.FindThread(pid, s.TID, "nines-measure")
	t := o.run.plan.Traffic
	w := result.Witness{Thread: "loop", Node: t.From.Node, CPU: t.FromCPU}
	if processes := o.bench.generator.Processes(); len(processes) > 1 {
		w.Thread = "generate"
		if pid != processes[0] {
			w = result.Witness{Thread: "sink", Node: t.To.Node, CPU: t.ToCPU}
		}
	}
	switch {
	case err != nil:
		o.missed(w.Thread, err)
	case o.run.stream.Wait == spec.WaitSpin:
		o.missed(w.Thread, o.watch.Known(found.TID))
	default:
		o.thread(w, found.TID, false)
	}
}

// addForwarders adds the threads of engines that forward: those that spin tell of themselves.
func (o *outside) addForwarders() {
	err := o.bench.eachForwarder(o.run.plan, func(node plan.Node, engine *client.Client) error {
		if node.Apart() {
			return nil
		}
		stats, err := engine.Stats()
		if err != nil {
			return err
		}
		found, err := trace.FindThread(o.bench.lab.PID(node.Name), stats.TID, "nines-serve")
		switch {
		case err != nil:
			return err
		case node.App.Wait == spec.WaitSpin:
			return o.watch.Known(found.TID)
		}
		o.thread(result.Witness{Thread: "forward " + node.Name, Node: node.Name, CPU: stats.CPU}, found.TID, false)
		return nil
	})
	o.missed("forwarders", err)
}

// addNodes adds all programs of nodes that handle packets without an engine of nines that tells of itself, and all threads
// of virtual machines.
func (o *outside) addNodes() {
	for _, node := range o.run.plan.Nodes {
		if node.App == nil || node.App.Handling().HasEngine() && !node.Guest() || node.Remote() {
			continue
		}
		w := result.Witness{Thread: "programs of " + node.Name, Node: node.Name, CPU: -1}
		for _, pid := range processesOf(o.bench.lab.PID(node.Name)) {
			for _, t := range trace.Threads(pid) {
				o.thread(w, t.TID, true)
			}
		}
	}
}

// processesOf are a node's first process, what descends from it, and what has entered its PID namespace.
func processesOf(first int) []int {
	if first <= 0 {
		return nil
	}
	list := trace.Descendants("/", first)
	namespace := pidNamespace(first)
	if namespace == "" || namespace == pidNamespace(os.Getpid()) {
		return list
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return list
	}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pidNamespace(pid) == namespace && !slices.Contains(list, pid) {
			list = append(list, pid)
		}
	}
	return list
}

// pidNamespace names a process's; empty if it has ended.
func pidNamespace(pid int) string {
	name, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "ns/pid"))
	if err != nil {
		return ""
	}
	return name
}

// addPrograms adds the threads of links' programs: those of nines' switches tell of themselves.
func (o *outside) addPrograms() {
	list, err := o.bench.lab.Programs()
	o.missed("the programs of links", err)
	for _, program := range list {
		planned := slices.IndexFunc(o.run.plan.Links, func(l plan.Link) bool { return l.Name == program.Link })
		if planned < 0 || o.run.plan.Links[planned].Switch == nil {
			continue
		}
		threads, engine := trace.Threads(program.PID), o.run.plan.Links[planned].HasEngine()
		if !engine { // the others manage those that poll
			threads = slices.DeleteFunc(threads, func(t trace.Thread) bool { return t.CPU < 0 })
		}
		name := "program of " + program.Link
		if len(threads) == 0 {
			o.unseen = append(o.unseen, name+": none of its threads has a CPU of its own")
		}
		for _, t := range threads {
			if engine {
				o.missed(name, o.watch.Known(t.TID))
				continue
			}
			o.thread(result.Witness{Thread: name, CPU: -1}, t.TID, false)
		}
	}
}

// addPollers adds the threads that receive in place of softirqs.
func (o *outside) addPollers() {
	states, err := receive.States(o.bench.lab.Lab)
	o.missed("threads that receive in place of softirqs", err)
	for _, t := range pollers(states, nil, trace.ThreadOf) {
		o.thread(result.Witness{Thread: "receive " + t.Node, Node: t.Node, CPU: t.CPU}, t.TID, false)
	}
}

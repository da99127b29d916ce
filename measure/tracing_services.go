package measure

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"

	"nines.dev/nines/measure/trace"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// followPrograms has the recorder note when packets wake the programs in the nodes between the ends. Those of the host's own
// network are too many, and not the experiment's.
func (t *tracer) followPrograms(stages *trace.Stages) {
	if stages == nil {
		return
	}
	t.spaces = stages.Nodes
	nodes := maps.Clone(stages.Nodes)
	delete(nodes, trace.NetNamespace(os.Getpid()))
	programs := trace.ThreadsIn(nodes)
	t.since = threadsNow(programs)
	for _, node := range t.run.plan.Nodes {
		if onPath(t.run.plan, node.Name) && !t.recorder.Readers(programs[node.Name]) {
			t.note("%s has more threads than can be followed: of some, the stages do not show when packets wake them", node.Name)
			return
		}
	}
}

// services are the threads of the user's programs that carry the packets, as the recording shows: those that sent some, and
// those of the same processes that packets woke. A control plane beside a kernel that forwards does neither.
func (t *tracer) services(recording trace.Recording) []result.TracedThread {
	carriers := slices.DeleteFunc(trace.Carriers(recording.Events), func(c trace.Carrier) bool {
		return slices.ContainsFunc(recording.Trace.Threads, func(known result.TracedThread) bool { return known.TID == c.TID })
	})
	list := carrying(carriers, t.programThread)
	var programs map[string][]trace.Thread
	var pollers map[int]bool
	for _, node := range t.run.plan.Nodes {
		if len(node.Services) == 0 || node.Apart() || !onPath(t.run.plan, node.Name) || carriesPackets(list, node.Name) || sees(recording, node.Name, trace.Leaves) {
			continue
		}
		if t.spaces == nil {
			t.note("tracing.stages is false: which threads of the programs in %s carry the packets is not known, nor what keeps them from it", node.Name)
			continue
		}
		if programs == nil {
			programs = trace.ThreadsIn(t.spaces)
			pollers = threadsNow(programs).polled(t.since)
			for _, known := range recording.Trace.Threads {
				delete(pollers, known.TID)
			}
		}
		list = append(list, t.guessed(node, carriers, programs[node.Name], pollers, recording)...)
	}
	return list
}

// guessed are the threads of a node's programs that are taken for those that carry the packets, where none was seen to leave
// the node: a program may encapsulate packets, and then they wake it; or they bypass the kernel's queues on their way out, and
// then it may poll for them. What comes in below the kernel's stack, by a device that the kernel has, may be forwarded there,
// by an XDP program.
func (t *tracer) guessed(node plan.Node, carriers []trace.Carrier, programs []trace.Thread, pollers map[int]bool, recording trace.Recording) []result.TracedThread {
	found, why := woken(carriers, node.Name, programs), "which packets wake"
	if enters := func(string) bool { return true }; len(found) == 0 && (sees(recording, node.Name, enters) || bypasses(t.run.plan, node.Name)) {
		found, why = polling(carriers, node.Name, programs, pollers, recordedNs(recording.Trace.Stretches)), "which never sleeps"
	}
	const unseen = "no packet was seen to leave %s as it came (a program may encapsulate them, or they leave below the kernel's queues): "
	if len(found) == 0 {
		t.note(unseen+"what keeps its programs from them is not known", node.Name)
	}
	for _, one := range found {
		t.note(unseen+"the thread %s (%d) there, %s, is taken for one that carries them", node.Name, one.Name, one.TID, why)
	}
	return found
}

// bypasses reports whether the kernel has none of a node's interfaces.
func bypasses(p *plan.Plan, node string) bool {
	return !slices.ContainsFunc(p.Links, func(l plan.Link) bool {
		return !l.Management && l.Kind.Descriptor().End != spec.EndNone && slices.ContainsFunc(l.Endpoints, func(e plan.Endpoint) bool { return e.Node == node })
	})
}

// onPath reports whether a node lies between the ends of the stream that is followed: in a duet, that of side a.
func onPath(p *plan.Plan, node string) bool {
	return node != p.Traffic.From.Node && node != p.Traffic.To.Node &&
		slices.ContainsFunc(p.Traffic.Path, func(at string) bool { return strings.HasPrefix(at, node+":") })
}

func carriesPackets(list []result.TracedThread, node string) bool {
	return slices.ContainsFunc(list, func(t result.TracedThread) bool { return t.Node == node })
}

// programThread is a thread of a program in a node; false if it has ended, or belongs to another program: where switches of
// threads are missing, the events name the wrong one.
func (t *tracer) programThread(c trace.Carrier) (trace.Thread, bool) {
	thread, alive := trace.ThreadOf(c.TID)
	return thread, alive && !thread.OfKernel() && t.spaces[trace.NetNamespace(thread.PID)] == c.Node
}

// carrying are the threads of the processes that sent packets, as far as they carry them.
func carrying(carriers []trace.Carrier, threadOf func(trace.Carrier) (trace.Thread, bool)) []result.TracedThread {
	threads, nodes := map[int]trace.Thread{}, map[int]string{} // by TID, and by PID
	for _, c := range carriers {
		if !c.Sends && !c.Woken {
			continue
		}
		if thread, known := threadOf(c); known {
			threads[c.TID] = thread
			if c.Sends {
				nodes[thread.PID] = cmp.Or(nodes[thread.PID], c.Node)
			}
		}
	}
	var list []result.TracedThread
	for _, c := range carriers {
		thread, known := threads[c.TID]
		if node := nodes[thread.PID]; known && node != "" {
			list = append(list, traced(thread, result.RoleService, node, !c.Sleeps))
		}
	}
	return list
}

// sees reports whether the kernel's stages show packets at a node's devices, at stages of a kind.
func sees(recording trace.Recording, node string, at func(stage string) bool) bool {
	return slices.ContainsFunc(recording.Trace.Stages, func(s result.StageDelay) bool {
		return strings.HasPrefix(s.Device, node+":") && at(s.To)
	})
}

// woken are the threads of a node's programs that packets woke.
func woken(carriers []trace.Carrier, node string, programs []trace.Thread) []result.TracedThread {
	var list []result.TracedThread
	for _, c := range carriers {
		if at := indexOf(programs, c.TID); at >= 0 && c.Woken {
			list = append(list, traced(programs[at], result.RoleService, node, !c.Sleeps))
		}
	}
	return list
}

func indexOf(threads []trace.Thread, tid int) int {
	return slices.IndexFunc(threads, func(t trace.Thread) bool { return t.TID == tid })
}

// polling are the threads of a node's programs that never slept, and ran for at least a tenth of the time, as others may
// share their CPU: by the recorded switches of threads, or, as there is none where one has its CPU to itself, by what the
// kernel counts for it.
func polling(carriers []trace.Carrier, node string, programs []trace.Thread, pollers map[int]bool, recordedNs int64) []result.TracedThread {
	var list []result.TracedThread
	for _, thread := range programs {
		seen := slices.ContainsFunc(carriers, func(c trace.Carrier) bool {
			return c.TID == thread.TID && !c.Sleeps && recordedNs > 0 && 10*c.RanNs >= recordedNs
		})
		if seen || pollers[thread.TID] {
			list = append(list, traced(thread, result.RoleService, node, true))
		}
	}
	return list
}

func recordedNs(stretches [][2]int64) (ns int64) {
	for _, s := range stretches {
		ns += s[1] - s[0]
	}
	return ns
}

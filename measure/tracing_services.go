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
)

// followPrograms has the recorder note when packets wake the programs in the nodes. Those of the host's own network are
// too many, and not the experiment's.
func (t *tracer) followPrograms(stages *trace.Stages) {
	if stages == nil {
		return
	}
	t.spaces = stages.Nodes
	nodes := maps.Clone(stages.Nodes)
	delete(nodes, trace.NetNamespace(os.Getpid()))
	for _, threads := range trace.ThreadsIn(nodes) {
		t.recorder.Readers(threads)
	}
}

// services are the threads of the user's programs that carry the packets, as the recording shows: those that sent some, and
// those of the same processes that packets woke. A control plane beside a kernel that forwards does neither. Where packets
// bypass the kernel it shows none: there, a thread that never sleeps is one that polls for them.
func (t *tracer) services(recording trace.Recording) []result.TracedThread {
	carriers := slices.DeleteFunc(trace.Carriers(recording.Events), func(c trace.Carrier) bool {
		return slices.ContainsFunc(recording.Trace.Threads, func(known result.TracedThread) bool { return known.TID == c.TID })
	})
	list := carrying(carriers, t.programThread)
	var programs map[string][]trace.Thread
	for _, node := range t.run.plan.Nodes {
		if len(node.Services) == 0 || node.Apart() || !onPath(t.run.plan, node.Name) || carriesPackets(list, node.Name) || leaves(recording, node.Name) {
			continue
		}
		if t.spaces == nil {
			t.note("tracing.stages is false: which threads of the programs in %s carry the packets is not known, nor what keeps them from it", node.Name)
			continue
		}
		if programs == nil {
			programs = trace.ThreadsIn(t.spaces)
		}
		polling := polling(carriers, node.Name, programs[node.Name], recordedNs(recording.Trace.Stretches))
		if list = append(list, polling...); len(polling) == 0 {
			t.note("the kernel shows no packet leave %s, and none of its programs polls all the time: what keeps them from the packets is not known", node.Name)
		}
		for _, one := range polling {
			t.note("the kernel shows no packet leave %s: the thread %s (%d) there, which never sleeps, is taken for one that carries them", node.Name, one.Name, one.TID)
		}
	}
	return list
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

// leaves reports whether the kernel's stages show packets leave a node.
func leaves(recording trace.Recording, node string) bool {
	return slices.ContainsFunc(recording.Trace.Stages, func(s result.StageDelay) bool {
		return strings.HasPrefix(s.Device, node+":") && trace.Leaves(s.To)
	})
}

// polling are the threads of a node's programs that never slept, and ran for at least a tenth of the recorded time: others
// may share their CPU.
func polling(carriers []trace.Carrier, node string, programs []trace.Thread, recordedNs int64) []result.TracedThread {
	var list []result.TracedThread
	for _, c := range carriers {
		at := slices.IndexFunc(programs, func(t trace.Thread) bool { return t.TID == c.TID })
		if at >= 0 && !c.Sleeps && recordedNs > 0 && 10*c.RanNs >= recordedNs {
			list = append(list, traced(programs[at], result.RoleService, node, true))
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

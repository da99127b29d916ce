package measure

import (
	"context"
	"slices"
	"time"

	"nines.dev/nines/lab"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/receive"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// pollSample is how long polls are counted before a trial, if nothing else counts them.
const pollSample = 50 * time.Millisecond

// reception is one reading of how a lab's interfaces receive, with its time.
type reception struct {
	at     time.Time
	states []receive.State
	// rates are polls per second by thread, from a sample; nil if none was taken.
	rates map[int]float64
}

// receptionProbe counts what receives at the interfaces of a lab.
type receptionProbe struct {
	lab    *lab.Lab
	before reception
}

// begin counts polls for a moment first. If they cannot be counted, which takes BTF, the result lacks them.
func (p *receptionProbe) begin(ctx context.Context) error {
	rates, err := receive.PollRates(ctx, p.lab.Lab, pollSample)
	if err != nil { // may be a Ctrl-C, which the trial itself handles
		rates = nil
	}
	p.before, err = readReception(p.lab)
	p.before.rates = rates
	return err
}

func (p *receptionProbe) end(_ context.Context, o *observation) error {
	after, err := readReception(p.lab)
	if err == nil {
		o.receive = after.since(p.before)
	}
	return err
}

func readReception(l *lab.Lab) (reception, error) {
	states, err := receive.States(l.Lab)
	return reception{at: time.Now(), states: states}, err
}

// since returns what the receiving threads have done between an earlier reading and this one.
func (now reception) since(before reception) []result.Receive {
	// By place and not by id: a poller's watchdog stops a thread and starts another.
	type key struct {
		node, iface string
		place       int
	}
	then := map[key]receive.Thread{}
	for _, s := range before.states {
		for i, t := range s.Threads {
			then[key{s.Node, s.Interface, i}] = t
		}
	}
	span := now.at.Sub(before.at)
	var list []result.Receive
	for _, s := range now.states {
		r := result.Receive{
			Node: s.Node, Interface: s.Interface, RX: string(s.RX), Mechanism: s.Mechanism, Why: s.Why,
			Problem: s.Problem, Settings: s.Settings, Notes: s.Notes,
		}
		for _, id := range s.NAPIs {
			r.NAPIs = append(r.NAPIs, int(id))
		}
		for i, t := range s.Threads {
			earlier := then[key{s.Node, s.Interface, i}]
			thread := threadSince(earlier, t, span)
			// The sample belongs to the thread at that time. A rate of 0 means that it had not
			// polled or was being replaced, and tells nothing.
			if rate, counted := before.rates[earlier.TID]; counted && r.RX == string(spec.ReceiveBusyPoll) && thread.PollsPerSecond == nil {
				thread.PollsPerSecond = &rate
			}
			r.Threads = append(r.Threads, thread)
		}
		list = append(list, r)
	}
	return list
}

func threadSince(before, now receive.Thread, span time.Duration) result.ReceiveThread {
	t := result.ReceiveThread{
		Name: now.Name, TID: now.TID, CPUs: now.CPUs, Scheduling: now.Scheduling,
		Polls: grown(before.Polls, now.Polls), Packets: grown(before.Packets, now.Packets),
		WaitedNs: int64(now.Waited - before.Waited), SleptNs: int64(now.Slept - before.Slept),
		BackOffs: now.BackOffs - before.BackOffs,
	}
	if span > 0 {
		t.CPUUse = max(0, min(1, float64(now.Ran-before.Ran)/float64(span)))
		if t.Polls != nil {
			rate := float64(*t.Polls) / span.Seconds()
			t.PollsPerSecond = &rate
		}
	}
	return t
}

// grown is how much a counter has grown; nil if nothing counts.
func grown(before, now *uint64) *uint64 {
	if now == nil {
		return nil
	}
	grown := *now
	if before != nil {
		grown -= min(*before, *now)
	}
	return &grown
}

// unreceived lists the interfaces that did not receive as the experiment asks, except those that
// the lab's faults already report.
func unreceived(list []result.Receive, faults []check.Fault) []string {
	var reasons []string
	for _, r := range list {
		name := r.Node + ":" + r.Interface
		said := slices.ContainsFunc(faults, func(fault check.Fault) bool { return fault.Of == name })
		if r.Problem != "" && !said {
			reasons = append(reasons, name+" was not received by rx: "+r.RX+": "+r.Problem)
		}
	}
	return reasons
}

// minPolling is the least share of its CPU that a busy-polling thread must have had for its trial
// to count as polling.
const minPolling = 0.05

// starved names the threads that should have polled all the time but hardly could.
func starved(list []result.Receive) []result.ReceiveThread {
	var threads []result.ReceiveThread
	for _, r := range list {
		for _, t := range r.Threads {
			if r.RX == string(spec.ReceiveBusyPoll) && t.CPUUse < minPolling && t.SleptNs == 0 {
				threads = append(threads, t)
			}
		}
	}
	return threads
}

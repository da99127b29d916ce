package busypoll

import (
	"context"
	"fmt"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
)

// behindEpoll is the policy of the kernel's threads that receive while the epoll poller
// does not: above all ordinary ones, and above a real-time poller, on whose CPU they run.
// Once such a thread is woken it owns the NAPI instance, and nothing else can poll it until
// the thread gets the CPU. A poller of the highest priority is refused earlier.
func behindEpoll(poller *spec.Scheduling) *spec.Scheduling {
	behind := &spec.Scheduling{Policy: spec.SchedulingFIFO, Priority: 1}
	if poller != nil && poller.Policy.RealTime() {
		behind.Priority = poller.Priority + 1
	}
	return behind
}

// pollByEpoll starts a poller that polls by epoll, on threaded devices: while it is not on
// its CPU their kernel threads receive, not softirqs. epoll polls the instance by which one
// of its sockets last received. So the poller sends itself a packet from the other end of
// the veth, which a network card does not have here.
func (s Site) pollByEpoll(ctx context.Context, r Request, run *Running, devices []device) error {
	for _, d := range devices {
		if d.peer == nil {
			return &exit.MissingError{
				Capability: "busy polling", Reason: "epoll polls only veth: the poller needs a first packet from the other end, and the other end of interface " + d.name + " is not on this host",
				Remedy: "use a kernel with a better mechanism (Linux 6.13, or the module of nines kbp module), or rx: threaded or awake",
			}
		}
	}
	behind := r
	behind.Scheduling = behindEpoll(r.Scheduling)
	if err := s.makeThreads(behind, run, devices); err != nil {
		return err
	}
	argv := s.pollArguments(r, run, spec.PollEpoll)
	instances := 0 // instances go to the CPUs in turn, as in nines-poller
	for _, i := range run.Interfaces {
		for _, instance := range i.NAPIs {
			if instance.PID > 0 && instances < mostGuarded {
				argv = append(argv, "--thread", fmt.Sprintf("%d@%d", instance.PID, r.CPUs[instances%len(r.CPUs)]))
			}
			instances++
		}
	}
	for _, d := range devices {
		argv = append(argv, "--feed", d.peer.ns.Path()+":"+d.peer.name)
	}
	named, err := s.nameDevices(devices)
	if err != nil {
		return err
	}
	argv = append(argv, named...)
	run.Poller, err = s.startPoller(ctx, run, argv)
	return err
}

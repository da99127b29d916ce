package explain

import (
	"fmt"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/result"
)

// throttling is the pitfall of a real-time policy; docs/measuring.md explains it in full.
const throttling = " A real-time thread that never sleeps may lose 50 ms of each second to the kernel's reserve for ordinary threads (kernel.sched_rt_runtime_us, fair_server): `nines tune apply --profile realtime` ends that."

// highestPriority is the highest of FIFO and RR threads (sched(7)).
const highestPriority = 99

// priorityAdvice is what helps against a real-time thread that had the CPU: a higher priority, if
// there is one.
func priorityAdvice(c result.Cause) Advice {
	priority, known := attribution.RealTimePriority(c)
	var do, own string
	switch {
	case known && priority < highestPriority:
		above := priority + 1
		do = fmt.Sprintf(" If the CPU must be shared, `scheduling: {policy: fifo, priority: %d}` of the node precedes this thread.%s", above, throttling)
		own = fmt.Sprintf(" If the CPU must be shared, `chrt -f -p %d PID` for your program's threads precedes this one.%s", above, throttling)
	case known:
		do = fmt.Sprintf(" No priority is above this thread's %d: if the CPU must be shared, lower it (`chrt -f -p PRIORITY TID`), and give the node a `scheduling` above that.%s", priority, throttling)
		own = fmt.Sprintf(" No priority is above this thread's %d: if the CPU must be shared, lower it (`chrt -f -p PRIORITY TID`) below that of your program's.%s", priority, throttling)
	default:
		do = " A deadline thread precedes any priority: if the CPU must be shared, give it another policy (`chrt -f -p PRIORITY TID`), and the node a `scheduling` above that." + throttling
		own = " A deadline thread precedes any priority: if the CPU must be shared, give it another policy (`chrt -f -p PRIORITY TID`), below your program's." + throttling
	}
	return Advice{Do: apart + do, Own: ownApart + own, Findings: []string{"not-isolated", "shared-cpus", "rt-throttling"}}
}

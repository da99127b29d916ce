package explain

import (
	"fmt"
	"strings"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// Fill fills in the sentences and remedies of a trial's causes.
func Fill(causes *result.Causes, details result.Details) {
	slowest := attribution.Slowest(causes.Packets, causes.Slowest)
	for i := range causes.Ranking {
		ranked := &causes.Ranking[i]
		ranked.Sentence = sentence(*ranked, causes.Slowest, causes.Ordinary, details)
		if ranked.Cause.Kind == attribution.Unexplained {
			ranked.Sentence += beside(slowest)
		}
		if i == 0 {
			ranked.Sentence += short(causes.Ranking)
		}
		ranked.Remedy = adviceFor(ranked.Cause).words(ranked.Cause, alone(details.Trace))
	}
}

// sentence says how many packets a cause accounts for, what it is, and how certain that is: "13 of
// the 20 slowest: TIMER softirqs on CPU 1, the forwarder dut's; 1.2 ms of them in all; 8 times as
// likely as around ordinary packets".
func sentence(r result.RankedCause, of, ordinary int, details result.Details) string {
	text := fmt.Sprintf("%d of the %d slowest: ", r.Packets, of)
	if r.Packets == 0 {
		text = fmt.Sprintf("part of %d of the %d slowest: ", r.Present, of)
	}
	text += What(r.Cause) + bystander(details.Trace, r.Cause)
	if r.Cause.CPU >= 0 {
		text += fmt.Sprintf(" on CPU %d", r.Cause.CPU)
		if whose := whose(details.Trace, r.Cause.CPU); whose != "" {
			text += ", " + whose
		}
	}
	text += "; " + terminal.Duration(r.TotalNs) + " in all"
	switch {
	case r.Cause.Kind == attribution.Unexplained:
		text += "; " + witness(details)
	case r.Lift == nil && ordinary == 0: // nothing to compare with
	case r.Lift == nil:
		text += "; around no ordinary packet"
	case *r.Lift < 1.5:
		text += "; about as much of it is around ordinary packets"
	default:
		text += fmt.Sprintf("; %s times as likely as around ordinary packets", terminal.Digits(*r.Lift, 3))
	}
	return text
}

// beside names the interrupts in most of the packets with mostly unexplained time: a storm of short
// ones takes more time than is recorded.
func beside(packets []result.PacketCauses) string {
	count, of := make(map[result.Cause]int), 0
	for _, p := range packets {
		totals := attribution.Totals(p)
		if !p.Recorded || len(totals) == 0 || totals[0].Cause.Kind != attribution.Unexplained {
			continue
		}
		of++
		for _, share := range totals[1:] {
			if attribution.IsInterrupt(share.Cause.Kind) {
				count[share.Cause]++
			}
		}
	}
	var most result.Cause
	for c, n := range count {
		if n > count[most] || n == count[most] && attribution.Brief(c) < attribution.Brief(most) {
			most = c
		}
	}
	if of == 0 || count[most]*2 < of {
		return ""
	}
	return fmt.Sprintf("; %d of these %d packets have %s on CPU %d as well, and more of it may come than is recorded", count[most], of, What(most), most.CPU)
}

// witness says what else is known about time without recorded events.
func witness(details result.Details) string {
	if details.StealNs > 0 {
		return "the hypervisor ran something else on the measuring CPUs for " + terminal.Duration(details.StealNs) + " of the trial (steal time)"
	}
	// As far as is known, the thread had its CPU: its own work is not recorded either.
	return "no steal time was counted: what is left is a hypervisor that does not report it, the firmware, the hardware, and the thread's own work"
}

// whose says what a CPU does in the trial.
func whose(trace *result.Trace, cpu int) string {
	if trace == nil {
		return ""
	}
	var roles []string
	for _, t := range trace.Threads {
		if t.CPU != cpu {
			continue
		}
		role := "the " + t.Role + "'s"
		switch {
		case t.Role == result.RoleService:
			role = fmt.Sprintf("that of `%s` in %s", t.Name, t.Node)
		case t.Role != result.RoleSender && t.Role != result.RoleReceiver && t.Node != "":
			role = "the " + t.Role + " " + t.Node + "'s"
		case t.Role == result.RoleProgram && t.Link != "":
			role = "that of the program of " + t.Link
		}
		if len(roles) < 2 && !strings.Contains(strings.Join(roles, " "), role) {
			roles = append(roles, role)
		}
	}
	return strings.Join(roles, " and ")
}

// forWhom says for whose packets a softirq ran, if that is known.
func forWhom(source string) string {
	if source == "" {
		return ""
	}
	return "for " + source
}

// What describes a cause without its CPU: "TIMER softirqs".
func What(c result.Cause) string {
	by := func(text, who string) string {
		if who == "" {
			return text
		}
		return text + " " + who
	}
	switch c.Kind {
	case attribution.Priority:
		return fmt.Sprintf("the thread `%s` of a higher priority (%s) ran", c.Name, c.Source)
	case attribution.Hog:
		return fmt.Sprintf("the thread `%s` ran in its place", c.Name)
	case attribution.KernelThread:
		return fmt.Sprintf("the kernel's thread `%s` ran", c.Name)
	case attribution.Workqueue:
		if c.Name == "" {
			return fmt.Sprintf("work of `%s`", c.Source)
		}
		return by(fmt.Sprintf("the work item `%s`", c.Name), backquoted("of", c.Source))
	case attribution.Softirq:
		return by(c.Name+" softirqs", forWhom(c.Source))
	case attribution.Interrupt:
		return fmt.Sprintf("interrupts of `%s`", c.Name)
	case attribution.IPI:
		return by(calls(c.Name), backquoted("from", c.Source))
	case attribution.TLBShootdown:
		return by("TLB shootdowns", backquoted("by", c.Source))
	case attribution.Tick:
		return "the scheduler's tick"
	case attribution.Timer:
		return fmt.Sprintf("timers that call `%s`", c.Name)
	case attribution.IdleExit:
		return "idle exit"
	case attribution.Scheduler:
		return "waiting for a CPU that an unknown thread had,"
	case attribution.Throttled:
		return "not run on an idle CPU, because of a quota or the real-time limit,"
	case attribution.Stopped:
		return fmt.Sprintf("`%s` was stopped by a signal", c.Name)
	case attribution.Blocked:
		if c.Name == "D" {
			return "the thread waited in the kernel, for memory or a disk,"
		}
		return "the thread slept, although it never waits for packets,"
	case attribution.RingFull:
		if c.Name != "" {
			return fmt.Sprintf("the queue of `%s` was full, and the packets waited in it,", c.Name)
		}
		return "a queue was full, and the packets waited in it,"
	case attribution.Queue:
		return "a queue of packets before them"
	case attribution.Forwarder:
		if c.Source != "" {
			return fmt.Sprintf("`%s` in `%s` was busy with other packets", c.Source, c.Name)
		}
		return fmt.Sprintf("the forwarder `%s` was busy with other packets", c.Name)
	case attribution.Impaired:
		return fmt.Sprintf("the link `%s`, which is deliberately impaired (%s), delayed the packets", c.Name, c.Source)
	case attribution.Unexplained:
		return "nothing was recorded for it"
	}
	return attribution.Brief(c)
}

// calls describes interrupts that CPUs send to each other.
func calls(name string) string {
	switch name {
	case "reschedule":
		return "requests to reschedule"
	case "call_function":
		return "calls to several CPUs"
	case "call_function_single":
		return "calls of another CPU"
	}
	return fmt.Sprintf("interrupts `%s` of another CPU", name)
}

func backquoted(before, name string) string {
	if name == "" {
		return ""
	}
	return before + " `" + name + "`"
}

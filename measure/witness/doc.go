// Package witness lists when the host kept threads and CPUs from running: those that cannot tell it themselves, because
// they sleep, or are not nines' own.
//
//	sched_switch, sched_waking     a thread could run, or was stopped, until it ran again
//	softirq_raise, softirq_entry   with Options.Softirqs: a softirq that sends or receives packets was raised, until it began
//	a perf event's timer           a CPU's timer was due, until it rang
//
// The programs (bpf/) attach to tracepoints by BTF. Their list has a fixed size, and their memory is taken before they
// start; what finds no room is counted. They need CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN. When the process ends in any
// way, the kernel detaches them.
//
// A wake-up on a CPU that was idle, the begin of a softirq and a timer take a while on a quiet host as well: these are listed
// from 8 times the mean of a witness's first 200 on, all else from 1 µs on. Threads on the packets' way that
// share a CPU wait for one another on a quiet host as well: only a wait with another thread in it is listed.
package witness

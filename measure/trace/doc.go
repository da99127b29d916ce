// Package trace records what the kernel does on the CPUs of a measurement, and keeps what happened
// around the slowest packets and around some picked at random.
//
//	programs (bpf/, on each CPU)      collector (a thread of nines)         who measures
//	an event: 32 bytes into the       reads announcements ◂──────────────── an engine's ring
//	CPU's ring, which overwrites      copies from the rings what is around    (docs/reference/engine-protocol.md),
//	what is oldest                    each packet that is among the slowest   or Keep
//	                                  so far; drops those that are not
//
// So memory is limited however long a trial lasts, and apart from the events themselves only the
// collector's rare look costs anything. Times are CLOCK_MONOTONIC, which bpf_ktime_get_ns and the
// engines share.
//
// The programs attach to tracepoints by BTF: no kprobes, no perf events, no setrlimit (Linux 5.11
// and later count BPF memory in control groups). They need CAP_BPF and CAP_PERFMON, or
// CAP_SYS_ADMIN. When the process ends in any way, the kernel detaches them.
package trace

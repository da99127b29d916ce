// Package tasks records the CPUs that the threads of a host may use, takes some CPUs from
// them, and restores each thread's own mask, whatever the kernel made of it in between.
//
// The account is a file, written before anything is changed. Threads are identified by ID
// and start time, so that a reused ID is left alone. Threads that ended are skipped;
// threads that started meanwhile get their parent's mask. A thread whose mask others have
// changed since is left alone.
//
// The account is needed even if only control groups are changed: up to Linux 6.1 a task's
// own mask is lost when the CPUs of its cpuset change or it moves to another cpuset
// (update_tasks_cpumask and cpuset_attach in kernel/cgroup/cpuset.c). Since 6.2 the kernel
// remembers the mask that a user requested (8f9ea86fdf99, "sched: Always preserve the user
// requested cpumask").
//
// Needs root, and the host's PID namespace.
package tasks

// Package tasks keeps an account of the CPUs that the threads of a host may use, takes
// some CPUs from them, and gives them back: each its own mask, whatever the kernel made
// of it in between.
//
// The account is a file, written before anything is changed. Threads are told by their id
// and start time, so that a recycled id is left alone; those that ended are passed over;
// those that were born meanwhile get what their parent has. A thread whose mask somebody
// else has changed since is left alone, too.
//
// Why an account is needed even where only control groups are changed: up to Linux 6.1 a
// task's own mask is lost when the CPUs of its cpuset change or it moves to another
// (update_tasks_cpumask and cpuset_attach in kernel/cgroup/cpuset.c). Since 6.2 the kernel
// remembers what a user asked for (8f9ea86fdf99, "sched: Always preserve the user
// requested cpumask").
//
// Needs root, and the host's own pid namespace.
package tasks

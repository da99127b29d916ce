// Package isolate keeps a lab's nodes on their own CPUs, memory and devices, and other work off
// their CPUs.
//
// Confine puts a node into control groups (cpuset, memory, hugetlb, devices) of cgroup v1, v2, or
// whichever of the two has the controller on a hybrid host; LXC makes the groups of its containers
// itself, with the same limits. A lab's groups are <mount>/<prefix>/<node's host name>; each is
// journalled before it is made.
//
// Where the plan isolates CPUs, Prepare takes them from everything else on the host before the
// nodes start, and Settle and Steer do the rest when nodes and links exist. A reading order:
// partition.go, then partition_v2.go or partition_v1.go, settings.go, queues.go, and package tasks
// for the affinity of threads. State says what was in force, and docs/isolation.md what each part
// does and costs.
//
// Apart does the part of it that is not a lab's: it keeps other work off CPUs that programs have which nines did
// not start, such as the pods of a Kubernetes node.
//
// Needs root.
package isolate

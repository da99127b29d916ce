// Package isolate keeps a lab's nodes to what is theirs, and all else off it.
//
// Confine puts a node into control groups (cpuset, memory, hugetlb, devices) of version 1,
// version 2, or whichever of the two has the controller on a hybrid host; LXC makes the
// groups of its containers itself, from the same limits. A lab's groups are
// <mount>/<prefix>/<node's host name>; each is journalled before it is made.
//
// Where the plan isolates CPUs, Prepare takes them from everything else on the host before
// the nodes start, and Settle and Steer do the rest when nodes and links are there. A
// reading order: partition.go, then partition_v2.go or partition_v1.go, settings.go,
// queues.go, and package tasks for the masks of threads. State is what was in force, and
// docs/isolation.md what each part does and costs.
//
// Needs root.
package isolate

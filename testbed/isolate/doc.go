// Package isolate confines netns nodes to their CPUs and memory with control
// groups: cpuset and memory, of version 1, version 2, or whichever of the two has
// the controller on a hybrid host. LXC makes the groups of its containers itself,
// from the same plan.
//
// A lab's groups are <mount>/<prefix>/<node's host name>; each directory is
// journalled before it is made. Needs root.
package isolate

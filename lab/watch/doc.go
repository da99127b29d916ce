// Package watch is the watcher of a lab: it checks the health of the nodes that have a health check, and starts
// nodes again by their restart policies (package health decides). It is a process of its own, which the lab's
// journal has, or runs in the process that measures the lab. What it has found is in a file of the lab.
package watch

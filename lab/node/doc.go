// Package node starts the machines of a lab, one file a runtime, and runs commands
// in them.
//
// Whatever the runtime, a running node is its pid 1: the process that holds the
// node's namespaces. Nothing else of a node stays on the host, so ending that
// process ends the node. Every step is journalled before it is made. Needs root.
package node

// Package node starts the nodes of a lab and runs commands in them, by runtimes (Runtime). Each
// runtime has a file, or several that begin with its name.
//
// With every runtime, a running node is its first process: the one that holds the node's
// namespaces. Nothing else of a node stays on the host, so ending that process ends the node. Every
// step is journalled before it is made. Needs root.
package node

// Package traffic drives the engines that send and receive in one trial.
//
// A Generator holds the engine processes of one stream: one for a loop, two for a generator and its
// sink. One goroutine uses it; cancelling the context of Run ends the trial early and still returns
// what was measured. Starting an engine in a node needs the privileges to enter the node (root).
package traffic

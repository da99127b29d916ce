// Package traffic drives the engines that send and receive in one trial.
//
// A Generator holds the engine processes of one stream: one for a loop, two for
// a generator and its sink. It is used by one goroutine; cancelling the context
// of Run ends the trial early and still returns what was measured. Starting an
// engine in a node needs the privileges that entering the node needs (root).
package traffic

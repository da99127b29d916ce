// Package receive sets up the receive modes of nodes' interfaces (threads that receive in place of softirqs, CPUs
// that are kept awake), and says what receives there now. Package busypoll has the mechanisms.
package receive

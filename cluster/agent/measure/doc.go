// Package measure measures a node for the agent: the latency of each tier that the node offers, within the
// node, in trials of some seconds. A trial is an experiment that the program nines runs. So the figures are
// those that a user would measure by hand, with the same verdicts, and a crash is undone in the same way.
//
// Deciding what to measure when, and combining trials into figures, is pure. Only Runner touches the node.
package measure

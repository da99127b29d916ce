// Package measure runs trials on a lab and judges them.
//
// Experiment is the entry point: it builds the lab for each run of the sweep, measures the
// generator alone before and after, runs the trials in the method's order, and stores each when it
// ends. A pure function judges each trial by the disturbances that the engines and the kernel saw
// (judge.go). Building labs needs root.
package measure

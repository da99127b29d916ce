// Package measure runs trials on a lab and judges them.
//
// Experiment is the way through: it builds the lab that each run of the sweep
// needs, measures the generator alone before and after, runs the trials in the
// order that the method says, and hands each to the result's store as it ends.
// What a trial is worth (judge.go) is decided by a pure function over what the
// engines and the kernel saw of disturbances. Building labs needs root.
package measure

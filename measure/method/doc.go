// Package method holds the ways of asking a network a question: which trials to
// run, in which order, and what they say together. Each method is pure over a
// function that runs one trial, so it is tested against a simulated network.
package method

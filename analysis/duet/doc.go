// Package duet decides which of two variants of a network is faster, by how much, while packets alternate between them.
//
// Neighbouring packets of the two sides meet the same host, so that its noise cancels, which trials one after another
// never reach (duet benchmarking: Bulej, Horký, Tůma and others 2020, "Duet benchmarking: improving measurement accuracy
// in the cloud"). A Trial takes the packets of both sides as they were due. A look at it gives differences and ratios of
// percentiles with intervals from a bootstrap over blocks of time, and decisions whose error is bounded over all looks.
// docs/statistics.md has the method, its assumptions and how often it is wrong.
//
// Pure: no clock, no file, and the same packets give the same answers.
package duet

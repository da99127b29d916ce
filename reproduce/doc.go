// Package reproduce has the claims of papers on the latency and throughput of container networks, and judges whether they
// hold on this host. A folder is a paper: paper.yaml says which, and each other file in it is a claim, with the experiment
// that tests it and the expectations that decide it. docs/reproduce.md describes both.
//
// The package reads files, judges results that others have measured, and writes tables and pages; it measures nothing.
package reproduce

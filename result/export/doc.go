// Package export converts a result folder for other tools: a table with one row per trial (CSV,
// Parquet), an HdrHistogram log, one JSON document, and the latency strings of FD.io CSIT.
//
// It reads from the folder and writes to an io.Writer, and holds the larger files of only one trial
// at a time. It needs no privileges.
package export

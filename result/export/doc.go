// Package export turns a result folder into the forms that other tools read: a table
// with one row a trial (CSV, Parquet), an HdrHistogram log, one JSON document, and the
// latency strings of FD.io CSIT.
//
// Everything is read from the folder and written to an io.Writer; a trial's larger
// files are held one trial at a time. No privileges are needed.
package export

// Package analyze evaluates pairs of packet captures: one taken before a device or network under
// test (PRE), one behind it (POST). A key finds the same packet in both; its latency is the
// difference of the two times.
//
// The path of a pair, one file per step:
//
//  1. frame.go, tunnel.go, content.go, key.go  what identifies a packet, for any link type
//  2. hash.go           keys to 96 bits that never collide (with the reason)
//  3. side.go           one capture in memory: a time and an entry for each packet,
//     the entries in partitions by their key
//  4. match.go          partition by partition: which packet of PRE arrived when
//     twoway.go, split.go  traffic in both directions, each matched on its own
//     foreign.go, segment.go, outside.go  what is in one capture only, but not lost
//  5. evaluate.go       histogram, percentiles, worst packets, rates, gaps
//  6. published.go      the files of the published evaluation, byte for byte
//  7. record.go         the same as a trial of a result folder
//
// Memory is 26 bytes for each packet of either capture plus 8 for each of PRE, outside Go's heap
// (column.go) and released as soon as it is not needed. Nothing is corrected silently: clocks that
// differ are reported, and shifted only on request.
package analyze

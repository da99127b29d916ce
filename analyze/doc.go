// Package analyze evaluates pairs of packet captures: one taken before a device or
// network under test (PRE), one behind it (POST). A packet of both is found by a key;
// its latency is the difference of the two times.
//
// The way of a pair, each a file here:
//
//  1. frame.go, key.go  what identifies a packet, whatever it was captured on
//  2. hash.go           keys to 96 bits, so that two never meet (the reason is there)
//  3. side.go           one capture in memory: a time and an entry for each packet,
//     the entries in partitions by their key
//  4. match.go          partition by partition: which packet of PRE arrived when
//  5. evaluate.go       histogram, percentiles, worst packets, rates, gaps
//  6. published.go      the files of the published evaluation, byte for byte
//  7. record.go         the same as a trial of a result folder
//
// Memory is 24 bytes for each packet of either capture and 8 for each of PRE, outside
// Go's heap (column.go) and given back as soon as it is done with. Nothing is corrected
// silently: clocks that are apart are reported, and moved only on request.
package analyze

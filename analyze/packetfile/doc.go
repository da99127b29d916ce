// Package packetfile reads files of captured packets, of any tool that writes pcap,
// pcapng or MoonSniff's .mscap, plain or compressed with gzip or zstd. What a file is
// follows from what is in it, not from its name; only .mscap, which has no mark of its
// own, is known by its name or by being asked for.
//
// It is made for captures of hundreds of millions of packets: one pass over large
// buffers, nothing allocated for a packet, and batches of packets for those who mind
// the cost of a call. Memory is bounded whatever a file claims: by the buffer, and by
// the window of the compression.
//
// A file that is damaged or cut off is read up to there, and Damage says what was lost.
// Nothing is guessed after a damage: in a pcap file any bytes can be a record's head.
//
// A Reader is for one goroutine at a time. It needs no privileges.
package packetfile

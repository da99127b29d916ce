// Package packetfile reads packet captures from any tool that writes pcap, pcapng or MoonSniff's
// .mscap, plain or compressed with gzip, zstd, lz4 or xz. It recognises a file by its content, not its name;
// only .mscap, which has no magic number, is recognised by its name or on request.
//
// It is made for captures of hundreds of millions of packets: one pass over large buffers, no
// allocation per packet, and batches for callers that mind the cost of a call. Memory is limited
// whatever a file claims: by the buffer, and by the window of the compression.
//
// A damaged or truncated file is read up to the damage, and Damage says what was lost. Nothing is
// guessed after that: in a pcap file any bytes can be a record header.
//
// A Reader is for one goroutine at a time. It needs no privileges.
package packetfile

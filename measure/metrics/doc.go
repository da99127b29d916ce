// Package metrics computes the standards' metrics of a stream of packets: delay
// variation (RFC 5481, RFC 3393), gaps, runs of loss, and reordering (RFC 4737).
//
// It is pure: a Stream of times goes in, figures come out. All percentiles are exact: the smallest
// value that at least p of the samples do not exceed. The work is a fixed number of passes over the
// times, for any number of packets, plus sorting the packets that arrived out of order; besides its
// input it takes 4 bytes per packet received, and 16 per reordered packet.
package metrics

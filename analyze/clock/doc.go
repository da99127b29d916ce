// Package clock estimates how the clocks of a pair's two capture points relate. It only reports:
// nothing measured is ever corrected by it.
//
// A captured latency is l = d + θ(t): the true delay d, and how far the second clock is ahead of
// the first at that time. Since packets go one way, this much of θ can be known:
//
//   - Not the offset. A clock that is ahead and a delay that all packets have look the
//     same. There is only a bound, as no packet arrives before it is sent: the second
//     clock is ahead by at most the minimum latency. Where that is negative, it is
//     certainly behind. Two-way packets, or one clock for both points, would tell.
//   - The drift, if the least delay of the network stays the same: then the lower edge
//     of the latencies over time has the slope of θ (V. Paxson, On Calibrating
//     Measurements of Packet Transit Times, SIGMETRICS 1998; S. Moon, P. Skelly,
//     D. Towsley, Estimation and Removal of Clock Skew from Network Delay Measurements,
//     INFOCOM 1999). A queue that never empties and grows evenly looks like drift, too.
//   - A wander: a lower edge that moves along no straight line, as a clock that NTP or PTP
//     steers does, or one that warms up.
//   - Steps: a lower edge that is moved from some moment on. A clock that was set looks
//     like a path that changed.
//
// The package is pure and needs no memory that grows with the number of packets.
package clock

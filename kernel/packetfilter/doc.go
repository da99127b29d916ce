// Package packetfilter has filters of packets in tcpdump's language, pcap-filter(7): compiled by
// libpcap in the program nines-filter, run by the kernel on a packet socket, or here on the packets
// of a file. To put one on a socket takes no privileges beyond those for the socket.
package packetfilter

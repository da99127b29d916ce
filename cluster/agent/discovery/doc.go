// Package discovery finds out what a node has that decides about latency, and says it in the words
// of Node Feature Discovery: cards with SR-IOV, NUMA nodes, hugepages, isolated CPUs, Open vSwitch,
// devices for DPDK, the kernel, and what nines doctor finds.
//
// Reading (Node, AskOVS, Links) needs to see the node's files and its network namespace; saying
// (Features, Labels) is pure. NFD publishes it where Node Feature Discovery is installed.
package discovery

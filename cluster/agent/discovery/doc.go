// Package discovery finds out what a node has that affects latency, and writes it as Node Feature Discovery
// expects: cards with SR-IOV, NUMA nodes, hugepages, isolated CPUs, Open vSwitch, devices for DPDK, the
// kernel, and the findings of nines doctor.
//
// Reading (Node, AskOVS, Links) needs access to the node's files and network namespace; writing (Features,
// Labels) is pure. NFD publishes the result where Node Feature Discovery is installed.
package discovery

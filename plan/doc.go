// Package plan decides which CPUs, memory, names and addresses each part of a lab gets.
//
// Make is a pure function of an experiment and a host's inventory: it reads no clock, no file and
// no random number, and goes through maps in sorted order, so the same input gives the same plan,
// byte for byte. Values that change between two readings of a host, such as free memory, have no
// influence.
//
// The order of the work: the graph of nodes and links (topology.go), the traffic's path through it
// (path.go), names (names.go), addresses (address.go), CPUs (demand.go collects the demands,
// ladder.go decides what is given up first when CPUs are few, place.go chooses where on the
// machine), memory (memory.go), and last what engines and kernels need to forward packets
// (apps.go). docs/planning.md describes the rules for users.
package plan

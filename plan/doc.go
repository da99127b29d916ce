// Package plan decides who gets which CPUs, memory, names and addresses.
//
// Make is a pure function of an experiment and a host's inventory: it reads no
// clock, no file and no random number, and goes through maps in sorted order, so
// the same input gives the same plan, byte for byte. What can change from one
// reading of a host to the next, such as free memory, decides nothing.
//
// The order of the work: the graph of nodes and links (topology.go), the traffic's
// way through it (path.go), names (names.go), addresses (address.go), CPUs
// (demand.go says who wants what, ladder.go what is given up first when CPUs are
// few, place.go where on the machine), memory (memory.go), and last what engines
// and kernels need to pass packets on (apps.go). docs/planning.md has the rules in
// the user's terms.
package plan

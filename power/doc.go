// Package power is what a management controller of a server does, for the nodes of a lab: it takes
// commands to switch them on and off, and says if they are on. The protocols in which clients ask are
// the packages ipmi and redfish; what a node is, the caller says (Machines).
//
// A client waits for milliseconds and a node may take seconds to end, so that a Controller begins an
// action, waits for it briefly, and lets it continue. Each node does one thing at a time.
//
// A client is not trusted until it has sent the password: Guard slows down those that guess it, one
// address at a time, in bounded memory.
package power

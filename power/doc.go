// Package power is what a management controller of a server does, for the nodes of a lab: it takes
// commands to switch them on and off, and says if they are on. The protocols in which clients ask are
// the packages ipmi and redfish; what a node is, the caller says (Machines).
//
// A client waits for milliseconds and a node may take seconds to end, so that a Controller begins an
// action, waits for it a little, and lets it go on. Each node does one thing at a time.
//
// Who asks is not trusted until the password is known: Guard slows down those who guess it, one
// address at a time, in bounded memory.
package power

// Package ipmi answers IPMI 2.0 over the network (RMCP+) for the nodes of a lab, a UDP port each.
//
// The protocol's messages, sessions, cryptography and commands are go-ipmi's. Its server is not used,
// for what it does with packets of strangers (v0.9.1):
//
//   - It handles each packet in a goroutine of its own, without bound, and a panic in one ends the
//     program. A RAKP message 1 with a name of 228 bytes or more is such a panic, before any password
//     (RAKPMessage1.Unpack adds to a uint8), and so is an encrypted payload whose length is no multiple
//     of 16 from someone who has the password.
//   - Who opens sessions and does not go on pushes out those who are about to.
//   - A packet that was recorded is taken again (InboundSeqValid accepts the last 16 numbers).
//   - The commands to reset the controller reset the machine, a soft shutdown is a reset, too, and an
//     administrator can add users.
//
// So a Port reads its packets one after the other, checks their form before go-ipmi sees them, and
// survives what it has overlooked.
//
// What no server can mend: IPMI sends a client a hash of the password before it knows the client
// (RAKP message 2), so who can reach the port can try passwords without asking again. The address has
// to keep strangers out, and the password has to be long.
package ipmi

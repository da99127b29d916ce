// Package agent runs commands in a guest over one stream of bytes, a port of
// virtio-serial: Serve is the guest's side, Dial and Client are the host's.
//
// Both sides send frames: a kind, the number of a command, a length and that many bytes
// (frame.go). Many commands share a stream, so each direction of each command has a
// window of its own: who does not read what a command prints holds up that command
// alone (window.go).
//
// A stream outlives its ends: the host's process may die and another one connect, with
// bytes of the first still under way. So a session begins with a hello that holds a
// random number, and the host throws away what comes before the guest repeats it. The
// guest ends the commands of the session before.
package agent

// PortPrefix begins the names of the ports of virtio-serial that agents are on; a
// number follows.
const PortPrefix = "nines.agent."

// Package guestagent runs commands in a guest over one byte stream, a virtio-serial port: Serve
// is the guest's side, Dial and Client are the host's.
//
// A session is a yamux session, in which many commands share the port: unread output of a
// command blocks only that command. A command has three streams (channels.go): requests and
// the outcome as JSON, input and output, errors.
//
// A port outlives its ends: the host's process may die and another one connect, while bytes
// of the first are still in transit. So a session starts with a hello (hello.go) that
// contains a random number, and the host discards everything before the guest repeats it.
// The guest ends the commands of the previous session.
package guestagent

// PortPrefix is the prefix of the names of the agents' virtio-serial ports; a number
// follows.
const PortPrefix = "nines.agent."

// Package agent runs commands in a guest over one stream of bytes, a port of
// virtio-serial: Serve is the guest's side, Dial and Client are the host's.
//
// A session is one of yamux, which shares the port between many commands: who does not
// read what a command prints holds up that command alone. A command has three streams
// (channels.go): its requests and its outcome as JSON, its input and output, its errors.
//
// A port outlives its ends: the host's process may die and another one connect, with bytes
// of the first still under way. So a session begins with a hello (hello.go) that holds a
// random number, and the host throws away what comes before the guest repeats it. The
// guest ends the commands of the session before.
package agent

// PortPrefix begins the names of the ports of virtio-serial that agents are on; a
// number follows.
const PortPrefix = "nines.agent."

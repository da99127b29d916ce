// Package port makes the ports that a node gives to pods, and removes them again.
//
// A node has a fixed number of ports of each tier. A port is a macvlan device on a card or on a VXLAN device, one
// end of a veth pair on a bridge, on a logical switch of OVN or in a switch of XDP programs, a vhost-user socket of
// the node's switch, or a folder for memif's sockets. A holder, which is a claim or a container, takes the port.
// Nothing else can take it until the holder gives it back.
//
//	Take      gives the port to the holder, and makes what needs no pod (a socket, with the switch's port)
//	Attach    makes a device in the pod's network namespace
//	GiveBack  undoes all of this, and the port is free
//
// Each of them can be called again: it keeps what exists and makes what is missing. A held port has a folder,
// "PARENT/PORT" in the keeper's folder, with a journal and a record of its holder. So a killed process leaves
// nothing that cannot be undone, and no port has two holders: its folder exists, or it does not. All calls for
// the ports of one parent (a card, a bridge, a switch) run one after another, in whichever process.
//
// The package needs root. It finds the network namespaces of pods by the paths that the runtime gives it.
package port

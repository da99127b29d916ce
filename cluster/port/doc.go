// Package port makes the ports that a node gives to pods, and takes them back.
//
// A port is one of a fixed number that a node has of a tier: a macvlan device on a card, an end of a
// veth pair on a bridge, on a logical switch of OVN or in a switch of XDP programs, a vhost-user socket of the node's switch, a folder
// for memif's sockets. A holder, which is a claim or a container, takes it; nobody else gets it until the
// holder has given it back.
//
//	Take    it is the holder's, and what needs no pod is made (a socket, with the switch's port)
//	Attach  a device is made in the pod's network namespace
//	GiveBack all of it is undone, and the port is free
//
// Each of them can be called again: it then finds what is there, or makes it anew. A port that is held
// has a folder, "PARENT/PORT" in the keeper's, with a journal and a record of who holds it. So nothing
// is lost by a process that is killed, and no port is given twice: the folder is there, or it is not.
// All calls for the ports of one parent (a card, a bridge, a switch) come one after another, whichever
// process they are from.
//
// It needs root, and sees the network namespaces of pods by the paths that the runtime gives.
package port

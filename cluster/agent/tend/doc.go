// Package tend gives pods what they ask of their node by annotations, beyond what Kubernetes does: CPUs
// that nothing else uses (nines.dev/isolation), and another way to receive at their ports (nines.dev/rx).
//
//	pods of the node ──┐
//	kubelet: own CPUs ─┼─▸ Decide ─▸ package isolate: one set of CPUs for all pods
//	ports: interfaces ─┘          └▸ package busypoll: a session for each pod
//
// Whoever asks for what cannot be had is told why by an event, and runs as it is. What is done is in
// journals below the state folder and nowhere else, so an agent may end at any moment: the next one finds
// what is in force, and undoes what nobody asks for any more.
//
// It needs root, the process IDs and the network namespaces of the node, and the kubelet's socket.
package tend

// Package tend gives pods what they request of their node with annotations, beyond what Kubernetes does: CPUs
// that no other program uses (nines.dev/isolation), and another receive mode of their ports (nines.dev/rx).
//
//	pods of the node ──┐
//	kubelet: own CPUs ─┼─▸ Decide ─▸ package isolate: one set of CPUs for all pods
//	ports: interfaces ─┘          └▸ package busypoll: a session for each pod
//
// If a request cannot be met, the pod gets an event with the reason, and runs without it. All changes are
// recorded in journals below the state folder and nowhere else, so an agent may end at any moment: the next one
// finds what is in force, and undoes what no pod requests any longer.
//
// It needs root, the process IDs and the network namespaces of the node, and the kubelet's socket.
package tend

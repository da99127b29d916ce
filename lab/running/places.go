package running

import (
	"errors"
	"fmt"

	"nines.dev/nines/host"
	"nines.dev/nines/lab/node"
)

// Untimed names this host and the lab's virtual machines if they run under emulation, so that their
// timings are meaningless, with the reason; empty otherwise.
func (l *Lab) Untimed() []string {
	var list []string
	if host.Translated() {
		list = append(list, "this host is a virtual machine whose instructions are translated (QEMU's TCG), so timings mean nothing")
	}
	for _, n := range l.Plan().Nodes {
		if g := node.GuestOf(n); g != nil {
			if why := g.Untimed(l.Place(""), n); why != "" {
				list = append(list, fmt.Sprintf("node %s is a virtual machine: %s", n.Name, why))
			}
		}
	}
	return list
}

// Remotes says of each node on a cluster where it runs, for the notes of a result.
func (l *Lab) Remotes() ([]string, error) {
	var list []string
	var failures []error
	for _, n := range l.Plan().Nodes {
		if !n.Remote() {
			continue
		}
		pod, err := l.Place("").Pod(n.Name)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		list = append(list, fmt.Sprintf("%s is pod %s/%s on the cluster's node %s; what a hypervisor or a quota takes from its CPUs cannot be seen from here",
			n.Name, pod.Namespace, pod.Name, pod.Host))
		for _, i := range n.Interfaces {
			if i.Device != nil || i.SocketMap {
				list = append(list, n.Name+" bypasses the kernel by what its pod claims: there is no baseline, as a pod alone has only its kernel's loopback")
				break
			}
		}
	}
	return list, errors.Join(failures...)
}

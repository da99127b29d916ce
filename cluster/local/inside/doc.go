// Package inside is what runs in a part of a local cluster: it makes of the namespaces that
// nines-init holds a machine for Kubernetes' programs, and then starts these and keeps them
// running, as systemd does elsewhere. It is told by a file what to do (Part), and tells by another
// how it goes (Status).
//
// It runs as root in the part's own mount, network, pid, uts and ipc namespaces and in its control
// groups, and changes nothing outside of them.
package inside

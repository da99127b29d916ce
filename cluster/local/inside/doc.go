// Package inside is what runs in a part of a local cluster: it makes of the namespaces that
// nines-init holds a machine for Kubernetes' programs, and then starts these and keeps them
// running, as systemd does elsewhere. One file says what it is to do (Part), and it writes its
// state to another (Status).
//
// It runs as root in the part's own mount, network, pid, uts and ipc namespaces and in its control
// groups, and changes nothing outside of them.
package inside

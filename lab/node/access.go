package node

import (
	"path/filepath"

	"nines.dev/nines/plan"
)

// The files by which people log in to a node. They are on the host in a folder for each node.
const (
	accessFolder = "ssh"
	// SSHHostKey is the node's own key, SSHAuthorizedKeys the keys of those who may log in, and
	// SSHConfig the configuration of the server that nines starts.
	SSHHostKey        = "host_key"
	SSHAuthorizedKeys = "authorized_keys"
	SSHConfig         = "sshd_config"
)

// containerAccess is the folder in a container.
const containerAccess = containerFolder + "/ssh"

// AccessFolder is the folder of the lab's keys on the host: its own, and below nodes those of each node.
func AccessFolder(stateDir string) string { return filepath.Join(stateDir, accessFolder) }

// NodeAccess is the folder of a node's keys on the host.
func NodeAccess(stateDir, nodeName string) string {
	return filepath.Join(AccessFolder(stateDir), "nodes", nodeName)
}

// AccessSeen is the folder of a node's keys as processes in the node see it.
func (p Place) AccessSeen(n plan.Node) string {
	if n.Runtime.Descriptor().OwnRoot {
		return containerAccess
	}
	return NodeAccess(p.StateDir, n.Name)
}

// rootHome is the home of a container's root.
const rootHome = "/root"

// accessBinds show a container its keys: in nines' folder for the server that nines starts, and where
// a server that the container starts itself looks for them, sshd_config(5).
func (p Place) accessBinds(n plan.Node) []bind {
	folder := NodeAccess(p.StateDir, n.Name)
	if !isDir(folder) {
		return nil
	}
	at := func(name string) string { return filepath.Join(folder, name) }
	return []bind{
		{folder, containerAccess, false, true},
		{at(SSHHostKey), "/etc/ssh/ssh_host_ed25519_key", true, true},
		{at(SSHHostKey + ".pub"), "/etc/ssh/ssh_host_ed25519_key.pub", true, true},
		{at(SSHAuthorizedKeys), filepath.Join(rootHome, ".ssh", "authorized_keys"), true, true},
	}
}

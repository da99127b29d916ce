package cni

import (
	"fmt"
	"os"
	"path/filepath"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/kernel/replace"
)

// deviceInfo is what a port is, for who reads it by Multus: in the pod's annotation of network status
// (Network Plumbing Working Group, "Device Information Specification", 1.1.0).
type deviceInfo struct {
	Type      string     `json:"type"`
	Version   string     `json:"version"`
	VhostUser *vhostUser `json:"vhost-user,omitempty"`
}

type vhostUser struct {
	// Mode is the side of the pod's end.
	Mode string `json:"mode"`
	Path string `json:"path"`
}

// writeDeviceInfo writes it where Multus has asked for it. The specification has no word for a device of
// the kernel that is not of PCI, so there is a file for sockets only.
func writeDeviceInfo(path string, held port.Held) error {
	if path == "" || !held.Port.IsSocket() {
		return nil
	}
	info := deviceInfo{
		Type: "vhost-user", Version: "1.1.0",
		VhostUser: &vhostUser{Mode: "client", Path: filepath.Join(held.Mount, port.SocketFile)},
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = replace.JSON(path, info, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write Multus' device info: %w", err)
	}
	return nil
}

func removeDeviceInfo(path string) error {
	if path == "" {
		return nil
	}
	return replace.Remove(path)
}
